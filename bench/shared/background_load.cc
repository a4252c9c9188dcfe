#include "bench/shared/background_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <thread>

#include "bench/load/clock.h"
#include "fabric/os.h"
#include "verify/seal.h"

namespace plov::bench {

namespace {

constexpr int kSteps = 5'000'000;
// Another program that wants one of the processors all the time makes it 2.
constexpr double kDisturbedFrom = 1.25;

// Numbers of rounds, from 1 on.
std::vector<size_t> DisturbedOf(const std::vector<double>& slowdowns) {
  std::vector<size_t> rounds;
  for (size_t i = 0; i < slowdowns.size(); ++i) {
    if (slowdowns[i] >= kDisturbedFrom) rounds.push_back(i + 1);
  }
  return rounds;
}

// Returns the thread's own time in ns.
int64_t Loop() {
  const int64_t began_ns = ThreadCpuNs();
  uint64_t x = 1;
  for (int i = 0; i < kSteps; ++i) x = verify::Mix(x + 1);
  __asm__ __volatile__("" : : "r"(x));  // somebody wants it
  return ThreadCpuNs() - began_ns;
}

}  // namespace

double BackgroundLoad::Measure() {
  using Clock = std::chrono::steady_clock;
  const uint32_t count = fabric::ProcessorCount();
  Clock::time_point began;
  std::barrier all(count, [&began]() noexcept { began = Clock::now(); });
  std::vector<int64_t> own_ns(count);
  std::vector<Clock::time_point> ended(count);
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      all.arrive_and_wait();
      own_ns[i] = Loop();
      ended[i] = Clock::now();
    });
  }
  threads.clear();
  const double best = static_cast<double>(std::ranges::min(own_ns)) / 1e9;
  best_seconds_ = best_seconds_ == 0 ? best : std::min(best_seconds_, best);
  return std::chrono::duration<double>(std::ranges::max(ended) - began).count();
}

void BackgroundLoad::EndRound(bool counts) {
  if (!counts) seconds_.clear();
  seconds_.push_back(Measure());
}

std::vector<double> BackgroundLoad::Slowdowns() const {
  std::vector<double> slowdowns;
  for (size_t i = 1; i < seconds_.size(); ++i) {
    slowdowns.push_back(std::max(seconds_[i - 1], seconds_[i]) / best_seconds_);
  }
  return slowdowns;
}

std::string BackgroundLoad::TextOf(const std::vector<double>& slowdowns) {
  const std::vector<size_t> disturbed = DisturbedOf(slowdowns);
  if (disturbed.empty()) return "no other work disturbed a round";
  const bool is_one = disturbed.size() == 1;
  std::string text = is_one ? "other work disturbed round" : "other work disturbed rounds";
  for (const size_t round : disturbed) {
    text += fmt::format("{} {}", round == disturbed[0] ? "" : ",", round);
  }
  return text + fmt::format(": a loop beside {} {:.1f} times as long",
                            is_one ? "it took" : "them took up to", std::ranges::max(slowdowns));
}

void to_json(program::Json& json, const BackgroundLoad& load) {
  json = {{"slowdowns", load.Slowdowns()}, {"disturbed_rounds", DisturbedOf(load.Slowdowns())}};
}

}  // namespace plov::bench
