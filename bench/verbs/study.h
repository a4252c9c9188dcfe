// Study: every combination of verbs at every size and window, in rounds, and how it is shown.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/page/page.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"
#include "bench/verbs/measure.h"

namespace plov::bench {

struct VerbsSettings : RoundSettings {
  VerbsSettings() : RoundSettings(3, std::chrono::milliseconds(300)) {}

  bool is_server = false;  // of a client on another machine
  std::string host;        // of the server, where that is another machine; empty: both are here
  uint16_t port = 7471;
  WantedDevice device;
  std::vector<const Combination*> combinations;
  std::vector<uint32_t> bytes = {16, 64, 256, 1024};
  std::vector<uint32_t> windows = {1, 4, 16, 32};  // ascending, 1 among them: latency
};

struct VerbsRow {
  const Combination* combination = nullptr;
  uint32_t bytes = 0;
  uint32_t window = 0;
  Sample rate = {};  // requests a second
  Sample median_us = {};
  Sample p99_us = {};
  Sample server_cpu_us = {};
  Sample reads = {};
  std::string unsupported = {};  // why; empty where it was measured
};

struct VerbsStudy {
  VerbsSettings settings;
  std::string device;
  std::vector<VerbsRow> rows;
};

// Rounds go over all rows, so that a machine that is slow for a while is slow for all of them.
// Errors: as Measure's but for kInvalidArgument, which a row tells of.
std::expected<VerbsStudy, Error> Study(Measurer* measurer, const VerbsSettings& settings);

Page PageOf(const VerbsStudy& study);
program::Json JsonOf(const VerbsStudy& study);

}  // namespace plov::bench
