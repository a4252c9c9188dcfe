// The client of an emulated design: a window of probes over one-sided READs, or of messages.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <deque>

#include "bench/designs/probe.h"
#include "bench/designs/serve.h"
#include "bench/designs/side.h"
#include "fabric/fabric.h"
#include "fabric/random.h"

namespace plov::bench {

namespace {

using fabric::Clock;

constexpr std::chrono::seconds kWithin{10};
constexpr uint32_t kIdlePollsMax = 2000;  // before the client sleeps: about 20 us
constexpr uint64_t kGetsPerLook = 64;     // at the clock, with several in flight

class Emulation final : public Side {
 public:
  using Connections = std::vector<std::unique_ptr<fabric::Connection>>;

  Emulation(Connections connections, const Layout& layout, const Work& work, size_t first)
      : layout_(layout),
        work_(work),
        buffer_bytes_((Probe::BytesMax(layout) + 63) / 64 * 64),
        memory_(kSideWindowMax * buffer_bytes_),
        next_(first) {
    for (auto& connection : connections) links_.push_back({std::move(connection), {}});
  }

  std::expected<SideResult, Error> Measure(uint32_t window,
                                           std::chrono::microseconds duration) override {
    window_ = std::min(window, kSideWindowMax);
    ends_ = false;
    result_ = SideResult();
    flights_.assign(window_, {});
    const auto start = Clock::now();
    end_ = start + duration;
    const bool by_messages = layout_.design == Design::kHerd;
    if (by_messages) {
      SendRequests();
    } else {
      for (size_t at = 0; at < window_; ++at) Begin(at);
    }
    while (in_flight_ > 0) {
      auto taken = by_messages ? TakeReplies() : TakeReads();
      if (!taken) return std::unexpected(taken.error());
    }
    result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return std::move(result_);
  }

 private:
  struct Flight {
    Probe probe;
    size_t place = 0;  // in the order
    Clock::time_point begun;
  };
  struct Link {
    std::unique_ptr<fabric::Connection> connection;
    std::deque<std::pair<size_t, Clock::time_point>> asked;  // by their places
  };

  fabric::Connection* reader() { return links_.front().connection.get(); }
  size_t NextPlace() {
    if (next_ == work_.count()) next_ = 0;
    return next_++;
  }

  void Begin(size_t at) {
    Flight& flight = flights_[at];
    flight.place = NextPlace();
    if (window_ == 1) flight.begun = Clock::now();
    flight.probe.Start(&layout_, work_.keys()[flight.place]);
    ++in_flight_;
    Post(at);
  }

  void Post(size_t at) {
    const Probe& probe = flights_[at].probe;
    ++result_.reads;
    result_.bytes += probe.bytes();
    unposted_.push_back({.offset = probe.offset(),
                         .bytes = probe.bytes(),
                         .to = &memory_[at * buffer_bytes_],
                         .tag = at});
  }

  std::expected<void, Error> Take(const fabric::Completion& completion) {
    Flight& flight = flights_[completion.tag];
    if (completion.status != fabric::Status::kDone) {
      return Fail(Code::kUnavailable, "the server of an emulated design is gone");
    }
    const auto result = flight.probe.Feed(
        std::span(memory_).subspan(completion.tag * buffer_bytes_, flight.probe.bytes()));
    if (result == Probe::Result::kRead) {
      Post(completion.tag);
      return {};
    }
    if (result != Probe::Result::kFound) {
      return Fail(Code::kCorrupt,
                  fmt::format("{} is {}, in memory that nobody writes", work_.keys()[flight.place],
                              result == Probe::Result::kTorn ? "torn" : "absent"));
    }
    --in_flight_;
    auto counted = Count(flight.place, flight.probe.value(), flight.begun);
    if (counted && !ends_) Begin(completion.tag);
    return counted;
  }

  std::expected<void, Error> TakeReads() {
    const size_t posted = reader()->Read(unposted_);
    unposted_.erase(unposted_.begin(), unposted_.begin() + static_cast<std::ptrdiff_t>(posted));
    std::array<fabric::Completion, kSideWindowMax> completions;
    const size_t count = reader()->Poll(completions);
    if (count == 0) return Idle();
    idle_polls_ = 0;
    for (const fabric::Completion& completion : std::span(completions).first(count)) {
      if (auto taken = Take(completion); !taken) return taken;
    }
    return {};
  }

  std::expected<void, Error> TakeReplies() {
    SendRequests();
    bool any = false;
    for (Link& link : links_) {
      while (const auto reply = link.connection->Receive()) {
        any = true;
        if (auto taken = TakeReply(&link, *reply); !taken) return taken;
        SendRequests();
      }
    }
    if (!any) return Idle();
    idle_polls_ = 0;
    return {};
  }

  std::expected<void, Error> TakeReply(Link* link, std::span<const std::byte> reply) {
    if (reply.empty() || reply.front() != kReplyFound || link->asked.empty()) {
      return Fail(Code::kCorrupt, "the server of an emulated design replied with something else");
    }
    ++result_.reads;
    result_.bytes += reply.size();
    --in_flight_;
    const auto [place, begun] = link->asked.front();
    link->asked.pop_front();
    const std::string_view text(static_cast<const char*>(static_cast<const void*>(reply.data())),
                                reply.size());
    return Count(place, text.substr(1), begun);
  }

  void SendRequests() {
    while (!ends_ && in_flight_ < window_) {
      const size_t place = next_ % work_.count();
      const auto key = std::as_bytes(std::span(work_.keys()[place]));
      const auto begun = window_ == 1 ? Clock::now() : Clock::time_point();
      Link& link = links_[work_.order()[place] % links_.size()];
      if (!link.connection->Send(key)) return;  // as many as the fabric lets wait for replies
      link.asked.emplace_back(NextPlace(), begun);
      ++in_flight_;
      ++result_.reads;
      result_.bytes += key.size();
    }
  }

  std::expected<void, Error> Count(size_t place, std::string_view value, Clock::time_point begun) {
    const std::string_view key = work_.keys()[place];
    if (!work_.IsRight(key, value)) return work_.Wrong(key);
    ++result_.gets;
    if (window_ > 1 && result_.gets % kGetsPerLook != 0) return {};
    const auto now = Clock::now();
    ends_ = now >= end_;
    if (window_ == 1) {
      const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now - begun).count();
      result_.latency.Count(static_cast<uint64_t>(ns));
    }
    return {};
  }

  // With nothing to do for a while: sleeps until there is.
  std::expected<void, Error> Idle() {
    if (++idle_polls_ < kIdlePollsMax) return {};
    idle_polls_ = 0;
    std::vector<fabric::Connection*> connections;
    for (const Link& link : links_) {
      if (!link.connection->alive()) {
        return Fail(Code::kUnavailable, "the server of an emulated design is gone");
      }
      connections.push_back(link.connection.get());
    }
    fabric::Wait(connections, Clock::now() + kWithin);
    return {};
  }

  std::vector<Link> links_;
  Layout layout_;
  const Work& work_;
  size_t buffer_bytes_;
  std::vector<std::byte> memory_;  // a READ of each probe

  size_t next_;
  // Of the measurement under way.
  uint32_t window_ = 0;
  bool ends_ = false;
  Clock::time_point end_;
  SideResult result_;
  std::vector<Flight> flights_;
  std::vector<fabric::ReadOp> unposted_;
  size_t in_flight_ = 0;
  uint32_t idle_polls_ = 0;
};

}  // namespace

void SideResult::Add(const SideResult& later) {
  gets += later.gets;
  seconds += later.seconds;
  reads += later.reads;
  bucket_reads += later.bucket_reads;
  bytes += later.bytes;
  latency.Add(later.latency);
}

std::expected<std::unique_ptr<Side>, Error> ConnectEmulation(const EmulationOptions& options,
                                                             const Work& work) {
  Emulation::Connections connections;
  for (const std::string& uri : options.uris) {
    auto connection = fabric::Connection::Connect(uri, {.shard = 0,
                                                        .format_version = kDesignFormat,
                                                        .client_id = fabric::RandomId(),
                                                        .deadline = Clock::now() + kWithin});
    if (!connection) return std::unexpected(connection.error());
    connections.push_back(std::move(*connection));
  }
  const Layout layout = LayoutOf(options.design, work.items().shape(), work.count());
  return std::make_unique<Emulation>(std::move(connections), layout, work, options.first);
}

}  // namespace plov::bench
