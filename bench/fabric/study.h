// FabricStudy: GETs over a fabric beside perftest's READs, in rounds, and how it is shown.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/page/page.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

// What GETs are to reach over RDMA, of what as many READs of perftest's allow.
inline constexpr double kGoal = 0.90;

struct FabricSettings : StudySettings, FabricChoice {
  FabricSettings() : StudySettings(5, std::chrono::milliseconds(500)) { is_rdma = true; }

  uint64_t items = 10'000;
  uint32_t value_bytes = 64;  // of items that lie in records
  uint32_t window = 32;
};

// perftest's READs of one size.
struct RawReads {
  uint32_t bytes = 0;
  Sample per_second = {};
  Sample typical_us = {};
  Sample p99_us = {};
};

// GETs of items of one kind.
struct GetRow {
  std::string name = {};
  uint32_t value_bytes = 0;
  bool remembers = false;
  uint32_t record_bytes = 0;  // of a READ of one; 0 where there are none
  Sample per_second = {};
  Sample bucket_reads = {};
  Sample record_reads = {};
  Sample part = {};       // of the rate that perftest's READs of these sizes and that number allow
  Sample single_us = {};  // one at a time
  Sample single_p99_us = {};
  Sample single_reads = {};
  Sample single_part = {};  // of the latency, what perftest's take for as many READs
};

struct FabricStudy {
  FabricSettings settings;
  std::string uri;
  std::string device;  // empty: no RDMA
  std::vector<GetRow> gets;
  std::vector<RawReads> raw;  // empty without RDMA

  // Whether every rate reaches the goal.
  bool reached() const;
};

// Starts the server, measures, ends it. Errors: those of device, server, clients and perftest.
std::expected<FabricStudy, Error> StudyFabric(const FabricSettings& settings);

Page PageOf(const FabricStudy& study);
program::Json JsonOf(const FabricStudy& study);

}  // namespace plov::bench
