#include "bench/load/choice.h"

#include <cmath>

namespace plov::bench {

namespace {

// (exp(x) - 1) / x and log(1 + x) / x, also near 0.
double ExpPart(double x) { return std::abs(x) < 1e-8 ? 1 + x / 2 : std::expm1(x) / x; }
double LogPart(double x) { return std::abs(x) < 1e-8 ? 1 - x / 2 : std::log1p(x) / x; }

double UnitInterval(program::Random* random) {
  return static_cast<double>(random->Next() >> 11) * 0x1p-53;
}

// A prime beyond every count: multiplication by it permutes the numbers below the count.
constexpr uint64_t kScramblePrime = 2'305'843'009'213'693'951;  // 2^61 - 1

uint64_t Scrambled(uint64_t rank, uint64_t count) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(rank) * kScramblePrime % count);
}

uint64_t BelowLarge(program::Random* random, uint64_t limit) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(random->Next()) * limit >> 64);
}

}  // namespace

Zipf::Zipf(uint64_t count, double exponent)
    : count_(static_cast<double>(count)),
      exponent_(exponent),
      integral_of_first_(Integral(1.5) - 1),
      integral_of_last_(Integral(count_ + 0.5)),
      shortcut_(2 - InverseIntegral(Integral(2.5) - std::pow(2, -exponent))) {}

// Of x^-exponent, from 1.
double Zipf::Integral(double x) const {
  const double log = std::log(x);
  return ExpPart((1 - exponent_) * log) * log;
}

double Zipf::InverseIntegral(double y) const {
  const double t = std::max(-1.0, y * (1 - exponent_));
  return std::exp(LogPart(t) * y);
}

uint64_t Zipf::Next(program::Random* random) const {
  for (;;) {
    const double y =
        integral_of_last_ + UnitInterval(random) * (integral_of_first_ - integral_of_last_);
    const double x = InverseIntegral(y);
    const double rank = std::clamp(std::round(x), 1.0, count_);
    if (rank - x <= shortcut_ || y >= Integral(rank + 0.5) - std::pow(rank, -exponent_)) {
      return static_cast<uint64_t>(rank) - 1;
    }
  }
}

Choice::Choice(Popularity popularity, double exponent, uint64_t count, uint64_t seed)
    : popularity_(popularity),
      first_count_(count),
      count_(count),
      zipf_(count, popularity == Popularity::kUniform ? 1 : exponent),
      random_(seed) {}

uint64_t Choice::Next() {
  switch (popularity_) {
    case Popularity::kUniform:
      return BelowLarge(&random_, count_);
    case Popularity::kZipf:
      return Scrambled(zipf_.Next(&random_), first_count_);
    case Popularity::kLatest:
      return count_ - 1 - zipf_.Next(&random_);
  }
  return 0;
}

}  // namespace plov::bench
