// The server's side of the measurements.

#include <string>
#include <thread>
#include <utility>

#include "bench/load/clock.h"
#include "bench/verbs/endpoint.h"
#include "bench/verbs/measure.h"
#include "bench/verbs/pattern.h"
#include "bench/verbs/talk.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWithin{10'000};
// A client that sends nothing for so long is gone without a word. One that only READs is not heard
// for as long as a run takes.
constexpr std::chrono::seconds kSilenceMax{60};
constexpr std::chrono::hours kRunMax{2};
// Polls between two looks at the stream, which are a system call; and between two yields, without
// which a machine with one processor would stand still.
constexpr uint32_t kPollsPerLook = 4096;
constexpr uint32_t kPollsPerYield = 256;

using Outcome = std::expected<void, Error>;

Outcome Silent() { return Fail(Code::kTimeout, "the client has sent nothing for too long"); }

// Of a WRITE with immediate data only the completion goes to the receive.
Endpoint::Into IntoOf(const Combination& combination) {
  return combination.request == By::kWriteImm ? Endpoint::Into::kNothing : Endpoint::Into::kSlot;
}

// Finds requests, checks them, replies.
class Responder {
 public:
  Responder(Endpoint* endpoint, const Run& run)
      : endpoint_(endpoint), combination_(run.combination), window_(run.window) {}

  // Posts the receives of the first requests, writes what READs find. Before the client may send.
  std::expected<void, Error> Open() {
    for (uint64_t slot = 0; slot < window_; ++slot) {
      if (combination_->request == By::kNothing) {
        Fill(Which::kReply, slot + 1, endpoint_->outbox(slot), endpoint_->word_count());
      } else if (!combination_->is_polled()) {
        auto posted = endpoint_->PostReceive(slot, IntoOf(*combination_));
        if (!posted) return posted;
      }
    }
    return {};
  }

  // Replies to the requests that have come; returns how many. kCorrupt: one is wrong.
  std::expected<uint64_t, Error> Poll() {
    uint64_t count = 0;
    if (combination_->request == By::kNothing) return count;
    for (; count < window_; ++count) {
      const auto has_next = HasNext();
      if (!has_next) return std::unexpected(has_next.error());
      if (!*has_next) break;
      if (auto replied = Reply(); !replied) return std::unexpected(replied.error());
    }
    if (count == 0) return count;
    if (auto flushed = endpoint_->Flush(); !flushed) return std::unexpected(flushed.error());
    return count;
  }

  uint64_t replied() const { return replied_; }

 private:
  std::expected<bool, Error> HasNext() {
    const uint64_t slot = replied_ % window_;
    const auto is_whole = [&] {
      return IsWhole(Which::kRequest, replied_ + 1, endpoint_->inbox(slot),
                     endpoint_->word_count());
    };
    if (combination_->is_polled()) return is_whole();
    const auto received = endpoint_->PollReceive();
    if (!received) return std::unexpected(received.error());
    if (!*received) return false;
    if (**received != slot || !is_whole()) {
      return Fail(Code::kCorrupt, std::string(combination_->name) + ": request " +
                                      std::to_string(replied_) + " is not the right one");
    }
    auto posted = endpoint_->PostReceive(slot, IntoOf(*combination_));
    if (!posted) return std::unexpected(posted.error());
    return true;
  }

  std::expected<void, Error> Reply() {
    const uint64_t slot = replied_ % window_;
    Fill(Which::kReply, replied_ + 1, endpoint_->outbox(slot), endpoint_->word_count());
    ++replied_;
    return endpoint_->Send(combination_->reply, slot);
  }

  Endpoint* endpoint_;
  const Combination* combination_;
  uint64_t window_;
  uint64_t replied_ = 0;
};

class Server {
 public:
  Server(Device device, fabric::Fd stream)
      : device_(std::move(device)), stream_(std::move(stream)) {}

  Outcome Run() {
    while (true) {
      if (!stream_.Wait(kSilenceMax)) return Silent();
      const auto run = NextOrder();
      if (!run) {
        if (run.error().code == Code::kUnavailable) return {};  // the client is done
        return std::unexpected(run.error());
      }
      if (auto executed = Execute(*run); !executed) return executed;
    }
  }

 private:
  // Orders come from another machine: nothing of them is believed.
  std::expected<bench::Run, Error> NextOrder() {
    const auto order = stream_.Receive<Order>(kWithin);
    if (!order) return std::unexpected(order.error());
    if (order->magic != kTalkMagic || order->combination >= kCombinations.size() ||
        order->bytes < kBytesMin || order->bytes > kBytesMax || order->bytes % 8 != 0 ||
        order->window == 0 || order->window > kWindowMax) {
      return Fail(Code::kProtocol, "the client is not a plov-bench of this release");
    }
    return bench::Run{.combination = &kCombinations[order->combination],
                      .bytes = order->bytes,
                      .window = order->window};
  }

  // A run that cannot be, or that breaks, is told to the client, and the next may come.
  Outcome Execute(const bench::Run& run) {
    const auto theirs = stream_.Receive<Introduction>(kWithin);
    if (!theirs) return std::unexpected(theirs.error());
    auto endpoint = Endpoint::Create(device_, run, Side::kServer);
    Outcome ready;
    if (!endpoint) {
      ready = std::unexpected(endpoint.error());
      return stream_.Send(Answer{WireOutcomeOf(ready), {}});
    }
    Responder responder(&*endpoint, run);
    ready = responder.Open();
    if (ready) ready = endpoint->Connect(*theirs);
    if (auto sent = stream_.Send(Answer{WireOutcomeOf(ready), endpoint->introduction()}); !sent) {
      return sent;
    }
    if (!ready) return {};
    const int64_t cpu_before_ns = ProcessCpuNs();
    const auto outcome = Reply(run, &responder);
    const auto stopped = stream_.Receive<Stop>(kSilenceMax);
    if (!stopped) return std::unexpected(stopped.error());
    const auto cpu_ns = static_cast<uint64_t>(ProcessCpuNs() - cpu_before_ns);
    return stream_.Send(Report{WireOutcomeOf(outcome), responder.replied(), cpu_ns});
  }

  // Until the client says Stop. One that only READs needs nothing of us.
  Outcome Reply(const bench::Run& run, Responder* responder) {
    if (run.combination->request == By::kNothing) {
      return stream_.Wait(kRunMax) ? Outcome() : Silent();
    }
    auto heard_at = Clock::now();
    uint64_t heard = 0;
    for (uint32_t polls = 1;; ++polls) {
      const auto replied = responder->Poll();
      if (!replied) return std::unexpected(replied.error());
      if (*replied == 0 && polls % kPollsPerYield == 0) std::this_thread::yield();
      if (polls % kPollsPerLook != 0) continue;
      if (stream_.Wait(std::chrono::milliseconds(0))) return {};
      if (std::exchange(heard, responder->replied()) != responder->replied())
        heard_at = Clock::now();
      if (Clock::now() - heard_at > kSilenceMax) return Silent();
    }
  }

  Device device_;
  Stream stream_;
};

}  // namespace

std::expected<void, Error> Serve(const WantedDevice& wanted, fabric::Fd stream) {
  auto device = Device::Open(wanted);
  if (!device) return std::unexpected(device.error());
  return Server(std::move(*device), std::move(stream)).Run();
}

}  // namespace plov::bench
