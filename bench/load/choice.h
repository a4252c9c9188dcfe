// Choice: which item the next operation is for.
//
// Threads: one each. Cost: a few dozen nanoseconds, without tables.
#pragma once

#include <algorithm>
#include <cstdint>

#include "program/random.h"

namespace plov::bench {

// Ranks 0.. from most to least frequent; rank r with a frequency proportional to 1/(r +
// 1)^exponent.
//
// Source: rejection-inversion; Hoermann, Derflinger, "Rejection-inversion to generate variates from
//         monotone discrete distributions", ACM TOMACS 6(3), 1996.
class Zipf {
 public:
  // count: from 1 to 2^40. exponent: over 0.
  Zipf(uint64_t count, double exponent);

  uint64_t Next(program::Random* random) const;

 private:
  double Integral(double x) const;
  double InverseIntegral(double y) const;

  double count_;
  double exponent_;
  double integral_of_first_;
  double integral_of_last_;
  double shortcut_;
};

enum class Popularity : uint8_t {
  kUniform,
  kZipf,    // the popular ones are spread over the items, as YCSB scrambles them
  kLatest,  // the newest are the most popular, as in YCSB D
};

// How popular YCSB's items are.
inline constexpr double kYcsbExponent = 0.99;

class Choice {
 public:
  // count: items there are at first, at least 1.
  Choice(Popularity popularity, double exponent, uint64_t count, uint64_t seed);

  uint64_t Next();

  // There are this many items now; those that are new have the next numbers.
  void GrowTo(uint64_t count) { count_ = std::max(count_, count); }

 private:
  Popularity popularity_;
  uint64_t first_count_;
  uint64_t count_;
  Zipf zipf_;
  program::Random random_;
};

}  // namespace plov::bench
