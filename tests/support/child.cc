#include "tests/support/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace plov::test {

namespace {

constexpr int kStillRuns = -1000;
constexpr int kThrew = 99;
constexpr std::chrono::microseconds kPauseMin{50}, kPauseMax{2000};

// A group of its own: while one of a group is stopped, the kernel can end all of that group with SIGHUP when a
// process exits whose parent is of another one, as one of another test's may.
void Begin() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
}

// What is thrown stays here: GoogleTest would take it for the parent's, and go on with the tests
// that follow in the child.
int Run(const std::function<int()>& body) {
  try {
    return body();
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "child: %s\n", thrown.what());
    return kThrew;
  }
}

}  // namespace

Child Child::Exec(const std::vector<std::string>& arguments, const std::string& output_path) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    Begin();
    const int output = ::open(output_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ::dup2(output, 1);
    ::dup2(output, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  return Child(pid);
}

Child Child::Fork(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    Begin();
    ::_exit(Run(body));
  }
  return Child(pid);
}

Child::Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  return *this;
}

Child::~Child() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Child::Signal(int signal) const {
  ::kill(pid_, signal);
  siginfo_t stopped;
  if (signal == SIGSTOP)
    ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
}

int Child::Wait(int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  auto pause = kPauseMin;
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) return kStillRuns;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kPauseMax);
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

uint64_t CpuUsOf(pid_t pid) {
  uint64_t total_ns = 0;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream file(task.path() / "schedstat");
    uint64_t run_ns = 0;
    file >> run_ns;
    total_ns += run_ns;
  }
  return total_ns / 1000;
}

}  // namespace plov::test
