// ScaleStudy: what operations cost at every point, and how it is shown.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "bench/page/page.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

// The loads are measured one axis at a time.
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

// How operations are made.
struct Pace {
  std::string_view name;
  bool puts;
  bool knows;  // where items are, but for those that its cache has not met
  bool many;   // a window of kScaleWindow
};

inline constexpr uint32_t kScaleWindow = 32;
inline constexpr auto kPaces = std::to_array<Pace>({
    {"GET", false, false, false},
    {"GET, window 32", false, false, true},
    {"GET, known", false, true, false},
    {"GET, known, window 32", false, true, true},
    {"PUT", true, false, false},
    {"PUT, window 32", true, false, true},
});

struct PaceResult {
  Sample per_second = {};
  Sample p50_us = {};  // of calls, one at a time
  Sample p99_us = {};
  Sample reads = {};          // for each GET
  Sample server_cpu_us = {};  // for each operation: seconds for a million
};

struct ScaleRow {
  ScalePoint point = {};
  std::string skipped = {};  // why; empty where it was measured
  double load_seconds = 0;
  double memory_per_item = 0;  // of the server, table and record, bytes
  std::array<PaceResult, kPaces.size()> paces = {};
};

struct ScaleSettings : StudySettings {
  ScaleSettings() : StudySettings(3, std::chrono::milliseconds(500)) {}

  std::vector<ScaleAxis> axes;
  uint64_t memory_bytes = 0;  // for server and clients
  std::string markdown;       // a file; empty: none
};

struct ScaleStudy {
  ScaleSettings settings;
  std::vector<ScaleRow> rows;  // each point once, whichever axes it is on

  // Those of an axis, in order.
  std::vector<const ScaleRow*> RowsOf(ScaleAxis axis) const;
};

std::vector<ScalePoint> PointsOf(ScaleAxis axis, const ScaleSettings& settings);

// A server for each point, one after the other; all rounds of a point on the same one. Points that
// need more than the settings' memory are skipped. Errors: those of server and clients.
std::expected<ScaleStudy, Error> StudyScale(const ScaleSettings& settings);

Page PageOf(const ScaleStudy& study);
program::Json JsonOf(const ScaleStudy& study);

}  // namespace plov::bench
