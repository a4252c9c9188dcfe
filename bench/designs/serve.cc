#include "bench/designs/serve.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "bench/designs/layout.h"
#include "bench/designs/probe.h"
#include "fabric/fabric.h"
#include "fabric/os.h"
#include "program/output.h"
#include "verify/quantity.h"
#include "verify/words.h"

namespace plov::bench {

namespace {

using fabric::PortEvent;

constexpr std::string_view kReady = "ready\n";
constexpr std::chrono::seconds kReadyWithin{120};
constexpr size_t kWords = 7;
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

std::expected<DesignServerOptions, Error> OptionsOf(std::span<const std::string> words) {
  DesignServerOptions options;
  if (words.size() != kWords) return Fail(Code::kInvalidArgument, "started by hand");
  std::vector<uint64_t> numbers;
  for (const std::string& word : words.subspan(1)) {
    const auto number = ParseSize(word);
    if (!number) return std::unexpected(number.error());
    numbers.push_back(*number);
  }
  if (numbers[0] > static_cast<uint64_t>(Design::kHerd) || numbers[4] >= numbers[5]) {
    return Fail(Code::kInvalidArgument, "started by hand");
  }
  options.uri = words[0];
  options.design = static_cast<Design>(numbers[0]);
  options.items = numbers[1];
  options.shape.key_bytes = static_cast<uint32_t>(numbers[2]);
  options.shape.value_bytes_least = static_cast<uint32_t>(numbers[3]);
  options.shape.value_bytes_most = options.shape.value_bytes_least;
  options.part = {static_cast<uint32_t>(numbers[4]), static_cast<uint32_t>(numbers[5])};
  return options;
}

}  // namespace

std::expected<program::Process, Error> StartDesignServer(const DesignServerOptions& options) {
  const std::vector<std::string> arguments = {program::OwnPath(),
                                              kServeDesign,
                                              options.uri,
                                              std::to_string(static_cast<uint64_t>(options.design)),
                                              std::to_string(options.items),
                                              std::to_string(options.shape.key_bytes),
                                              std::to_string(options.shape.value_bytes_most),
                                              std::to_string(options.part.number),
                                              std::to_string(options.part.count)};
  int pipe[2];
  if (::pipe2(pipe, O_CLOEXEC) != 0) return FailErrno("cannot make a pipe", errno);
  auto started = program::Process::Start(arguments, {.output = pipe[1]});
  ::close(pipe[1]);
  std::string said;
  if (started) {
    said = program::ReadUntil(
        pipe[0], [](std::string_view text) { return text == kReady; }, kReadyWithin);
  }
  ::close(pipe[0]);
  if (started && said != kReady) {
    return Fail(Code::kUnavailable, "a server of an emulated design did not start: " +
                                        (said.empty() ? "it said nothing" : said));
  }
  return started;
}

int ServeDesign(std::span<const std::string> words) {
  program::Output output;
  auto options = OptionsOf(words);
  auto server = options ? DesignServer::Create(*options) : std::unexpected(options.error());
  output.Write(server ? kReady : std::string_view(server.error().message));
  if (!output.Finish() || !server) return 3;
  server->Run();
}

}  // namespace plov::bench
