// shell: commands from a terminal, or from a pipe, until it ends.

#include "client/cli/shell.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/line_editor.h"
#include "client/cli/lines.h"
#include "client/cli/report.h"
#include "client/cli/run.h"
#include "client/cli/shell_words.h"
#include "client/cli/shell_worker.h"
#include "verify/record.h"

namespace plov::cli {

namespace {

// Of the largest item, each byte as \xNN, and of the options around it.
constexpr size_t kLineBytesMax = 4 * (verify::kKeyBytesMax + verify::kValueBytesMax) + 4096;

bool IsExit(const std::vector<std::string>& words) {
  return words.size() == 1 && (words[0] == "exit" || words[0] == "quit");
}

// Only what holds for every command.
Options DefaultsOf(const Options& options) {
  Options defaults;
  defaults.server = options.server;
  defaults.timeout = options.timeout;
  defaults.wait = options.wait;
  defaults.read_from = options.read_from;
  defaults.max_age = options.max_age;
  defaults.json = options.json;
  defaults.kept = options.kept;
  defaults.in_shell = true;
  return defaults;
}

// Whoever read it has gone.
bool IsOutputClosed() {
  pollfd output{STDOUT_FILENO, 0, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

int ComplainOf(const Error& error) { return Complain("shell", error); }

int AtTerminal(const Options& defaults, LineEditor* editor) {
  // To the end: the terminal sends them to the worker as well.
  for (const int signal : {SIGINT, SIGQUIT, SIGTSTP}) ::signal(signal, SIG_IGN);
  ShellWorker worker(defaults);
  int status = 0;
  while (true) {
    const LineEditor::Line line = editor->Next();
    if (line.kind == LineEditor::Kind::kInterrupted) continue;
    if (line.kind == LineEditor::Kind::kEnd) break;
    const auto words = SplitWords(line.text);
    if (words && words->empty()) continue;
    if (words && IsExit(*words)) return status;
    const auto ran = worker.Run(line.text);
    status = ran ? *ran : ComplainOf(ran.error());
  }
  program::WriteAll(STDOUT_FILENO, "\n");
  return status;
}

// Commands have no standard input of their own: what comes there are the next lines.
std::expected<int, Error> TakeStandardInput() {
  const fabric::Fd nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const int lines = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  if (lines < 0 || !nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0) {
    return FailErrno("cannot take standard input", errno);
  }
  return lines;
}

Outcome OutcomeOf(int status) {
  if (status == 0) return {};
  const Code code = status == kExitNotFound ? Code::kNotFound
                    : status == kExitUsage  ? Code::kInvalidArgument
                                            : Code::kSystem;
  return Fail(code, "");
}

}  // namespace

int RunLines(const Options& defaults, int fd, const std::function<void(int)>& done) {
  LineReader lines(fd, kLineBytesMax);
  int status = 0;
  while (true) {
    const LineReader::Line line = lines.Next();
    if (line.kind == LineReader::Kind::kEnd) return status;
    if (line.kind == LineReader::Kind::kFailed) {
      return ComplainOf(FailErrno("cannot read standard input", lines.error_number()).error());
    }
    auto words = SplitWords(line.text);
    if (line.kind == LineReader::Kind::kTooLong) {
      words = Fail(Code::kInvalidArgument, "a line is longer than any command");
    }
    if (words && words->empty()) continue;
    if (words && IsExit(*words)) return status;
    status = words ? Run(*words, defaults) : ComplainOf(words.error());
    done(status);
    if (status == kExitError && IsOutputClosed()) return status;
  }
}

Outcome Shell(const Options& options, program::Output*) {
  if (options.in_shell) return Fail(Code::kInvalidArgument, "this is one already");
  const Options defaults = DefaultsOf(options);
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    auto editor = LineEditor::Open(Printable(options.server) + "> ");
    if (!editor) return std::unexpected(editor.error());
    return OutcomeOf(AtTerminal(defaults, &*editor));
  }
  const auto lines = TakeStandardInput();
  if (!lines) return std::unexpected(lines.error());
  return OutcomeOf(RunLines(defaults, *lines, [](int) {}));
}

}  // namespace plov::cli
