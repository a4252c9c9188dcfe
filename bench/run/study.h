// RunStudy: a workload on a server, in rounds and at several rates, and how it is shown.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "bench/load/driver.h"
#include "bench/load/result.h"
#include "bench/load/workload.h"
#include "bench/page/page.h"
#include "bench/shared/background_load.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"
#include "bench/shared/tested_server.h"

namespace plov::bench {

struct RunSettings : OutputSettings {
  enum class Phases : uint8_t { kLoadAndRun, kLoad, kRun };

  Workload workload;
  DriveOptions drive;  // without the server's URI
  TestedServerOptions server;
  Phases phases = Phases::kLoadAndRun;
  bool sweep = false;
  uint32_t rounds = 1;
};

// Sets the workload by the options --workload to --reads and --replay.
Outcome FillWorkload(const Given& given, Workload* workload);

// A decimal number without a unit. nullopt: it is none.
std::optional<double> ParseDecimal(const std::string& text);

// Percentiles that are shown, the parts that are not slower.
struct NamedPart {
  const char* name;
  double part;
};
inline constexpr auto kPercentiles = std::to_array<NamedPart>(
    {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}});

// The load at one rate.
struct RunRow {
  double rate = 0;    // that was asked for; 0: as fast as they go
  Result result;      // counts of all rounds; rate, seconds and slices of the median one
  Sample per_second;  // of the rounds
  std::optional<double> server_cpu_seconds;  // of all rounds
  BackgroundLoad background;

  // CPU seconds for a million operations.
  double client_cpu() const;
  std::optional<double> server_cpu() const;
  uint64_t torn_reads() const;
};

struct RunStudy {
  RunSettings settings;
  std::string uri;
  double load_seconds = 0;   // 0: nothing was stored
  std::vector<RunRow> rows;  // the first is the run itself, the others are the sweep's
  std::optional<ServerMemory> memory;
};

// Errors: the server's and the driver's.
std::expected<RunStudy, Error> StudyRun(const RunSettings& settings);

Page PageOf(const RunStudy& study);
program::Json JsonOf(const RunStudy& study);

}  // namespace plov::bench
