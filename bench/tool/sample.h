// Sample: what the rounds of one measurement came to.
#pragma once

#include <algorithm>
#include <vector>

namespace plov::bench {

class Sample {
 public:
  void Add(double value) { values_.push_back(value); }
  bool empty() const { return values_.empty(); }
  size_t size() const { return values_.size(); }

  // Of an empty sample 0; of an even number of values the mean of the middle two.
  double median() const {
    if (empty()) return 0;
    std::vector<double> sorted = values_;
    std::ranges::sort(sorted);
    const size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }
  double last() const { return values_.back(); }  // not of an empty sample
  double least() const { return empty() ? 0 : std::ranges::min(values_); }
  double most() const { return empty() ? 0 : std::ranges::max(values_); }

 private:
  std::vector<double> values_;
};

}  // namespace plov::bench
