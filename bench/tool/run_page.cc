// The plots of a run, and all of it as a page.

#include "bench/page/latency.h"
#include "bench/tool/run_study.h"

namespace plov::bench {

namespace {

// A point in the middle of each slice of the time.
Plot OverTime(const RunStudy& study, const RunRow& row) {
  Curve curve{.name = "all clients", .points = {}};
  const double slice =
      std::chrono::duration<double>(study.settings.drive.duration).count() / Result::kSlices;
  for (size_t i = 0; i < Result::kSlices; ++i) {
    curve.points.push_back({(static_cast<double>(i) + 0.5) * slice,
                            static_cast<double>(row.result.slices[i]) / slice});
  }
  return {.title = "Throughput over time",
          .x = {.label = "seconds from the start"},
          .y = {.label = "operations/s"},
          .curves = {std::move(curve)}};
}

Plot Latencies(const RunRow& row) {
  std::vector<Curve> curves;
  for (size_t i = 0; i < kKinds; ++i) {
    const Histogram& latency = row.result.latencies[i];
    if (latency.count() > 0) curves.push_back(LatencyCurve(std::string(kKindNames[i]), latency));
  }
  return LatencyPlot("Latency distribution", std::move(curves));
}

// The sweep's rows: against what was reached, not what was wanted, so that a server at its limit
// shows as a wall.
Plot LoadCurve(const RunStudy& study) {
  Plot plot{.title = "Latency against load",
            .x = {.label = "operations/s that were reached"},
            .y = {.label = "us", .scale = Scale::kLog},
            .curves = {}};
  for (const NamedPart& one : kPercentiles) {
    Curve curve{.name = one.name, .points = {}};
    for (size_t i = 1; i < study.rows.size(); ++i) {
      const Histogram latency = study.rows[i].result.latency();
      if (latency.count() == 0) continue;
      curve.points.push_back({study.rows[i].per_second.median(),
                              static_cast<double>(latency.Percentile(one.part)) / 1000});
    }
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

}  // namespace

Page PageOf(const RunStudy& study) {
  Page page{.title = "plov-bench run", .facts = FactsOfRun(), .parts = TablesOf(study)};
  if (!study.rows.empty()) {
    const RunRow& row = study.rows.front();
    if (study.settings.drive.duration.count() > 0) page.parts.push_back(OverTime(study, row));
    page.parts.push_back(Latencies(row));
  }
  if (study.rows.size() > 1) page.parts.push_back(LoadCurve(study));
  return page;
}

}  // namespace plov::bench
