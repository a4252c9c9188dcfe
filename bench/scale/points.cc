#include "bench/scale/points.h"

#include <algorithm>
#include <array>

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

// What an axis changes, and where.
struct Places {
  uint64_t ScalePoint::*member;
  std::vector<uint64_t> places;
  std::vector<uint64_t> quick_places;
};

const Places& PlacesOf(ScaleAxis axis) {
  static const std::array<Places, kScaleAxisNames.size()> kPlaces = {
      {{&ScalePoint::items, {10'000, 100'000, 1'000'000, 10'000'000, 100'000'000}, {1000, 10'000}},
       {&ScalePoint::value_bytes, {8, 64, 512, 4096, 32 << 10, 256 << 10, 1 << 20}, {8, 4096}},
       {&ScalePoint::clients, {1, 2, 4, 8}, {1, 2}},
       {&ScalePoint::shards, {1, 2, 4}, {1, 2}}}};
  return kPlaces.at(static_cast<size_t>(axis));
}

std::vector<ScalePoint> PointsAt(ScaleAxis axis, const ScalePoint& base,
                                 const std::vector<uint64_t>& places) {
  std::vector<ScalePoint> points;
  for (const uint64_t place : places) {
    ScalePoint point = base;
    point.*PlacesOf(axis).member = place;
    if (axis == ScaleAxis::kValues) {
      const uint64_t fit = kPayloadMax / (ScalePoint::kKeyBytes + place);
      point.items = std::min(point.items, std::max(kItemsMin, fit));
    }
    points.push_back(point);
  }
  return points;
}

}  // namespace

uint64_t ScalePoint::On(ScaleAxis axis) const { return this->*PlacesOf(axis).member; }

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
  auto points = PointsAt(axis, {}, PlacesOf(axis).places);
  if (axis != ScaleAxis::kItems || points.back().need_bytes() <= memory_bytes) return points;
  for (const uint64_t items : {50'000'000ul, 20'000'000ul}) {
    const ScalePoint point{.items = items};
    if (point.need_bytes() > memory_bytes) continue;
    points.insert(points.end() - 1, point);
    break;
  }
  return points;
}

std::vector<ScalePoint> QuickPointsOf(ScaleAxis axis) {
  return PointsAt(axis, {.items = 1000}, PlacesOf(axis).quick_places);
}

}  // namespace plov::bench
