// EvictStudy: how many GETs find their item in a memory that is too small for all items: of plov, of memcached
// with as much memory, and of the policy that both come near, LRU.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/evict/requests.h"
#include "bench/page/page.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

struct EvictSettings : StudySettings {
  EvictSettings() : StudySettings(1, std::chrono::seconds(10)) {}

  uint64_t memory_bytes = uint64_t{16} << 20;
  std::vector<EvictWorkload> workloads = {};
};

// Of one side, round by round.
struct EvictSide {
  Sample hit_ratio = {};  // parts of the GETs
  Sample items;           // that it held at the end
  uint64_t refused = 0;   // PUTs for which there was no room
};

struct EvictRow {
  EvictWorkload workload;
  EvictSide plov = {};
  EvictSide memcached = {};  // empty: skipped
  EvictSide lru = {};        // of as many items as plov

  bool compares() const { return !memcached.hit_ratio.empty(); }
  // What plov's ratio is below memcached's by, in the median; above it is less than 0.
  double behind() const { return memcached.hit_ratio.median() - plov.hit_ratio.median(); }
  bool is_as_good() const;
};

struct EvictStudy {
  EvictSettings settings;
  std::string skipped;  // why there is no memcached
  std::vector<EvictRow> rows;
};

// Errors: the servers' and the clients'.
std::expected<EvictStudy, Error> StudyEvict(const EvictSettings& settings);

void to_json(program::Json& json, const EvictRow& row);
Page PageOf(const EvictStudy& study);
program::Json JsonOf(const EvictStudy& study);

}  // namespace plov::bench
