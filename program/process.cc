#include "program/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

namespace plov::program {

namespace {

constexpr size_t kSpawnStackBytes = size_t{32} << 10;  // as much as posix_spawn takes
// Signals that a terminal or a shell sends to a whole group.
constexpr int kGroupSignals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP};

// What a child needs, and what it leaves, between clone and exec.
struct Launch {
  char** argv;
  const ProcessFiles& files;
  pid_t parent;
  int error = 0;  // why there was no exec
};

// In the memory of the parent, whose thread waits, on a stack of its own. All signals are blocked.
int Become(void* argument) {
  auto* launch = static_cast<Launch*>(argument);
  const ProcessFiles& files = launch->files;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launch->parent) ::_exit(126);
  ::setpgid(0, 0);
  // What was sent to the parent's group while we were in it is not ours: being ignored for a moment
  // discards it.
  for (const int signal : kGroupSignals) {
    ::signal(signal, SIG_IGN);
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (files.output >= 0) ::dup2(files.output, STDOUT_FILENO);
  if (files.errors >= 0) ::dup2(files.errors, STDERR_FILENO);
  if (files.inherited >= 0) ::fcntl(files.inherited, F_SETFD, 0);
  ::execv(launch->argv[0], launch->argv);
  launch->error = errno;
  ::_exit(127);
}

// As vfork, in a form that the compiler understands: returns when the program runs, or with -1 and
// errno when it does not.
pid_t Spawn(char** argv, const ProcessFiles& files) {
  alignas(64) std::array<std::byte, kSpawnStackBytes> stack;
  Launch launch{argv, files, ::getpid()};
  const pid_t pid =
      ::clone(Become, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, &launch);
  if (pid < 0 || launch.error == 0) return pid;
  ::waitpid(pid, nullptr, 0);
  errno = launch.error;
  return -1;
}

}  // namespace

std::expected<Process, Error> Process::Start(const std::vector<std::string>& arguments,
                                             const ProcessFiles& files) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  sigset_t all;
  sigset_t former;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &former);
  const pid_t pid = Spawn(argv.data(), files);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
  if (pid < 0) return FailErrno("cannot start " + arguments[0], error);
  return Process(pid);
}

std::expected<Process, Error> Process::Fork(const std::function<int()>& work) {
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return FailErrno("cannot start a process", errno);
  if (pid > 0) return Process(pid);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::_exit(::getppid() == parent ? work() : 1);
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

Process& Process::operator=(Process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(status_, other.status_);
  return *this;
}

Process::~Process() { Kill(); }

std::expected<std::chrono::nanoseconds, Error> Process::CpuTime() const {
  clockid_t clock{};
  timespec time{};
  const int error = ::clock_getcpuclockid(pid_, &clock);
  if (error != 0) return FailErrno("cannot see a process's CPU time", error);
  if (::clock_gettime(clock, &time) != 0) {
    return FailErrno("cannot see a process's CPU time", errno);
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

uint64_t Process::ResidentBytes() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/statm");
  uint64_t size = 0;
  uint64_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

void Process::Stop() {
  if (HasEnded()) return;
  ::kill(pid_, SIGSTOP);
  siginfo_t stopped;
  ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
}

void Process::Continue() {
  if (!HasEnded()) ::kill(pid_, SIGCONT);
}

void Process::Terminate() {
  if (!HasEnded()) ::kill(pid_, SIGTERM);
}

void Process::Kill() {
  if (pid_ <= 0 || status_) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_) status_ = status;
}

bool Process::HasEnded() {
  if (pid_ <= 0 || status_) return true;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  return status_.has_value();
}

bool Process::Await(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!HasEnded()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

std::string Process::ending() const {
  const int status = status_.value_or(0);
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

std::string ReadUntil(int output, bool (*whole)(std::string_view),
                      std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string said;
  while (!whole(said)) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd poll_fd{output, POLLIN, 0};
    char bytes[256];
    const bool any = left.count() > 0 && ::poll(&poll_fd, 1, static_cast<int>(left.count())) == 1;
    const ssize_t count = any ? ::read(output, bytes, sizeof(bytes)) : 0;
    if (count <= 0) return said;
    said.append(bytes, static_cast<size_t>(count));
  }
  return said;
}

std::string OwnPath() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed);
}

std::string FindInPath(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream list(path == nullptr ? "" : path);
  for (std::string folder; std::getline(list, folder, ':');) {
    const std::filesystem::path place = std::filesystem::path(folder) / name;
    if (!folder.empty() && ::access(place.c_str(), X_OK) == 0) return place;
  }
  return {};
}

}  // namespace plov::program
