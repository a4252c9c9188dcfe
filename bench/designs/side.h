// Side: one design's client, measured like the others'.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/designs/layout.h"
#include "bench/load/histogram.h"
#include "bench/peers/work.h"
#include "verify/error.h"

namespace plov::bench {

// The result of GETs (or PUTs). Reads: one-sided READs, or messages both ways; bytes of their
// payloads.
struct SideResult {
  uint64_t gets = 0;
  double seconds = 0;
  uint64_t reads = 0;
  uint64_t bucket_reads = 0;  // those of them that plov makes of buckets
  uint64_t bytes = 0;
  Histogram latency;  // of single GETs, only one at a time

  void Add(const SideResult& later);
};

// Threads: one.
class Side {
 public:
  virtual ~Side() = default;

  // Gets items for a time, `window` in flight. Errors: kCorrupt (a wrong value), the fabric's.
  virtual std::expected<SideResult, Error> Measure(uint32_t window,
                                                   std::chrono::microseconds duration) = 0;
};

inline constexpr uint32_t kSideWindowMax = 64;

// `work` outlives the side, here and below.
struct EmulationOptions {
  Design design = Design::kPilaf;
  // Of StartDesignServer's; more than one for messages alone: each has its part of the items.
  std::vector<std::string> uris;
  size_t first = 0;  // where in the work's order it begins
};
std::expected<std::unique_ptr<Side>, Error> ConnectEmulation(const EmulationOptions& options,
                                                             const Work& work);

// Ours: plov's client library and a plovd that already runs.
struct OursOptions {
  std::string uri;
  bool remembers = false;  // where items are; known of all of them before anything is measured
  bool puts = false;       // PUTs of the same items instead: no READs are counted, no latency
  size_t first = 0;        // where in the work's order it begins
  // Called about once for a thousand items while it gets to know where they are; may be empty.
  std::function<void(size_t items)> learned;
};
std::unique_ptr<Side> OursOn(const OursOptions& options, const Work& work);

}  // namespace plov::bench
