#include "bench/page/latency.h"

#include <cmath>

namespace plov::bench {

Curve LatencyCurve(std::string name, const Histogram& histogram) {
  constexpr double kPointsPerHalving = 5;
  Curve curve{.name = std::move(name), .points = {}};
  const auto count = static_cast<double>(histogram.count());
  const double last = 1 - 1 / (2 * count);  // between the slowest and the end of the axis
  const double halvings = std::log2(2 * count);
  for (double at = 0; at < halvings * kPointsPerHalving; ++at) {
    const double part = 1 - std::exp2(-at / kPointsPerHalving);
    curve.points.push_back({part, static_cast<double>(histogram.Percentile(part)) / 1000});
  }
  if (histogram.count() > 0) {
    curve.points.push_back({last, static_cast<double>(histogram.most()) / 1000});
  }
  return curve;
}

Plot LatencyPlot(std::string title, std::vector<Curve> curves) {
  return {.title = std::move(title),
          .x = {.label = "percentile", .scale = Scale::kNines, .unit = Unit::kNumber},
          .y = {.label = "us", .scale = Scale::kLog, .unit = Unit::kNumber},
          .curves = std::move(curves)};
}

}  // namespace plov::bench
