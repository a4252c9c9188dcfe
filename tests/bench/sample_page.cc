// Writes a page with every kind of part, and with what is hard to draw: for browser.py.
#include <cstdio>

#include "bench/page/latency.h"
#include "bench/page/page.h"

namespace {

using plov::bench::Align;
using plov::bench::Chart;
using plov::bench::Curve;
using plov::bench::Histogram;
using plov::bench::LatencyCurve;
using plov::bench::LatencyPlot;
using plov::bench::Page;
using plov::bench::Plot;
using plov::bench::Scale;
using plov::bench::Table;
using plov::bench::Unit;

Chart ManyBars() {
  Chart chart{.title = "Bars of several series, one of them without a value",
              .category = "bytes",
              .categories = {"8", "1024", "1048576"},
              .unit = "operations a second",
              .series = {}};
  for (int i = 0; i < 9; ++i) {
    chart.series.push_back({"A SERIES WITH A LONG NAME, NUMBER " + std::to_string(i),
                            {1e6 * (i + 1), 5.0, 12'345'678.0}});
  }
  chart.series[4].values[1] = std::nullopt;
  return chart;
}

Plot Growth() {
  Plot plot{.title = "Cost by value size, with many curves whose names are long, and a title too",
            .x = {.label = "value bytes", .scale = Scale::kLog, .unit = Unit::kBytes},
            .y = {.label = "GETs a second", .scale = Scale::kLog},
            .curves = {}};
  for (int i = 0; i < 9; ++i) {
    Curve curve{.name = "GET, WINDOW 32, LOCATIONS KNOWN, " + std::to_string(i), .points = {}};
    for (double bytes = 8; bytes <= 1 << 20; bytes *= 8) {
      curve.points.push_back({bytes, 4e7 / (bytes + 100) / (i + 1)});
    }
    plot.curves.push_back(curve);
  }
  return plot;
}

Plot OverTime() {
  Plot plot{.title = "Throughput over time", .x = {"seconds"}, .y = {"a second"}, .curves = {{}}};
  for (int i = 0; i < 200; ++i) plot.curves[0].points.push_back({i * 0.5, 1e6 + 1000.0 * (i % 7)});
  return plot;
}

Plot Latencies() {
  Histogram fast;
  Histogram slow;
  for (uint64_t i = 1; i <= 1'000'000; ++i) {
    fast.Count(400 + 1'000'000 / i);
    slow.Count(9'000 + 30'000'000 / i);
  }
  return LatencyPlot("Latency", {LatencyCurve("GET", fast), LatencyCurve("PUT", slow)});
}

Plot OnePoint() {
  return {.title = "One point",
          .x = {.label = "items", .scale = Scale::kLog},
          .y = {.label = "us", .scale = Scale::kLog},
          .curves = {{"alone", {{1'000'000, 3}}}}};
}

Table Words() {
  return {.title = "A table",
          .columns = {{"name", Align::kLeft}, {"a second"}, {"p99 us"}},
          .rows = {{"GET <one> & more", "1,234,567", "0.98"}, {"PUT", "765,432"}}};
}

}  // namespace

int main() {
  const Page page{.title = "Every kind of part",
                  .facts = plov::bench::FactsOfRun(),
                  .parts = {plov::bench::Paragraph{"A sentence,\nand another one."}, Words(),
                            ManyBars(), Growth(), OverTime(), Latencies(), OnePoint()}};
  std::fputs(HtmlOf(page).c_str(), stdout);
  return 0;
}
