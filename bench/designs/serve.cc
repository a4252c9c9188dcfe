#include "bench/designs/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <vector>

#include "bench/designs/probe.h"
#include "fabric/fabric.h"
#include "fabric/os.h"
#include "program/output.h"

namespace plov::bench {

namespace {

using fabric::PortEvent;

constexpr std::string_view kReady = "ready\n";
constexpr std::chrono::seconds kReadyWithin{120};
constexpr uint64_t kStagingBytes = 1 << 20;
// Polls without work before it sleeps: about 100 us.
constexpr uint32_t kIdlePollsMax = 2000;

class DesignServer {
 public:
  static std::expected<DesignServer, Error> Create(const DesignServerOptions& options) {
    const Layout layout = LayoutOf(options.design, options.shape, options.items, options.part);
    auto fd = fabric::CreateMemory("plov-design", layout.region_bytes);
    if (!fd) return std::unexpected(fd.error());
    auto memory = fabric::Mapping::Map(fd->get(), layout.region_bytes, PROT_READ | PROT_WRITE);
    if (!memory) return std::unexpected(memory.error());
    if (auto written = WriteImage(layout, memory->bytes()); !written) {
      return std::unexpected(written.error());
    }
    auto listener = fabric::Listener::Listen(options.uri, {.shards = {{memory->bytes(), fd->get()}},
                                                           .format_version = kDesignFormat,
                                                           .staging_bytes = kStagingBytes});
    if (!listener) return std::unexpected(listener.error());
    return DesignServer(layout, std::move(*fd), std::move(*memory), std::move(*listener));
  }

  [[noreturn]] void Run() {
    uint32_t idle_polls = 0;
    while (true) {
      if (const auto event = port_->Poll()) {
        idle_polls = 0;
        if (event->kind == PortEvent::Kind::kMessage) Reply(*event);
      } else if (++idle_polls > kIdlePollsMax) {
        Sleep();
        idle_polls = 0;
      }
    }
  }

 private:
  DesignServer(const Layout& layout, fabric::Fd fd, fabric::Mapping memory,
               std::unique_ptr<fabric::Listener> listener)
      : layout_(layout),
        fd_(std::move(fd)),
        memory_(std::move(memory)),
        listener_(std::move(listener)),
        port_(&listener_->port(0)) {}

  void Reply(const PortEvent& event) {
    const std::string_view key(
        static_cast<const char*>(static_cast<const void*>(event.message.data())),
        event.message.size());
    Probe probe;
    probe.Start(&layout_, key);
    auto result = Probe::Result::kRead;
    while (result == Probe::Result::kRead) {
      result = probe.Feed(memory_.bytes().subspan(probe.offset(), probe.bytes()));
    }
    reply_.assign(1, result == Probe::Result::kFound ? kReplyFound : kReplyAbsent);
    if (result == Probe::Result::kFound) {
      const auto value = std::as_bytes(std::span(probe.value()));
      reply_.insert(reply_.end(), value.begin(), value.end());
    }
    port_->Send(event.peer, reply_);
  }

  void Sleep() {
    if (port_->Arm()) {
      pollfd poll_fds[] = {{listener_->fd(), POLLIN, 0}, {port_->fd(), POLLIN, 0}};
      ::poll(poll_fds, 2, -1);
    }
    port_->Disarm();
    listener_->HandleEvents();
  }

  Layout layout_;
  fabric::Fd fd_;
  fabric::Mapping memory_;
  std::unique_ptr<fabric::Listener> listener_;
  fabric::Port* port_;
  std::vector<std::byte> reply_;
};

// Says when it serves, or why it does not, and serves.
int Serve(const DesignServerOptions& options, const fabric::Fd& told) {
  auto server = DesignServer::Create(options);
  const std::string_view said = server ? kReady : std::string_view(server.error().message);
  if (program::WriteAll(told.get(), said) != 0 || !server) return 1;
  server->Run();
}

}  // namespace

std::expected<program::Process, Error> StartDesignServer(const DesignServerOptions& options) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FailErrno("cannot make a pipe", errno);
  const fabric::Fd pipe(ends[0]);
  fabric::Fd told(ends[1]);
  auto started = program::Process::Fork([&] { return Serve(options, told); });
  told = fabric::Fd();
  if (!started) return started;
  const std::string said = program::ReadUntil(
      pipe.get(), [](std::string_view text) { return text == kReady; }, kReadyWithin);
  if (said == kReady) return started;
  return Fail(Code::kUnavailable, "a server of an emulated design did not start: " +
                                      (said.empty() ? "it said nothing" : said));
}

}  // namespace plov::bench
