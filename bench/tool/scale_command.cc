// plov-bench scale: its options, and what it does.

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "bench/page/markdown.h"
#include "bench/tool/scale_study.h"
#include "client/cli/machine.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kMemoryMin = uint64_t{128} << 20;
constexpr uint64_t kMemoryMax = uint64_t{1} << 46;
constexpr uint32_t kRoundsMax = 1000;
constexpr std::chrono::hours kDurationMax{1};

// Seven tenths: the rest is for what the estimate leaves out.
uint64_t FreeMemory() {
  const auto kib = cli::Machine().ReadField("/proc/meminfo", "MemAvailable");
  return std::max(kMemoryMin, kib.value_or(0) * 1024 / 10 * 7);
}

Outcome FillAxes(const Given& given, ScaleSettings* settings) {
  constexpr auto kAll = std::to_array<ScaleAxis>(
      {ScaleAxis::kItems, ScaleAxis::kValues, ScaleAxis::kClients, ScaleAxis::kShards});
  if (!given.Has("axis")) {
    settings->axes.assign(kAll.begin(), kAll.end());
    return {};
  }
  std::istringstream names(given.Text("axis") + ",");
  for (std::string name; std::getline(names, name, ',');) {
    const auto found = std::ranges::find(kScaleAxisNames, name);
    if (found == kScaleAxisNames.end()) {
      return given.Invalid(
          fmt::format("--axis: there is no '{}', but items, values, clients and shards", name));
    }
    settings->axes.push_back(kAll[static_cast<size_t>(found - kScaleAxisNames.begin())]);
  }
  return {};
}

std::expected<ScaleSettings, Error> SettingsOf(const Given& given) {
  ScaleSettings settings;
  settings.memory_bytes = FreeMemory();
  settings.json = given.On("json");
  settings.quick = given.On("quick");
  if (settings.quick) {
    settings.rounds = 1;
    settings.duration = std::chrono::milliseconds(30);
  }
  for (auto filled : {FillAxes(given, &settings),
                      given.Fill("memory", kMemoryMin, kMemoryMax, &settings.memory_bytes),
                      given.Fill("rounds", 1, kRoundsMax, &settings.rounds),
                      given.FillDuration("duration", kDurationMax, &settings.duration)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  for (const char* name : {"html", "markdown"}) {
    if (given.Has(name) && given.Text(name).empty()) {
      return given.Invalid(fmt::format("--{} is empty: name a file", name));
    }
  }
  settings.html = given.Text("html");
  settings.markdown = given.Text("markdown");
  auto plovd = PlovdOf(given);
  if (!plovd) return std::unexpected(plovd.error());
  settings.plovd = std::move(*plovd);
  return settings;
}

}  // namespace

po::options_description ScaleOptions() {
  po::options_description options("Options of scale", 100);
  // clang-format off
  options.add_options()
      ("axis", Text("LIST"), "of items, values, clients, shards (all)")
      ("memory", Text("SIZE"), "for server and clients; points that need more are skipped (seven tenths of what is free)")
      ("plovd", Text("PATH"), "the server's program (found beside this one, else in PATH)")
      ("duration", Text("DURATION"), "of each measurement in each round (500ms)")
      ("rounds", Text("N"), "rounds at each point, whose medians are shown (3)")
      ("html", Text("FILE"), "write tables and plots there, too, as a page")
      ("markdown", Text("FILE"), "write tables there, too, for a README, and plots as pictures beside it")
      ("json", po::bool_switch(), "print JSON, one object, instead of tables")
      ("quick", po::bool_switch(), "little of everything, to see that it works");
  // clang-format on
  return options;
}

Outcome RunScale(const Given& given, cli::Output* output) {
  const auto settings = SettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyScale(*settings);
  if (!study) return std::unexpected(study.error());
  const Page page = PageOf(*study);
  output->Write(settings->json ? JsonOf(*study) : TextOf(page));
  Outcome saved;
  if (!settings->html.empty()) saved = Save(settings->html, HtmlOf(page));
  if (saved && !settings->markdown.empty()) saved = SaveMarkdown(settings->markdown, page);
  return saved;
}

}  // namespace plov::bench
