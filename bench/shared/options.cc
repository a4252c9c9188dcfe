#include "bench/shared/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "program/own_server.h"
#include "verify/quantity.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint32_t kRoundsMax = 1000;
constexpr std::chrono::hours kDurationMax{1};

double MillisecondsOf(std::chrono::microseconds duration) {
  return static_cast<double>(duration.count()) / 1000;
}

Outcome FillPath(const Given& given, const char* name, const char* kind, std::string* path) {
  *path = given.Text(name);
  const bool is_empty = given.Has(name) && path->empty();
  return is_empty ? given.Invalid(fmt::format("--{} is empty: name a {}", name, kind)) : Outcome();
}

}  // namespace

po::typed_value<std::string>* Text(const char* name) {
  return po::value<std::string>()->value_name(name);
}

po::options_description OptionsWith(std::string_view name, const OutputSettings&) {
  po::options_description options(fmt::format("Options of {}", name), 100);
  // clang-format off
  options.add_options()
      ("html", Text("FILE"), "write tables and plots there, too, as a page")
      ("json", po::bool_switch(), "print JSON, one object, instead of text")
      ("quick", po::bool_switch(), "little of everything, to see that it works");
  // clang-format on
  return options;
}

po::options_description OptionsWith(std::string_view name, const RoundSettings& defaults) {
  po::options_description options = OptionsWith(name, OutputSettings());
  const std::string duration =
      fmt::format("of each measurement in each round ({}ms)", MillisecondsOf(defaults.duration));
  const std::string rounds = fmt::format("rounds, whose medians are shown ({})", defaults.rounds);
  // clang-format off
  options.add_options()
      ("duration", Text("DURATION"), duration.c_str())
      ("rounds", Text("N"), rounds.c_str());
  // clang-format on
  return options;
}

po::options_description OptionsWith(std::string_view name, const StudySettings& defaults) {
  const RoundSettings& rounds = defaults;
  po::options_description options = OptionsWith(name, rounds);
  options.add_options()("plovd", Text("PATH"),
                        "the server's program (found beside this one, else in PATH)");
  return options;
}

Outcome AllOf(std::initializer_list<Outcome> outcomes) {
  const auto failed = std::ranges::find(outcomes, false, &Outcome::has_value);
  return failed == outcomes.end() ? Outcome() : *failed;
}

Outcome FillFile(const Given& given, const char* name, std::string* file) {
  return FillPath(given, name, "file", file);
}

Outcome FillFolder(const Given& given, const char* name, std::string* folder) {
  return FillPath(given, name, "folder", folder);
}

Outcome FillPlovd(const Given& given, std::string* plovd) {
  *plovd = given.Has("plovd") ? given.Text("plovd") : program::FindPlovd();
  if (!plovd->empty()) return {};
  return Fail(Code::kUnavailable, "no plovd beside plov-bench nor in PATH: name it by --plovd");
}

Outcome FillOutput(const Given& given, OutputSettings* settings) {
  settings->quick = given.On("quick");
  settings->json = given.On("json");
  if (auto filled = FillFile(given, "html", &settings->html); !filled) return filled;
  return settings->html.empty() ? Outcome() : CanWritePages();
}

Outcome FillRounds(const Given& given, RoundSettings* settings) {
  return AllOf({given.Fill("rounds", 1, kRoundsMax, &settings->rounds),
                given.FillDuration("duration", kDurationMax, &settings->duration),
                FillOutput(given, settings)});
}

Outcome FillStudy(const Given& given, StudySettings* settings) {
  return AllOf({FillRounds(given, settings), FillPlovd(given, &settings->plovd)});
}

Outcome FillFabric(const Given& given, FabricChoice* choice) {
  if (given.Has("fabric")) {
    choice->is_rdma = given.Text("fabric") == "rdma";
    if (!choice->is_rdma && given.Text("fabric") != "shm") {
      return given.Invalid("--fabric is shm or rdma");
    }
  }
  choice->device = {given.Text("device"), given.Text("address")};
  for (const char* name : {"device", "address"}) {
    if (given.Has(name) && !choice->is_rdma) {
      return given.Invalid(fmt::format("--{} is for --fabric rdma", name));
    }
  }
  return {};
}

std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list + ",");
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

Outcome FillNumbers(const Given& given, const char* name, uint32_t least, uint32_t most,
                    std::vector<uint32_t>* numbers) {
  if (!given.Has(name)) return {};
  numbers->clear();
  for (const std::string& part : SplitList(given.Text(name))) {
    const auto number = ParseSize(part);
    if (!number || *number < least || *number > most) {
      return given.Invalid(fmt::format("--{} '{}' is not a list of numbers from {} to {}", name,
                                       given.Text(name), least, most));
    }
    numbers->push_back(static_cast<uint32_t>(*number));
  }
  std::ranges::sort(*numbers);
  numbers->erase(std::ranges::unique(*numbers).begin(), numbers->end());
  return {};
}

std::string RoundsOf(uint32_t rounds, std::chrono::microseconds duration) {
  return fmt::format("{} round{} of {} ms", rounds, rounds == 1 ? "" : "s",
                     MillisecondsOf(duration));
}

Outcome Show(const OutputSettings& settings, const Page& page, const program::Json& figures,
             program::Output* output) {
  output->Write(settings.json ? program::LineOf(figures) : TextOf(page));
  if (settings.html.empty()) return {};
  const auto html = HtmlOf(page);
  return html ? Save(settings.html, *html) : std::unexpected(html.error());
}

}  // namespace plov::bench
