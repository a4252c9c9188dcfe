#include "bench/peers/peer_server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace plov::bench {

namespace {

constexpr std::chrono::seconds kServesWithin{20};
constexpr std::chrono::seconds kEndsWithin{10};

std::expected<std::vector<std::string>, Error> CommandOf(const PeerProgram& program) {
  std::vector<std::string> command = {program::FindInPath(program.name)};
  if (command[0].empty()) {
    return Fail(Code::kUnavailable, fmt::format("{} is not in PATH: install the package {}",
                                                program.name, program.package));
  }
  command.insert(command.end(), program.arguments.begin(), program.arguments.end());
  return command;
}

}  // namespace

std::expected<program::Process, Error> StartPeerServer(const PeerProgram& program,
                                                       const std::function<bool()>& connect) {
  const auto command = CommandOf(program);
  if (!command) return std::unexpected(command.error());
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  auto process = program::Process::Start(*command, {.output = nowhere, .errors = nowhere});
  ::close(nowhere);
  if (!process) return process;
  const auto end = std::chrono::steady_clock::now() + kServesWithin;
  while (!connect()) {
    if (process->HasEnded()) {
      return Fail(Code::kSystem, fmt::format("{} ended with {}", program.name, process->ending()));
    }
    if (std::chrono::steady_clock::now() > end) {
      return Fail(Code::kSystem, program.name + " does not serve");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return process;
}

bool Listens(const std::string& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) return false;
  std::ranges::copy(socket, address.sun_path);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const void* const any = &address;
  const bool connected = ::connect(fd, static_cast<const sockaddr*>(any), sizeof(address)) == 0;
  ::close(fd);
  return connected;
}

std::expected<std::string, Error> OutputOf(const PeerProgram& program) {
  const auto command = CommandOf(program);
  if (!command) return std::unexpected(command.error());
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return Fail(Code::kSystem, "cannot make a pipe");
  auto process = program::Process::Start(*command, {.output = pipe[1], .errors = pipe[1]});
  ::close(pipe[1]);
  std::string text;
  char bytes[4096];
  ssize_t count = process ? 1 : 0;
  while (count > 0 || (count < 0 && errno == EINTR)) {
    count = ::read(pipe[0], bytes, sizeof(bytes));
    if (count > 0) text.append(bytes, static_cast<size_t>(count));
  }
  ::close(pipe[0]);
  if (!process) return std::unexpected(process.error());
  if (!process->Await(kEndsWithin) || process->ending() != "exit status 0") {
    return Fail(Code::kSystem, fmt::format("{} failed: {}", program.name, text));
  }
  return text;
}

}  // namespace plov::bench
