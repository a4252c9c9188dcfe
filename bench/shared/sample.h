// Sample: the results of the rounds of one measurement.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "program/json.h"

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
  double at(size_t round) const { return values_.at(round); }

 private:
  std::vector<double> values_;
};

// Round by round, of two samples of the same rounds.
inline Sample RatiosOf(const Sample& ours, const Sample& theirs) {
  Sample ratios;
  for (size_t round = 0; round < ours.size(); ++round) {
    ratios.Add(ours.at(round) / theirs.at(round));
  }
  return ratios;
}

// Median, least and most.
inline void to_json(program::Json& json, const Sample& sample) {
  json = {{"median", sample.median()}, {"least", sample.least()}, {"most", sample.most()}};
}

// "least..most", each as `shown` writes it.
inline std::string SpreadOf(const Sample& sample, std::string (*shown)(double)) {
  return shown(sample.least()) + ".." + shown(sample.most());
}

}  // namespace plov::bench
