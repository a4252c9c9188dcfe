// Histogram: durations in nanoseconds, counted in buckets that are no wider than 1/128 of what they
// hold, from 1 ns to half an hour.
//
// Threads: one each; Add another's afterwards.
// Cost:    a few nanoseconds to count; 37 KiB.
// Source:  Gil Tene's HdrHistogram, whose C library Debian 12 has not.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace plov::bench {

class Histogram {
 public:
  static constexpr uint64_t kMost = (uint64_t{1} << 41) - 1;

  // times: at least 1.
  void Count(uint64_t ns, uint64_t times = 1) {
    if (ns > kMost) ns = kMost;
    counts_[IndexOf(ns)] += times;
    count_ += times;
    sum_ += ns * times;
    if (ns > most_) most_ = ns;
  }
  void Add(const Histogram& other);

  uint64_t count() const { return count_; }
  uint64_t most() const { return most_; }  // exactly
  double mean() const;                     // 0 of none

  // The least value that `part` of all (0.5, 0.9999) do not exceed, rounded up by less than 1 %;
  // 0 of none.
  uint64_t Percentile(double part) const;

  // Values and how many were counted there, the empty ones left out, in order.
  std::vector<std::pair<uint64_t, uint64_t>> Counts() const;

 private:
  static constexpr size_t kPartBits = 7;
  static constexpr uint64_t kParts = uint64_t{1} << kPartBits;  // of every power of two
  static constexpr size_t kCounts = (41 - kPartBits + 1) * kParts;

  // The values below 2^(kPartBits + 1) exactly, then kParts of each power of two.
  static size_t IndexOf(uint64_t ns) {
    if (ns < kParts) return ns;
    const size_t shift = static_cast<size_t>(std::bit_width(ns)) - 1 - kPartBits;
    return (shift << kPartBits) + (ns >> shift);
  }
  static uint64_t HighestOf(size_t index);

  std::vector<uint64_t> counts_ = std::vector<uint64_t>(kCounts);
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t most_ = 0;
};

}  // namespace plov::bench
