// plov, the command line. See plov(1).

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/options.h"
#include "client/cli/run.h"

int main(int argc, char** argv) {
  using namespace plov;
  program::OccupyStandardFiles();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error, told in one line
  cli::Options defaults;
  defaults.kept = std::make_shared<cli::KeptClient>();
  const char* server = std::getenv("PLOV_SERVER");
  if (server != nullptr && server[0] != '\0') defaults.server = server;
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    defaults.command = cli::FindCommand("shell");
  }
  return cli::Run({argv + 1, argv + argc}, defaults);
}
