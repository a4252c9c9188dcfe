// plov, the command line. See plov(1).

#include <fmt/core.h>

#include <csignal>

#include "client/cli/commands.h"
#include "client/cli/help.h"
#include "client/cli/options.h"
#include "client/cli/report.h"

int main(int argc, char** argv) {
  using namespace plov;
  using namespace plov::cli;
  program::OccupyStandardFiles();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error, told in one line
  const auto options = ParseOptions(argc, argv);
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
