// Writes a page with every kind of part, and with what is hard to draw: for browser.py.
#include <cmath>
#include <cstdio>

#include "bench/page/page.h"

namespace {

using plov::bench::Curve;
using plov::bench::Page;
using plov::bench::Plot;
using plov::bench::Scale;
using plov::bench::Shown;
using plov::bench::Table;
using plov::bench::Unit;

Plot Growth(int curves, int ours) {
  Plot plot{
      .title = "Cost by value size, with curves whose names are long, and a title that is, too",
      .x = {.label = "value bytes", .scale = Scale::kLog, .unit = Unit::kBytes},
      .y = {.label = "GETs a second", .scale = Scale::kLog}};
  for (int i = 0; i < curves; ++i) {
    Curve curve{.name = (i < ours ? "plov, " : "GET, ") + std::to_string(i) +
                        ", WINDOW 32, LOCATIONS KNOWN"};
    for (double bytes = 8; bytes <= 1 << 20; bytes *= 8) {
      curve.points.push_back({bytes, 4e7 / (bytes + 100) / (1 + 0.02 * i)});
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
  Curve get{.name = "GET"};
  for (double nines = 0; nines < 6; nines += 0.1) {
    get.points.push_back({1 - std::pow(10, -nines), 0.4 + std::exp(nines)});
  }
  return {.title = "Latency",
          .x = {.label = "percentile", .scale = Scale::kNines},
          .y = {.label = "us", .scale = Scale::kLog},
          .curves = {std::move(get)}};
}

Plot Load() {
  Plot plot{.title = "Latency against load", .x = {"a second achieved"}, .y = {"us", Scale::kLog}};
  for (const char* name : {"p50", "p99"}) {
    Curve curve{.name = name};
    for (double load = 1; load <= 10; ++load) {
      curve.points.push_back({std::min(load, 17 - load) * 1e5, std::exp(load)});
    }
    curve = OverAchieved(std::move(curve));
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

Plot OnePoint() {
  return {.title = "One point",
          .x = {.label = "items", .scale = Scale::kLog},
          .y = {.label = "us", .scale = Scale::kLog},
          .curves = {{.name = "alone", .points = {{1'000'000, 3}}}}};
}

Table Words() {
  return {.title = "A table that is wider than a phone",
          .columns = {{.name = "name", .shown = Shown::kText},
                      {.name = "a second", .shown = Shown::kBars},
                      {.name = "p99 us"},
                      {.name = "from..to"},
                      {.name = "READs/GET"},
                      {.name = "of READs"},
                      {.name = "verdict", .shown = Shown::kText}},
          .rows = {{"GET </script><b>one</b> & more", "1,234,567", "0.98", "0.5..1.2", "1", "1",
                    "reached"},
                   {"plov, PUT", "765,432", "", "", "", "", "missed by 5 %"}}};
}

}  // namespace

int main() {
  const Page page{
      .title = "Every kind of part",
      .headline = {"2 of 3 goals reached <b>", {{"GETs a second", "1.5 M"}, {"us", "3"}}},
      .facts = plov::bench::FactsOfRun(),
      .parts = {plov::bench::Paragraph{"A sentence,\nand another one."}, Load(), Growth(9, 0),
                Growth(6, 2), OverTime(), Latencies(), OnePoint(), Words()}};
  const auto html = HtmlOf(page);
  if (!html) {
    std::fprintf(stderr, "skipped: %s\n", html.error().message.c_str());
    return 77;
  }
  std::fputs(html->c_str(), stdout);
  return 0;
}
