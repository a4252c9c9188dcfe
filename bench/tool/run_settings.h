// Settings of `plov-bench run`: what its options say.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "bench/load/driver.h"
#include "bench/load/workload.h"
#include "bench/tool/command.h"
#include "bench/tool/tested_server.h"

namespace plov::bench {

struct RunSettings {
  enum class Phases : uint8_t { kLoadAndRun, kLoad, kRun };

  Workload workload;
  DriveOptions drive;  // without the server's URI
  TestedServerOptions server;
  Phases phases = Phases::kLoadAndRun;
  bool sweep = false;
  uint32_t rounds = 1;
  bool json = false;
  std::string html;  // a file; empty: none
};

// kInvalidArgument with one line that says what is wrong; kUnavailable where there is no plovd;
// kSystem where a replay cannot be read.
std::expected<RunSettings, Error> RunSettingsOf(const Given& given);

// Sets the workload by the options --workload to --reads and --replay.
Outcome FillWorkload(const Given& given, Workload* workload);

// A decimal number without a unit. nullopt: it is none.
std::optional<double> ParseDecimal(const std::string& text);

}  // namespace plov::bench
