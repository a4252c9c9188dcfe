#include "bench/peers/peer_server.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <thread>

#include "fabric/os.h"

namespace plov::bench {

namespace {

constexpr std::chrono::seconds kServesWithin{20};
constexpr std::chrono::seconds kEndsWithin{300};
constexpr std::chrono::seconds kEndsAfterItsOutput{10};
constexpr size_t kToldBytes = 400;  // of a failed program's output: as much as one looks at

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

std::expected<program::Process, Error> StartProgram(const PeerProgram& program) {
  const auto command = CommandOf(program);
  if (!command) return std::unexpected(command.error());
  const fabric::Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  return program::Process::Start(*command, {.output = nowhere.get(), .errors = nowhere.get()});
}

std::expected<program::Process, Error> StartPeerServer(const PeerProgram& program,
                                                       const std::function<bool()>& connect) {
  auto process = StartProgram(program);
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
  const fabric::Fd client(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const void* const any = &address;
  return ::connect(client.get(), static_cast<const sockaddr*>(any), sizeof(address)) == 0;
}

std::expected<std::string, Error> OutputOf(const PeerProgram& program) {
  const auto command = CommandOf(program);
  if (!command) return std::unexpected(command.error());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FailErrno("cannot make a pipe", errno);
  const fabric::Fd read_end(ends[0]);
  fabric::Fd write_end(ends[1]);
  auto process =
      program::Process::Start(*command, {.output = write_end.get(), .errors = write_end.get()});
  if (!process) return std::unexpected(process.error());
  write_end = fabric::Fd();
  const std::string text = program::ReadUntil(
      read_end.get(), [](std::string_view) { return false; }, kEndsWithin);
  if (!process->Await(kEndsAfterItsOutput)) {
    return Fail(Code::kTimeout, program.name + " does not end");
  }
  if (process->ending() == "exit status 0") return text;
  std::string end = text.substr(text.size() - std::min(text.size(), kToldBytes));
  std::ranges::replace(end, '\n', ' ');
  return Fail(Code::kSystem, fmt::format("{} failed; it said: {}", program.name, end));
}

}  // namespace plov::bench
