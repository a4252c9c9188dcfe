#include "program/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace plov::program {

namespace {

// In the janitor: waits until a byte or the end comes. Everything else of the tool's is let go, so
// that whoever reads the tool's output sees its end.
[[noreturn]] void WaitAndClean(int pipe, const std::function<void()>& clean) {
  ::setsid();
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nowhere, fd);
  char byte = 0;
  ssize_t count = -1;
  do {
    count = ::read(pipe, &byte, 1);
  } while (count < 0 && errno == EINTR);
  if (count == 0) clean();
  ::_exit(0);
}

}  // namespace

std::expected<Janitor, Error> Janitor::Start(std::function<void()> clean) {
  int pipe[2];
  const bool piped = ::pipe2(pipe, O_CLOEXEC) == 0;
  const pid_t pid = piped ? ::fork() : -1;
  if (pid == 0) {
    ::close(pipe[1]);
    WaitAndClean(pipe[0], clean);
  }
  if (piped) ::close(pipe[0]);
  if (pid < 0) {
    return Fail(Code::kSystem, std::string("cannot start a process: ") + std::strerror(errno));
  }
  return Janitor(pid, pipe[1]);
}

Janitor::Janitor(Janitor&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pipe_(std::exchange(other.pipe_, -1)) {}

void Janitor::Dismiss() {
  if (pid_ <= 0) return;
  const char byte = 1;
  // A janitor that is gone cannot be told; nothing is lost.
  [[maybe_unused]] const ssize_t told = ::write(pipe_, &byte, 1);
  ::close(pipe_);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

std::expected<std::string, Error> MakeFolder(Place place, const std::string& tool) {
  const std::filesystem::path memory = "/dev/shm";
  const bool in_memory = place == Place::kMemory && ::access(memory.c_str(), W_OK) == 0;
  std::error_code failed;
  auto parent = in_memory ? memory : std::filesystem::temp_directory_path(failed);
  // The name of a socket has at most 107 bytes.
  if (failed || parent.native().size() > 60) parent = "/tmp";
  std::string path = parent / (tool + "-XXXXXX");
  if (::mkdtemp(path.data()) == nullptr) {
    return Fail(Code::kSystem,
                "cannot make a folder in " + parent.string() + ": " + std::strerror(errno));
  }
  return path;
}

void RemoveFolder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace plov::program
