// Random: where every choice of a simulated run comes from. One seed, one sequence, on any machine.
#pragma once

#include <cstddef>
#include <cstdint>

#include "torture/random.h"

namespace plov::sim {

class Random : private torture::Random {
 public:
  using torture::Random::Next;
  using torture::Random::Random;

  // 0 .. n - 1; n > 0, far below 2^32.
  uint32_t Below(size_t n) { return static_cast<uint32_t>(torture::Random::Below(n)); }
  // low .. high, both included.
  uint32_t Between(uint32_t low, uint32_t high) { return low + Below(size_t{high} - low + 1); }
  bool OneIn(size_t n) { return Below(n) == 0; }

  template <typename Container>
  auto& Pick(Container& container) {
    return container[Below(container.size())];
  }
};

}  // namespace plov::sim
