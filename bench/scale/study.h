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
#include "bench/scale/points.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

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
  ScaleSettings() {
    rounds = 3;
    duration = std::chrono::milliseconds(500);
  }

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
