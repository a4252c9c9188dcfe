#include "bench/verbs/study.h"

namespace plov::bench {

namespace {

Outcome MeasureRow(Measurer* measurer, const VerbsSettings& settings, VerbsRow* row) {
  const auto result = measurer->Measure({.combination = row->combination,
                                         .bytes = row->bytes,
                                         .window = row->window,
                                         .duration = settings.duration});
  if (!result && result.error().code == Code::kInvalidArgument) {
    row->unsupported = result.error().message;
    return {};
  }
  if (!result) return std::unexpected(result.error());
  row->rate.Add(result->rate());
  if (row->window == 1) {
    row->median_us.Add(result->median_us);
    row->p99_us.Add(result->p99_us);
  }
  row->server_cpu_us.Add(result->server_cpu_us);
  row->reads.Add(result->reads);
  return {};
}

}  // namespace

std::expected<VerbsStudy, Error> Study(Measurer* measurer, const VerbsSettings& settings) {
  VerbsStudy study{.settings = settings, .device = measurer->device(), .rows = {}};
  for (const uint32_t bytes : settings.bytes) {
    for (const uint32_t window : settings.windows) {
      for (const Combination* combination : settings.combinations) {
        study.rows.push_back({.combination = combination, .bytes = bytes, .window = window});
      }
    }
  }
  for (uint32_t round = 0; round < settings.rounds; ++round) {
    for (VerbsRow& row : study.rows) {
      if (!row.unsupported.empty()) continue;
      if (auto measured = MeasureRow(measurer, settings, &row); !measured) {
        return std::unexpected(measured.error());
      }
    }
  }
  return study;
}

}  // namespace plov::bench
