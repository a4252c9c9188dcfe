// plov-torture, the torture tool. See plov-torture(1).

#include <fmt/core.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "program/interrupt.h"
#include "program/output.h"
#include "torture/check_command.h"
#include "torture/clock_shift.h"
#include "torture/runner.h"
#include "torture/tool_options.h"
#include "torture/worker.h"

namespace {

using namespace plov::torture;

constexpr int kExitUsage = 2;
constexpr int kExitCannotRun = 3;

int Complain(const plov::Error& error, int exit_status) {
  fmt::print(stderr, "plov-torture: {}\n", error.message);
  return exit_status;
}

// The tool's own server takes its options from the tool alone.
void ForgetServerVariables() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (text.starts_with("PLOVD_")) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

// What this machine does not allow is left out.
void LeaveOutClock(ToolOptions* options) {
  if (!options->has(Fault::kClock) || CanShiftClock()) return;
  fmt::print(stderr,
             "plov-torture: the fault clock is left out: no time namespaces here (run as root)\n");
  options->faults.reset(IndexOf(Fault::kClock));
}

int Run(ToolOptions options) {
  LeaveOutClock(&options);
  ForgetServerVariables();
  plov::program::BlockInterrupts();
  ::signal(SIGPIPE, SIG_IGN);
  auto runner = Runner::Create(options);
  if (!runner) return Complain(runner.error(), kExitCannotRun);
  const auto evidence = (*runner)->Run();
  runner->reset();
  if (!evidence) return Complain(evidence.error(), kExitCannotRun);
  const Verdict verdict = Decide(*evidence);
  fmt::print("{}", VerdictText(*evidence, verdict));
  const auto saved = Save(*evidence, verdict);
  for (const std::string& path : saved ? *saved : std::vector<std::string>()) {
    fmt::print("{:<16} {}\n", "written", path);
  }
  if (!saved) Complain(saved.error(), kExitCannotRun);
  if (verdict.exit_status() == 1 && !options.log.empty()) {
    fmt::print("{:<16} {}\n", "kept", options.log);
  }
  // A violation is told by the exit status, whatever else went wrong.
  return saved || verdict.exit_status() == 1 ? verdict.exit_status() : kExitCannotRun;
}

}  // namespace

int main(int argc, char** argv) {
  plov::program::OccupyStandardFiles();
  if (argc > 1 && std::string_view(argv[1]) == "worker") return RunWorker(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "check") {
    return RunCheck(std::vector<std::string>(argv + 2, argv + argc));
  }
  const auto options = ParseToolOptions(argc, argv);
  if (!options) return Complain(options.error(), kExitUsage);
  switch (options->action) {
    case ToolOptions::Action::kHelp:
      fmt::print("{}", ToolHelpText());
      return 0;
    case ToolOptions::Action::kVersion:
      fmt::print("plov-torture {}\n", PLOV_VERSION);
      return 0;
    case ToolOptions::Action::kRun:
      break;
  }
  return Run(*options);
}
