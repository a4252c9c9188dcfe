// Random: where every choice of a simulated run comes from. One seed, one sequence, on any machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "program/random.h"

namespace plov::sim {

class Random : private program::Random {
 public:
  using program::Random::Next;
  using program::Random::Random;

  // 0 .. n - 1; n > 0, far below 2^32.
  uint32_t Below(size_t n) { return static_cast<uint32_t>(program::Random::Below(n)); }
  // low .. high, both included.
  uint32_t Between(uint32_t low, uint32_t high) { return low + Below(size_t{high} - low + 1); }
  bool OneIn(size_t n) { return Below(n) == 0; }

  template <typename Container>
  auto& Pick(Container& container) {
    return container[Below(container.size())];
  }
};

}  // namespace plov::sim
