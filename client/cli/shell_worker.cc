#include "client/cli/shell_worker.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <utility>

#include "client/cli/shell.h"
#include "program/output.h"

namespace plov::cli {

namespace {

constexpr int kLookEveryMs = 50;  // whether the worker was stopped

// Of read and write end.
std::expected<std::pair<fabric::Fd, fabric::Fd>, Error> MakePipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return FailErrno("cannot make a pipe", errno);
  return std::pair(fabric::Fd(fds[0]), fabric::Fd(fds[1]));
}

std::expected<int, Error> Ended(int signal) {
  if (signal == SIGINT) {
    program::WriteAll(STDOUT_FILENO, "\n");  // the terminal has shown ^C
    return Fail(Code::kSystem, "");
  }
  if (signal == 0) return Fail(Code::kSystem, "the process of the command has ended");
  return Fail(Code::kSystem, fmt::format("the process of the command was ended by signal {} ({})",
                                         signal, ::strsignal(signal)));
}

}  // namespace

std::expected<void, Error> ShellWorker::Start() {
  auto lines = MakePipe();
  if (!lines) return std::unexpected(lines.error());
  auto statuses = MakePipe();
  if (!statuses) return std::unexpected(statuses.error());
  pid_ = ::fork();
  if (pid_ < 0) return FailErrno("cannot start a process for the command", errno);
  if (pid_ == 0) {
    lines->second = {};
    Work(lines->first.get(), statuses->second.get());
  }
  lines_ = std::move(lines->second);
  statuses_ = std::move(statuses->first);
  return {};
}

void ShellWorker::Work(int lines, int statuses) const {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGQUIT, SIG_DFL);
  ::signal(SIGTSTP, SIG_DFL);
  RunLines(defaults_, lines, [statuses](int status) {
    const auto byte = static_cast<char>(status);
    program::WriteAll(statuses, {&byte, 1});
  });
  ::_exit(0);
}

int ShellWorker::End() {
  lines_ = {};
  statuses_ = {};
  int status = 0;
  while (pid_ > 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void ShellWorker::AwaitStatus() const {
  pollfd status{statuses_.get(), POLLIN, 0};
  while (::poll(&status, 1, kLookEveryMs) <= 0) {
    siginfo_t stopped{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WNOHANG) != 0) continue;
    if (stopped.si_pid != pid_) continue;
    ::raise(SIGSTOP);
    ::kill(pid_, SIGCONT);
  }
}

std::expected<int, Error> ShellWorker::Run(const std::string& line) {
  const std::string text = line + "\n";
  // One that was ended while it was idle does not matter.
  if (pid_ > 0 && program::WriteAll(lines_.get(), text) != 0) End();
  if (pid_ < 0) {
    if (auto started = Start(); !started) return std::unexpected(started.error());
    program::WriteAll(lines_.get(), text);
  }
  AwaitStatus();
  unsigned char status = 0;
  if (::read(statuses_.get(), &status, 1) == 1) return status;
  return Ended(End());
}

}  // namespace plov::cli
