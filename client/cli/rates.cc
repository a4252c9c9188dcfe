#include "client/cli/rates.h"

#include <algorithm>
#include <cmath>

namespace plov::cli {

namespace {

using verify::Counter;
using verify::Counters;

// Clocks and counters may seem to go back when a server has started anew.
uint64_t Difference(uint64_t from, uint64_t to) { return to > from ? to - from : 0; }

uint64_t Known(uint64_t value) { return value == UINT64_MAX ? 0 : value; }

verify::Times Difference(const verify::Times& from, const verify::Times& to) {
  verify::Times times{.counts = {}, .sum_us = Difference(from.sum_us, to.sum_us)};
  for (size_t i = 0; i < times.counts.size(); ++i) {
    times.counts[i] = Difference(from.counts[i], to.counts[i]);
  }
  return times;
}

bool IsSame(const Sample& one, const Sample& other) {
  return std::ranges::equal(one.shards, other.shards, [](const Counters& a, const Counters& b) {
    return a.values == b.values;
  });
}

}  // namespace

Sample Sample::Of(const std::vector<std::string>& texts) {
  Sample sample;
  for (const std::string& text : texts) {
    verify::ToldCounters told = verify::CountersOf(text);
    sample.clock_us = std::max(sample.clock_us, told.unix_us);
    sample.shards.push_back(std::move(told.counters));
  }
  sample.total = verify::TotalOf(sample.shards);
  return sample;
}

std::optional<double> Rates::cpu_per_million_gets() const {
  if (!reported || reported->gets <= 0) return std::nullopt;
  return reported->cpu / reported->gets * 1e6;
}

Rates RatesBetween(const Sample& from, const Sample& to) {
  Rates rates;
  rates.seconds = static_cast<double>(Difference(from.clock_us, to.clock_us)) / 1e6;
  const auto rate = [&](const Counters& before, const Counters& after, Counter counter) {
    const uint64_t grown = Difference(Known(before[counter]), Known(after[counter]));
    return rates.seconds > 0 ? static_cast<double>(grown) / rates.seconds : 0;
  };
  const auto of_all = [&](Counter counter) { return rate(from.total, to.total, counter); };
  rates.puts = of_all(Counter::kPuts);
  rates.deletes = of_all(Counter::kDeletes);
  rates.gets_by_message = of_all(Counter::kGetsByMessage);
  rates.log_bytes = of_all(Counter::kLogBytes);
  rates.cpu = of_all(Counter::kCpuUs) / 1e6;
  rates.reported = {.gets = of_all(Counter::kReportedGets),
                    .reads = of_all(Counter::kReportedReads),
                    .torn = of_all(Counter::kReportedTorn),
                    .cpu = rates.cpu};
  const auto times = [&](verify::Histogram histogram) {
    const auto index = static_cast<size_t>(histogram);
    return Difference(from.total.histograms[index], to.total.histograms[index]);
  };
  rates.writes = times(verify::Histogram::kWrites);
  rates.commits = times(verify::Histogram::kCommits);
  for (size_t i = 0; i < std::min(from.shards.size(), to.shards.size()); ++i) {
    const auto of_shard = [&](Counter counter) {
      return rate(from.shards[i], to.shards[i], counter);
    };
    rates.shards.push_back({.number = i,
                            .requests = of_shard(Counter::kRequests),
                            .puts = of_shard(Counter::kPuts),
                            .cpu = of_shard(Counter::kCpuUs) / 1e6});
  }
  return rates;
}

std::optional<uint64_t> QuantileOf(const verify::Times& times, double part) {
  double count = 0;
  for (const uint64_t in_bucket : times.counts) count += static_cast<double>(in_bucket);
  if (count == 0) return std::nullopt;
  double left = std::max(1.0, std::ceil(part * count));
  for (size_t i = 0; i + 1 < times.counts.size(); ++i) {
    left -= static_cast<double>(times.counts[i]);
    if (left <= 0) return uint64_t{1} << i;
  }
  return UINT64_MAX;
}

Rates History::rates() const {
  if (samples_.size() > 1) {
    Rates rates = RatesBetween(samples_.front(), samples_.back());
    rates.reported = Reported();
    return rates;
  }
  const Sample& only = samples_.front();
  Sample start{.clock_us = Known(only.total[Counter::kStartedAtUs]), .shards = {}, .total = {}};
  start.shards.resize(only.shards.size());
  return RatesBetween(start, only);
}

std::optional<Rates::Reported> History::Reported() const {
  constexpr auto kSilence = std::chrono::microseconds(kReportsEvery);
  const uint64_t heard_us = reports_.empty() ? first_us_ : reports_.back().clock_us;
  if (Difference(heard_us, last().clock_us) >= static_cast<uint64_t>(kSilence.count())) {
    return Rates::Reported{};
  }
  if (reports_.size() < 2) return std::nullopt;
  return RatesBetween(reports_.front(), reports_.back()).reported;
}

void History::Add(std::deque<Sample>* samples, Sample sample, std::chrono::microseconds window) {
  samples->push_back(std::move(sample));
  const auto window_us = static_cast<uint64_t>(window.count());
  while (samples->size() > 2 &&
         Difference((*samples)[1].clock_us, samples->back().clock_us) >= window_us) {
    samples->pop_front();
  }
}

bool History::Add(Sample sample) {
  const bool is_new = !samples_.empty() &&
                      (sample.total[Counter::kStartedAtUs] != last().total[Counter::kStartedAtUs] ||
                       sample.shards.size() != last().shards.size());
  if (is_new) {
    samples_.clear();
    reports_.clear();
  }
  if (samples_.empty()) first_us_ = sample.clock_us;
  if (samples_.empty() || !IsSame(sample, last())) moved_at_us_ = sample.clock_us;
  if (!samples_.empty() &&
      sample.total[Counter::kReportedGets] != last().total[Counter::kReportedGets]) {
    Add(&reports_, sample, kReportsWithin);
  }
  // By exchanges with the server its clock is known better and better, and may seem to go back.
  moved_at_us_ = std::min(moved_at_us_, sample.clock_us);
  Add(&samples_, std::move(sample), window_);
  return is_new;
}

}  // namespace plov::cli
