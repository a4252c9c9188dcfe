// Latencies as a plot: how long against which part of all operations was no slower.
//
// Source: the plots of Gil Tene's HdrHistogram.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/load/histogram.h"
#include "bench/page/plot.h"

namespace plov::bench {

// Points from the median's side to the slowest operation, five for each halving of what is left.
// y in microseconds. None where nothing was counted.
Curve LatencyCurve(std::string name, const Histogram& histogram);

// x: the part, in nines; y: microseconds, on a log axis.
Plot LatencyPlot(std::string title, std::vector<Curve> curves);

}  // namespace plov::bench
