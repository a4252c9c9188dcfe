// Random: numbers that follow from a seed, the same on every machine.
//
// Source: SplitMix64; Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA
//         2014.
#pragma once

#include <cstdint>

namespace plov::program {

// The golden ratio: steps of it never come back soon.
inline constexpr uint64_t kGoldenStep = 0x9e3779b97f4a7c15;

// Neighbouring words give unlike ones.
constexpr uint64_t Mix(uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

// One multiplication-and-shift chain a number, any seed is good.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() { return Mix(state_ += kGoldenStep); }
  // limit: below 2^32.
  uint64_t Below(uint64_t limit) { return (Next() >> 32) * limit >> 32; }

 private:
  uint64_t state_;
};

}  // namespace plov::program
