// A study of a run as a page with plots.

#include <fmt/core.h>

#include <string>
#include <vector>

#include "bench/page/chart.h"
#include "bench/tool/run_study.h"

namespace plov::bench {

namespace {

constexpr size_t kNamedSlices = 10;  // of all slices, every so many

std::string Seconds(double seconds) { return fmt::format("{:.3g}", seconds); }

Chart OverTime(const RunStudy& study, const RunRow& row) {
  Chart chart{.title = "Throughput over time",
              .category = "seconds from the start",
              .categories = {},
              .unit = "operations/s",
              .series = {{"all clients", {}}}};
  const double slice =
      std::chrono::duration<double>(study.settings.drive.duration).count() / Result::kSlices;
  for (size_t i = 0; i < Result::kSlices; ++i) {
    const double end = static_cast<double>(i + 1) * slice;
    chart.categories.push_back((i + 1) % kNamedSlices == 0 ? Seconds(end) : "");
    chart.series[0].values.emplace_back(static_cast<double>(row.result.slices[i]) / slice);
  }
  return chart;
}

std::optional<double> UsAt(const Histogram& latency, double part) {
  if (latency.count() == 0) return std::nullopt;
  return static_cast<double>(latency.Percentile(part)) / 1000;
}

Chart Latencies(const RunRow& row) {
  Chart chart{.title = "Latency distribution",
              .category = "part of the operations that are no slower",
              .categories = {},
              .unit = "us",
              .series = {}};
  for (const NamedPart& one : kPercentiles) chart.categories.emplace_back(one.name);
  for (size_t i = 0; i < kKinds; ++i) {
    if (row.result.latencies[i].count() == 0) continue;
    Series series{std::string(kKindNames[i]), {}};
    for (const NamedPart& one : kPercentiles) {
      series.values.push_back(UsAt(row.result.latencies[i], one.part));
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart LoadCurve(const RunStudy& study) {
  Chart chart{.title = "Latency against load",
              .category = "operations/s that were due",
              .categories = {},
              .unit = "us",
              .series = {}};
  for (const NamedPart& one : kPercentiles) chart.series.push_back({one.name, {}});
  for (size_t i = 1; i < study.rows.size(); ++i) {
    chart.categories.push_back(fmt::format("{:.0f}", study.rows[i].rate));
    const Histogram latency = study.rows[i].result.latency();
    for (size_t at = 0; at < kPercentiles.size(); ++at) {
      chart.series[at].values.push_back(UsAt(latency, kPercentiles[at].part));
    }
  }
  return chart;
}

}  // namespace

std::string PageOf(const RunStudy& study) {
  std::vector<Chart> charts;
  if (!study.rows.empty()) {
    const RunRow& row = study.rows.front();
    if (study.settings.drive.duration.count() > 0) charts.push_back(OverTime(study, row));
    charts.push_back(Latencies(row));
  }
  if (study.rows.size() > 1) charts.push_back(LoadCurve(study));
  return HtmlOf("plov-bench run", charts, TextOf(study));
}

}  // namespace plov::bench
