// CommitTimes: how long the disk took for each commit, as a histogram.
//
// Threads: one adds, any reads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace plov::log {

class CommitTimes {
 public:
  void Add(uint64_t us) {
    Increase(&counts_[BucketOf(us)], 1);
    Increase(&sum_us_, us);
    if (us > max_us_.load(std::memory_order_relaxed)) max_us_.store(us, std::memory_order_relaxed);
  }

  // The time within which `part` of all commits were done, as the upper end of its bucket, at most an
  // eighth too high; 0 when there was none.
  uint64_t Quantile(double part) const {
    uint64_t count = 0;
    for (const auto& bucket : counts_) count += bucket.load(std::memory_order_relaxed);
    // The commit that is asked for has so many before it.
    auto left =
        static_cast<uint64_t>(std::max(1.0, std::ceil(part * static_cast<double>(count)))) - 1;
    for (size_t i = 0; count > 0 && i < kBuckets; ++i) {
      const uint64_t here = counts_[i].load(std::memory_order_relaxed);
      if (here > left) return std::min(EndOf(i), max_us());
      left -= here;
    }
    return max_us();
  }
  uint64_t max_us() const { return max_us_.load(std::memory_order_relaxed); }
  uint64_t sum_us() const { return sum_us_.load(std::memory_order_relaxed); }
  // How many took so many bits of microseconds: 0, 1, 2 and 3, 4 to 7 ...
  uint64_t CountOfWidth(size_t bits) const {
    const uint64_t first = bits == 0 ? 0 : uint64_t{1} << (bits - 1);
    const uint64_t last = (uint64_t{1} << bits) - 1;
    uint64_t count = 0;
    for (size_t i = BucketOf(first); i <= BucketOf(last); ++i) {
      count += counts_[i].load(std::memory_order_relaxed);
    }
    return count;
  }

 private:
  // Eight buckets for each power of two.
  static constexpr size_t kBuckets = 8 * 40;

  static constexpr size_t BucketOf(uint64_t us) {
    if (us < 8) return us;
    const auto power = static_cast<size_t>(std::bit_width(us)) - 4;
    return std::min(kBuckets - 1, 8 * power + (us >> power));
  }
  static constexpr uint64_t EndOf(size_t bucket) {
    if (bucket < 16) return bucket;
    const size_t power = bucket / 8 - 1;
    return ((bucket % 8 + 9) << power) - 1;
  }
  // One thread adds, so no read-modify-write.
  static void Increase(std::atomic<uint64_t>* counter, uint64_t by) {
    counter->store(counter->load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, kBuckets> counts_{};
  std::atomic<uint64_t> max_us_ = 0;
  std::atomic<uint64_t> sum_us_ = 0;
};

}  // namespace plov::log
