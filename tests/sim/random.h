// Random: where every choice of a simulated run comes from. One seed, one sequence, on any machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace plov::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
  uint64_t Next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  // 0 .. n - 1; n > 0, far below 2^32.
  uint32_t Below(size_t n) { return static_cast<uint32_t>(((Next() >> 32) * n) >> 32); }
  // low .. high, both included.
  uint32_t Between(uint32_t low, uint32_t high) { return low + Below(size_t{high} - low + 1); }
  bool OneIn(size_t n) { return Below(n) == 0; }

  template <typename Container>
  auto& Pick(Container& container) {
    return container[Below(container.size())];
  }

 private:
  uint64_t state_;
};

}  // namespace plov::sim
