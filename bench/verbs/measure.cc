// The client's side of the measurements.

#include "bench/verbs/measure.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "bench/load/histogram.h"
#include "bench/verbs/endpoint.h"
#include "bench/verbs/pattern.h"
#include "bench/verbs/talk.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWithin{20'000};
// A reply that takes longer is lost: on a machine in a machine they take milliseconds at times.
constexpr std::chrono::seconds kReplyWithin{10};
constexpr uint32_t kPollsPerYield = 256;
constexpr int kWarmUpPart = 10;  // a tenth of the time is not counted

// Operations are counted from 0, messages from 1. What a READ without any request finds is the same
// all the time.
uint64_t NumberOf(uint64_t operation) { return operation + 1; }

// Posts requests, takes and checks their replies.
class Requester {
 public:
  Requester(Endpoint* endpoint, const Run& run)
      : endpoint_(endpoint),
        combination_(run.combination),
        window_(run.window),
        arrived_(run.window, false) {}

  // Posts the receives of the first replies. Before the server may send.
  std::expected<void, Error> Open() {
    if (!is_sent()) return {};
    for (uint64_t slot = 0; slot < window_; ++slot) {
      auto posted = endpoint_->PostReceive(slot, Endpoint::Into::kSlot);
      if (!posted) return posted;
    }
    return {};
  }

  uint64_t posted() const { return posted_; }
  uint64_t answered() const { return answered_; }
  uint64_t reads() const { return reads_; }

  // Posts that many further requests, with one doorbell.
  std::expected<void, Error> Post(uint64_t count) {
    for (; count > 0; --count, ++posted_) {
      const uint64_t slot = SlotOf(posted_);
      if (has_requests()) {
        Fill(Which::kRequest, NumberOf(posted_), endpoint_->outbox(slot), endpoint_->word_count());
      }
      auto added = endpoint_->Send(combination_->request, slot);
      if (added && combination_->has_reads()) {
        ++reads_;
        added = endpoint_->Read(slot, posted_);
      }
      if (!added) return added;
    }
    return endpoint_->Flush();
  }

  // Takes the replies that have come, in their order. kCorrupt: one is wrong.
  std::expected<void, Error> Poll() {
    if (is_sent()) return PollReceives();
    if (combination_->has_reads()) return PollReads();
    while (answered_ < posted_ && HasReply(answered_)) ++answered_;
    return {};
  }

  // Why the oldest request has no reply: what is in its place is no reply, or not this one's.
  std::string Missing() const {
    const uint64_t slot = SlotOf(answered_);
    const uint64_t last = verify::LoadWord(endpoint_->inbox(slot) + endpoint_->word_count() - 1);
    const char* what = last == NumberOf(answered_) ? " came, and is wrong" : " never came";
    return std::string(combination_->name) + ": the reply to request " + std::to_string(answered_) +
           what;
  }

 private:
  bool has_requests() const { return combination_->request != By::kNothing; }
  bool is_sent() const {
    return combination_->reply == By::kSend || combination_->reply == By::kSendUd;
  }
  uint64_t SlotOf(uint64_t operation) const { return operation % window_; }

  bool HasReply(uint64_t operation) const {
    const uint64_t slot = SlotOf(operation);
    const uint64_t number = NumberOf(has_requests() ? operation : slot);
    return IsWhole(Which::kReply, number, endpoint_->inbox(slot), endpoint_->word_count());
  }

  // The n-th reply is in the buffer that was posted n-th.
  std::expected<void, Error> PollReceives() {
    while (answered_ < posted_) {
      const auto slot = endpoint_->PollReceive();
      if (!slot) return std::unexpected(slot.error());
      if (!*slot) return {};
      if (**slot != SlotOf(answered_) || !HasReply(answered_)) return Wrong(answered_);
      auto posted = endpoint_->PostReceive(**slot, Endpoint::Into::kSlot);
      if (!posted) return posted;
      ++answered_;
    }
    return {};
  }

  // What a READ found may be too early; then it is READ again.
  std::expected<void, Error> PollReads() {
    if (auto polled = endpoint_->PollSends(&done_); !polled) return polled;
    if (done_.empty()) return {};
    for (const uint64_t operation : done_) {
      if (HasReply(operation)) {
        arrived_[SlotOf(operation)] = true;
        continue;
      }
      if (!has_requests()) return Wrong(operation);
      ++reads_;
      if (auto added = endpoint_->Read(SlotOf(operation), operation); !added) return added;
    }
    done_.clear();
    for (; answered_ < posted_ && arrived_[SlotOf(answered_)]; ++answered_) {
      arrived_[SlotOf(answered_)] = false;
    }
    return endpoint_->Flush();
  }

  std::unexpected<Error> Wrong(uint64_t operation) const {
    return Fail(Code::kCorrupt, std::string(combination_->name) + ": the reply to request " +
                                    std::to_string(operation) + " is not the right one");
  }

  Endpoint* endpoint_;
  const Combination* combination_;
  uint64_t window_;
  uint64_t posted_ = 0;
  uint64_t answered_ = 0;
  uint64_t reads_ = 0;
  std::vector<uint64_t> done_;  // READs
  std::vector<bool> arrived_;   // of the operations in flight, by slot
};

// Keeps a window of requests in flight for as long as the run says.
class Load {
 public:
  Load(Requester* requester, const Run& run) : requester_(requester), run_(run) {}

  // Counts from the end of the warm-up to the end of the time, and one request at least.
  std::expected<RunResult, Error> Execute() {
    Clock::time_point now = progress_at_ = Clock::now();
    Clock::time_point begin = now + run_.duration / kWarmUpPart;
    Clock::time_point end = begin + run_.duration;
    uint64_t first = 0;
    RunResult result;
    while (result.operations == 0 || requester_->answered() < requester_->posted()) {
      if (!counts_ && now >= begin) {
        counts_ = true;
        begin = now;
        end = now + run_.duration;
        first = requester_->answered();
      }
      const uint64_t room = run_.window - (requester_->posted() - requester_->answered());
      if (room > 0 && result.operations == 0) {
        posted_at_ = now;
        if (auto posted = requester_->Post(room); !posted) return std::unexpected(posted.error());
      }
      const auto came = Step();
      if (!came) return std::unexpected(came.error());
      now = Clock::now();
      if (*came) Record(now);
      if (now - progress_at_ > kReplyWithin) return Fail(Code::kTimeout, requester_->Missing());
      if (counts_ && now >= end && result.operations == 0) {
        result.operations = requester_->answered() - first;
        result.seconds = std::chrono::duration<double>(now - begin).count();
      }
    }
    result.median_us = static_cast<double>(latency_.Percentile(0.5)) / 1e3;
    result.p99_us = static_cast<double>(latency_.Percentile(0.99)) / 1e3;
    // Of the whole run: a request under way at the end of the warm-up may have posted its READs
    // before.
    result.reads =
        static_cast<double>(requester_->reads()) / static_cast<double>(requester_->answered());
    return result;
  }

 private:
  // Whether replies have come.
  std::expected<bool, Error> Step() {
    const uint64_t before = requester_->answered();
    if (auto polled = requester_->Poll(); !polled) return std::unexpected(polled.error());
    if (requester_->answered() != before) return true;
    if (++empty_polls_ % kPollsPerYield == 0) std::this_thread::yield();
    return false;
  }

  void Record(Clock::time_point now) {
    progress_at_ = now;
    if (counts_ && run_.window == 1) {
      const std::chrono::nanoseconds taken = now - posted_at_;
      latency_.Count(static_cast<uint64_t>(taken.count()));
    }
  }

  Requester* requester_;
  const Run& run_;
  Clock::time_point posted_at_{};
  Clock::time_point progress_at_{};
  uint32_t empty_polls_ = 0;
  bool counts_ = false;
  Histogram latency_;  // of single requests
};

class VerbsMeasurer final : public Measurer {
 public:
  VerbsMeasurer(Device device, fabric::Fd stream)
      : device_(std::move(device)), stream_(std::move(stream)) {}

  std::string device() const override { return device_.name; }

  // What the server has to say of a run that failed is nearer to the cause.
  std::expected<RunResult, Error> Measure(const Run& run) override {
    auto endpoint = Endpoint::Create(device_, run, Side::kClient);
    if (!endpoint) return std::unexpected(endpoint.error());
    Requester requester(&*endpoint, run);
    if (auto opened = requester.Open(); !opened) return std::unexpected(opened.error());
    if (auto begun = Begin(run, &*endpoint); !begun) return std::unexpected(begun.error());
    auto result = Load(&requester, run).Execute();
    if (auto sent = stream_.Send(Stop()); !sent) return std::unexpected(sent.error());
    const auto report = stream_.Receive<Report>(kWithin);
    if (!report) return std::unexpected(report.error());
    if (auto outcome = OutcomeOf(report->outcome); !outcome)
      return std::unexpected(outcome.error());
    if (!result) return result;
    const bool is_served = run.combination->request != By::kNothing;
    if (is_served && report->replies != requester.answered()) {
      return Fail(Code::kCorrupt, "the server replied " + std::to_string(report->replies) +
                                      " times to " + std::to_string(requester.answered()) +
                                      " requests");
    }
    result->server_cpu_us = static_cast<double>(report->cpu_ns) / 1000 /
                            std::max(1.0, static_cast<double>(requester.answered()));
    return result;
  }

 private:
  std::expected<void, Error> Begin(const Run& run, Endpoint* endpoint) {
    Order order;
    order.combination = static_cast<uint32_t>(run.combination - kCombinations.data());
    order.bytes = run.bytes;
    order.window = run.window;
    if (auto sent = stream_.Send(order); !sent) return sent;
    if (auto sent = stream_.Send(endpoint->introduction()); !sent) return sent;
    const auto answer = stream_.Receive<Answer>(kWithin);
    if (!answer) return std::unexpected(answer.error());
    if (auto ready = OutcomeOf(answer->outcome); !ready) return ready;
    return endpoint->Connect(answer->introduction);
  }

  Device device_;
  Stream stream_;
};

}  // namespace

std::expected<std::unique_ptr<Measurer>, Error> Measurer::Create(const WantedDevice& wanted,
                                                                 fabric::Fd stream) {
  auto device = Device::Open(wanted);
  if (!device) return std::unexpected(device.error());
  return std::make_unique<VerbsMeasurer>(std::move(*device), std::move(stream));
}

}  // namespace plov::bench
