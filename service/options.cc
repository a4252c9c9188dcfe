#include "service/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace plov::service {

namespace po = boost::program_options;

void Options::Describe(po::options_description* described) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  // clang-format off
  described->add_options()
      ("metrics", text("HOST:PORT"), "serve metrics for Prometheus there, http://HOST:PORT/metrics")
      ("config", text("FILE"), "read options from a file, lines of key = value")
      ("log-level", text("trace|debug|info|warn|error|off"), "which messages are written (info)")
      ("log-output", text("stderr|journal|FILE"), "where messages go (stderr)")
      ("version,V", "print the version and exit")
      ("help,h", "print this help and exit");
  // clang-format on
}

std::expected<void, Error> Options::Fill(const Given& given) {
  if (given.Has("help")) action = Action::kHelp;
  if (given.Has("version")) action = Action::kVersion;
  if (action != Action::kServe) return {};
  if (given.Has("metrics")) metrics = given.As<std::string>("metrics");
  if (given.Has("metrics") && metrics.empty()) {
    return Fail(Code::kInvalidArgument, given.NameOf("metrics") + " is empty: name HOST:PORT");
  }
  if (given.Has("log-output")) log_output = given.As<std::string>("log-output");
  if (log_output.empty()) {
    return Fail(Code::kInvalidArgument,
                given.NameOf("log-output") + " is empty: stderr, journal, or a file");
  }
  if (given.Has("log-level")) log_level = given.As<std::string>("log-level");
  static constexpr std::array kLevels = {"trace", "debug", "info", "warn", "error", "off"};
  if (std::ranges::find(kLevels, log_level) == kLevels.end()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} '{}' is not one of trace, debug, info, warn, error, off",
                            given.NameOf("log-level"), log_level));
  }
  return {};
}

std::string OtherSources(const std::string& variables) {
  return "Every option can also be a line of the --config file (key = value) or a variable\n" +
         variables + "KEY; the command line wins over the file, the file over the environment.\n";
}

}  // namespace plov::service
