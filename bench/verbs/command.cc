// plov-bench verbs.

#include "bench/shared/command.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "bench/shared/sockets.h"
#include "bench/verbs/study.h"

namespace plov::bench {

namespace {

// A server in a process of its own, which ends with its stream, with this process, or here.
class ServerProcess {
 public:
  static std::expected<ServerProcess, Error> Start(const WantedDevice& device, fabric::Fd theirs,
                                                   fabric::Fd* ours) {
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return FailErrno("cannot start the server's process", errno);
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      *ours = fabric::Fd();
      const auto served = Serve(device, std::move(theirs));
      if (!served) fmt::print(stderr, "plov-bench verbs: server: {}\n", served.error().message);
      ::_exit(served ? 0 : 1);
    }
    return ServerProcess(pid);
  }
  ServerProcess(ServerProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  ServerProcess& operator=(ServerProcess&&) = delete;
  ~ServerProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

 private:
  explicit ServerProcess(pid_t pid) : pid_(pid) {}

  pid_t pid_;
};

Outcome RunServer(const VerbsSettings& settings) {
  const auto device = FindDevice(settings.device);
  if (!device) return std::unexpected(device.error());
  const auto listener = ListenOn(settings.device.address, settings.port);
  if (!listener) return std::unexpected(listener.error());
  fmt::print("plov-bench verbs: ready on port {}, device {}\n", settings.port, device->name);
  std::fflush(stdout);
  while (true) {
    auto client = Accept(*listener);
    if (!client) return std::unexpected(client.error());
    const auto served = Serve(settings.device, std::move(*client));
    if (!served) fmt::print(stderr, "plov-bench verbs: {}\n", served.error().message);
  }
}

Outcome RunClient(const VerbsSettings& settings, fabric::Fd stream, program::Output* output) {
  auto measurer = Measurer::Create(settings.device, std::move(stream));
  if (!measurer) return std::unexpected(measurer.error());
  const auto study = Study(measurer->get(), settings);
  if (!study) return std::unexpected(study.error());
  return Show(settings, PageOf(*study), JsonOf(*study), output);
}

Outcome RunBoth(const VerbsSettings& settings, program::Output* output) {
  // Said once, by this process.
  if (const auto device = FindDevice(settings.device); !device) {
    return std::unexpected(device.error());
  }
  auto ends = ConnectedPair();
  if (!ends) return std::unexpected(ends.error());
  const auto server = ServerProcess::Start(settings.device, std::move(ends->second), &ends->first);
  if (!server) return std::unexpected(server.error());
  ends->second = fabric::Fd();
  return RunClient(settings, std::move(ends->first), output);
}

}  // namespace

Outcome RunVerbs(const Given& given, program::Output* output) {
  const auto settings = VerbsSettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  switch (settings->role) {
    case VerbsSettings::Role::kServer:
      return RunServer(*settings);
    case VerbsSettings::Role::kBoth:
      return RunBoth(*settings, output);
    case VerbsSettings::Role::kClient:
      break;
  }
  auto stream = ConnectTo(settings->host, settings->port);
  if (!stream) return std::unexpected(stream.error());
  return RunClient(*settings, std::move(*stream), output);
}

}  // namespace plov::bench
