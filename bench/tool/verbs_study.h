// Study: every combination of verbs at every size and window, in rounds, and how it is shown.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "bench/page/page.h"
#include "bench/tool/sample.h"
#include "bench/tool/verbs_settings.h"
#include "bench/verbs/measure.h"

namespace plov::bench {

struct VerbsRow {
  const Combination* combination = nullptr;
  uint32_t bytes = 0;
  uint32_t window = 0;
  Sample rate;  // requests a second
  Sample median_us;
  Sample p99_us;
  Sample server_cpu_us;
  Sample reads;
  std::string unsupported;  // why; empty where it was measured
};

struct VerbsStudy {
  VerbsSettings settings;
  std::string device;
  std::vector<VerbsRow> rows;

  // nullptr where there is none.
  const VerbsRow* Find(const Combination* combination, uint32_t bytes, uint32_t window) const;
};

// Rounds go over all rows, so that a machine that is slow for a while is slow for all of them.
// Errors: as Measure's but for kInvalidArgument, which a row tells of.
std::expected<VerbsStudy, Error> Study(Measurer* measurer, const VerbsSettings& settings);

Page PageOf(const VerbsStudy& study);
std::string JsonOf(const VerbsStudy& study);  // one line
// Rates at the largest window by size; at the middle size by window.
Chart ChartBySize(const VerbsStudy& study);
Plot PlotByWindow(const VerbsStudy& study);

}  // namespace plov::bench
