// Totals: what all workers have done, and how the door is.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "door/counters.h"
#include "metrics/samples.h"

namespace plov::door {

struct Totals {
  std::array<uint64_t, static_cast<size_t>(Count::kCount)> counts{};
  size_t threads = 0;
  size_t clients_max = 0;
  size_t memory_used_bytes = 0;
  size_t memory_limit_bytes = 0;
  size_t item_bytes_max = 0;
  std::chrono::seconds uptime{0};

  uint64_t operator[](Count which) const { return counts[static_cast<size_t>(which)]; }
  void Add(const Counters& counters) {
    for (size_t i = 0; i < counts.size(); ++i) counts[i] += counters[static_cast<Count>(i)];
  }
};

// As Prometheus has them, plov_door_....
std::vector<metrics::SampleFamily> SamplesOf(const Totals& totals);

}  // namespace plov::door
