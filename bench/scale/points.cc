#include "bench/scale/points.h"

#include <algorithm>

#include "verify/record.h"

namespace plov::bench {

namespace {

constexpr uint64_t kPayloadMax = uint64_t{1} << 30;  // of values that are larger than usual
constexpr uint64_t kItemsMin = 1000;                 // else all are in the processor's cache
constexpr uint64_t kCacheMax = uint64_t{2} << 30;
// 32 bytes a location, in a cache that is half full.
constexpr uint64_t kCacheBytesPerItem = 64;
// A bucket of 64 bytes, in a table that is half full after it has grown, and half of another that
// is grown from.
constexpr uint64_t kTableBytesPerItem = 192;
constexpr uint64_t kBytesPerShard = uint64_t{64} << 20;
constexpr uint64_t kBytesPerClient = uint64_t{16} << 20;

ScalePoint WithValues(ScalePoint point, uint32_t value_bytes) {
  point.value_bytes = value_bytes;
  const uint64_t fit = kPayloadMax / (ScalePoint::kKeyBytes + uint64_t{value_bytes});
  point.items = std::min(point.items, std::max(kItemsMin, fit));
  return point;
}

std::vector<ScalePoint> PointsAt(ScaleAxis axis, ScalePoint base,
                                 const std::vector<uint64_t>& places) {
  std::vector<ScalePoint> points;
  for (const uint64_t place : places) {
    ScalePoint point = base;
    switch (axis) {
      case ScaleAxis::kItems:
        point.items = place;
        break;
      case ScaleAxis::kValues:
        point = WithValues(base, static_cast<uint32_t>(place));
        break;
      case ScaleAxis::kClients:
        point.clients = static_cast<uint32_t>(place);
        break;
      case ScaleAxis::kShards:
        point.shards = static_cast<uint32_t>(place);
        break;
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace

uint64_t ScalePoint::On(ScaleAxis axis) const {
  switch (axis) {
    case ScaleAxis::kItems:
      return items;
    case ScaleAxis::kValues:
      return value_bytes;
    case ScaleAxis::kClients:
      return clients;
    case ScaleAxis::kShards:
      break;
  }
  return shards;
}

uint64_t ScalePoint::cache_bytes() const {
  return std::clamp(items * kCacheBytesPerItem, uint64_t{1} << 20, kCacheMax);
}

// Twice, for what PUTs have made obsolete until it is cleaned.
uint64_t ScalePoint::server_bytes() const {
  return shards * kBytesPerShard +
         2 * items * (verify::RecordBytes(kKeyBytes, value_bytes) + kTableBytesPerItem);
}

uint64_t ScalePoint::need_bytes() const {
  const uint64_t records = items * verify::RecordBytes(kKeyBytes, value_bytes);
  return shards * kBytesPerShard + records + records / 8 + items * kTableBytesPerItem +
         clients * (cache_bytes() + kBytesPerClient);
}

std::vector<ScalePoint> PointsOf(ScaleAxis axis, uint64_t memory_bytes) {
  switch (axis) {
    case ScaleAxis::kItems:
      break;
    case ScaleAxis::kValues:
      return PointsAt(axis, {}, {8, 64, 512, 4096, 32 << 10, 256 << 10, 1 << 20});
    case ScaleAxis::kClients:
      return PointsAt(axis, {}, {1, 2, 4, 8});
    case ScaleAxis::kShards:
      return PointsAt(axis, {}, {1, 2, 4});
  }
  auto points = PointsAt(axis, {}, {10'000, 100'000, 1'000'000, 10'000'000, 100'000'000});
  if (points.back().need_bytes() <= memory_bytes) return points;
  for (const uint64_t items : {50'000'000ul, 20'000'000ul}) {
    ScalePoint point;
    point.items = items;
    if (point.need_bytes() > memory_bytes) continue;
    points.insert(points.end() - 1, point);
    break;
  }
  return points;
}

std::vector<ScalePoint> QuickPointsOf(ScaleAxis axis) {
  ScalePoint base;
  base.items = 1000;
  switch (axis) {
    case ScaleAxis::kItems:
      return PointsAt(axis, base, {1000, 10'000});
    case ScaleAxis::kValues:
      return PointsAt(axis, base, {8, 4096});
    case ScaleAxis::kClients:
    case ScaleAxis::kShards:
      break;
  }
  return PointsAt(axis, base, {1, 2});
}

}  // namespace plov::bench
