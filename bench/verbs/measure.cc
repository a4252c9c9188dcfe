// The client's side of the measurements.

#include "bench/verbs/measure.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "bench/load/histogram.h"
#include "bench/verbs/device.h"
#include "bench/verbs/requester.h"
#include "bench/verbs/talk.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWithin{20'000};
// A reply that takes longer is lost: on a machine in a machine they take milliseconds at times.
constexpr std::chrono::seconds kReplyWithin{10};
constexpr uint32_t kPollsPerYield = 256;
constexpr int kWarmUpPart = 10;  // a tenth of the time is not counted

// Keeps a window of requests in flight for as long as the run says.
class Load {
 public:
  Load(Requester* requester, const Run& run) : requester_(requester), run_(run) {}

  std::expected<RunResult, Error> Execute();

 private:
  std::expected<bool, Error> Step();  // whether replies have come
  void Record(Clock::time_point now);

  Requester* requester_;
  const Run& run_;
  Clock::time_point posted_at_{};
  Clock::time_point progress_at_{};
  uint32_t empty_polls_ = 0;
  bool counts_ = false;
  Histogram latency_;  // of single requests
};

void Load::Record(Clock::time_point now) {
  progress_at_ = now;
  if (counts_ && run_.window == 1) {
    const std::chrono::nanoseconds taken = now - posted_at_;
    latency_.Count(static_cast<uint64_t>(taken.count()));
  }
}

std::expected<bool, Error> Load::Step() {
  const uint64_t before = requester_->answered();
  if (auto polled = requester_->Poll(); !polled) return std::unexpected(polled.error());
  if (requester_->answered() != before) return true;
  if (++empty_polls_ % kPollsPerYield == 0) std::this_thread::yield();
  return false;
}

// Counts from the end of the warm-up to the end of the time, and one request at least.
std::expected<RunResult, Error> Load::Execute() {
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

class VerbsMeasurer final : public Measurer {
 public:
  VerbsMeasurer(Device device, fabric::Fd stream)
      : device_(std::move(device)), stream_(std::move(stream)) {}

  std::string device() const override { return device_.name; }
  std::expected<RunResult, Error> Measure(const Run& run) override;

 private:
  std::expected<void, Error> Begin(const Run& run, Endpoint* endpoint);

  Device device_;
  Stream stream_;
};

std::expected<void, Error> VerbsMeasurer::Begin(const Run& run, Endpoint* endpoint) {
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

// What the server has to say of a run that failed is nearer to the cause.
std::expected<RunResult, Error> VerbsMeasurer::Measure(const Run& run) {
  auto endpoint = Endpoint::Create(device_, run, Side::kClient);
  if (!endpoint) return std::unexpected(endpoint.error());
  Requester requester(&*endpoint, run);
  if (auto opened = requester.Open(); !opened) return std::unexpected(opened.error());
  if (auto begun = Begin(run, &*endpoint); !begun) return std::unexpected(begun.error());
  auto result = Load(&requester, run).Execute();
  if (auto sent = stream_.Send(Stop()); !sent) return std::unexpected(sent.error());
  const auto report = stream_.Receive<Report>(kWithin);
  if (!report) return std::unexpected(report.error());
  if (auto outcome = OutcomeOf(report->outcome); !outcome) return std::unexpected(outcome.error());
  if (!result) return result;
  const bool is_served = run.combination->request != RequestBy::kNothing;
  if (is_served && report->replies != requester.answered()) {
    return Fail(Code::kCorrupt, "the server replied " + std::to_string(report->replies) +
                                    " times to " + std::to_string(requester.answered()) +
                                    " requests");
  }
  result->server_cpu_us = static_cast<double>(report->cpu_ns) / 1000 /
                          std::max(1.0, static_cast<double>(requester.answered()));
  return result;
}

}  // namespace

std::expected<std::unique_ptr<Measurer>, Error> Measurer::Create(const WantedDevice& wanted,
                                                                 fabric::Fd stream) {
  auto device = Device::Open(wanted);
  if (!device) return std::unexpected(device.error());
  return std::make_unique<VerbsMeasurer>(std::move(*device), std::move(stream));
}

}  // namespace plov::bench
