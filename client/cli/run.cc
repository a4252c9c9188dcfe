#include "client/cli/run.h"

#include <fmt/core.h>

#include "client/cli/commands.h"
#include "client/cli/help.h"
#include "client/cli/report.h"

namespace plov::cli {

int Run(const std::vector<std::string>& words, const Options& defaults) {
  const auto options = ParseOptions(words, defaults);
  if (!options) return Complain("", options.error());
  program::Output output;
  Outcome outcome;
  if (options->action == Options::Action::kHelp) {
    output.Write(HelpText(options->command));
  } else if (options->action == Options::Action::kVersion) {
    output.Write(fmt::format("plov {}\n", PLOV_VERSION));
  } else {
    outcome = options->command->run(*options, &output);
  }
  if (const auto written = output.Finish(); !written) outcome = written;
  const auto name = options->command != nullptr ? options->command->name : "";
  return outcome ? 0 : Complain(name, outcome.error());
}

}  // namespace plov::cli
