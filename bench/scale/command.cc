// plov-bench scale: its options, and what it does.

#include "bench/shared/command.h"

#include <fmt/core.h>

#include <algorithm>

#include "bench/scale/study.h"
#include "client/cli/machine.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kMemoryMin = uint64_t{128} << 20;
constexpr uint64_t kMemoryMax = uint64_t{1} << 46;

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
  for (const std::string& name : SplitList(given.Text("axis"))) {
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
  if (given.On("quick")) {
    settings.rounds = 1;
    settings.duration = std::chrono::milliseconds(30);
  }
  for (auto filled :
       {FillAxes(given, &settings),
        given.Fill("memory", kMemoryMin, kMemoryMax, &settings.memory_bytes),
        FillFile(given, "markdown", &settings.markdown), FillStudy(given, &settings)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  return settings;
}

}  // namespace

po::options_description ScaleOptions() {
  po::options_description options = StudyOptions("scale", ScaleSettings());
  // clang-format off
  options.add_options()
      ("axis", Text("LIST"), "of items, values, clients, shards (all)")
      ("memory", Text("SIZE"), "for server and clients; points that need more are skipped (seven tenths of what is free)")
      ("markdown", Text("FILE"), "write tables there, too, as a section of a README");
  // clang-format on
  return options;
}

Outcome RunScale(const Given& given, cli::Output* output) {
  const auto settings = SettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyScale(*settings);
  if (!study) return std::unexpected(study.error());
  const Page page = PageOf(*study);
  auto shown = Show(*settings, page, JsonOf(*study), output);
  if (!shown || settings->markdown.empty()) return shown;
  return Save(settings->markdown, MarkdownOf(page));
}

}  // namespace plov::bench
