#include "bench/load/histogram.h"

#include <algorithm>
#include <cmath>

namespace plov::bench {

// The highest value that is counted at `index`.
uint64_t Histogram::HighestOf(size_t index) {
  if (index < 2 * kParts) return index;
  const auto shift = (index >> kPartBits) - 1;
  const uint64_t part = (index & (kParts - 1)) + kParts;
  return ((part + 1) << shift) - 1;
}

void Histogram::Add(const Histogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  most_ = std::max(most_, other.most_);
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

uint64_t Histogram::Percentile(double part) const {
  if (count_ == 0) return 0;
  const auto wanted = static_cast<uint64_t>(std::ceil(part * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= std::max<uint64_t>(wanted, 1)) return std::min(HighestOf(i), most_);
  }
  return most_;
}

std::vector<std::pair<uint64_t, uint64_t>> Histogram::Counts() const {
  std::vector<std::pair<uint64_t, uint64_t>> counts;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) counts.emplace_back(std::min(HighestOf(i), most_), counts_[i]);
  }
  return counts;
}

}  // namespace plov::bench
