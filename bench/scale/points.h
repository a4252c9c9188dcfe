// ScalePoints: the loads at which `plov-bench scale` measures, one axis at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace plov::bench {

enum class ScaleAxis : uint8_t { kItems, kValues, kClients, kShards };

inline constexpr auto kScaleAxisNames =
    std::to_array<std::string_view>({"items", "values", "clients", "shards"});

constexpr std::string_view NameOf(ScaleAxis axis) {
  return kScaleAxisNames[static_cast<size_t>(axis)];
}

struct ScalePoint {
  static constexpr uint32_t kKeyBytes = 16;

  uint64_t items = 1'000'000;
  uint64_t value_bytes = 64;
  uint64_t clients = 1;
  uint64_t shards = 1;

  bool operator==(const ScalePoint&) const = default;

  // Where it stands on the axis.
  uint64_t On(ScaleAxis axis) const;

  uint64_t payload_bytes() const { return items * (kKeyBytes + value_bytes); }
  // Of each client, so that it can know where all items are; bounded.
  uint64_t cache_bytes() const;
  // What the server may take, generously: memory is taken as it is used.
  uint64_t server_bytes() const;
  // What server and clients come to use, about.
  uint64_t need_bytes() const;
};

// The points of an axis, from the least; the others' values are those of ScalePoint. Of large
// values there are fewer items, so that they are no more than a GiB together.
//
// memory_bytes: what may be used. Where the most items do not fit, the largest number of 2, 5 or 10
//               times a power of ten that fits comes before them.
std::vector<ScalePoint> PointsOf(ScaleAxis axis, uint64_t memory_bytes);

// Few and small ones, to see that it works.
std::vector<ScalePoint> QuickPointsOf(ScaleAxis axis);

}  // namespace plov::bench
