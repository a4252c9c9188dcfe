// A study of a run as tables and plots.

#include <fmt/core.h>

#include <cmath>

#include "bench/page/number.h"
#include "bench/page/rows.h"
#include "bench/run/study.h"
#include "program/format.h"

namespace plov::bench {

namespace {

std::string Us(uint64_t ns) { return Fixed(static_cast<double>(ns) / 1000, 2); }

std::string Seconds(std::chrono::microseconds duration) {
  return fmt::format("{:g} s", std::chrono::duration<double>(duration).count());
}

std::string PopularityOf(const Workload& workload) {
  switch (workload.popularity) {
    case Popularity::kUniform:
      return "uniform";
    case Popularity::kZipf:
      return fmt::format("zipfian {:g}", workload.exponent);
    case Popularity::kLatest:
      return fmt::format("latest {:g}", workload.exponent);
  }
  return {};
}

std::string MixOf(const Mix& mix) {
  std::string text;
  for (size_t i = 0; i < kKinds; ++i) {
    const double part = mix.part(static_cast<Kind>(i));
    if (part < 1e-9) continue;
    text += fmt::format("{}{:.3g} % {}", text.empty() ? "" : ", ", 100 * part, kKindNames[i]);
  }
  return text;
}

std::string HeadOf(const RunStudy& study) {
  const RunSettings& settings = study.settings;
  const Workload& workload = settings.workload;
  const DriveOptions& drive = settings.drive;
  std::string text = fmt::format("{}: {}\n", workload.name, MixOf(workload.mix));
  if (workload.replay) {
    text += fmt::format("{} requests\n", program::Grouped(workload.replay->size()));
  } else {
    const ItemShape& shape = workload.shape;
    const bool spread = shape.value_bytes_least != shape.value_bytes_most;
    text += fmt::format("{} items, keys of {} bytes, values of {}{} bytes, {}\n",
                        program::Grouped(workload.items), shape.key_bytes, shape.value_bytes_least,
                        spread ? fmt::format("..{}", shape.value_bytes_most) : "",
                        PopularityOf(workload));
  }
  const std::string pace =
      drive.rate > 0 ? fmt::format("open loop at {}/s", Whole(drive.rate)) : "closed loop";
  text += fmt::format("{}, {} client{}, window {}, {}{}", study.uri, drive.clients,
                      drive.clients == 1 ? "" : "s", drive.window, pace,
                      drive.duration.count() > 0 ? ", " + Seconds(drive.duration) : "");
  if (study.load_seconds > 0) {
    text += fmt::format("\nstored {} items in {}, {}/s", program::Grouped(workload.items),
                        program::Duration(study.load_seconds),
                        Whole(static_cast<double>(workload.items) / study.load_seconds));
  }
  return text;
}

// The percentiles of a row's latencies behind its own columns.
std::vector<Column> WithLatency(std::vector<Column> columns) {
  for (const NamedPart& one : kPercentiles) {
    columns.push_back({one.name, fmt::format("latency/{}_us", one.name), 2});
  }
  columns.push_back({"most", "latency/most_us", 2});
  return columns;
}

Table OperationsOf(const program::Json& run) {
  program::Json rows = program::Json::array();
  for (const auto& [name, operation] : run["operations"].items()) {
    rows.push_back(operation);
    rows.back()["name"] = name;
  }
  if (rows.size() > 1) {
    rows.push_back(run);
    rows.back()["name"] = "all";
  }
  return TableOf(
      "", rows,
      WithLatency({{"latency us", "name"}, {"operations", "count"}, {"a second", "per_second"}}));
}

Table CostsOf(const RunStudy& study, const RunRow& row) {
  const Result& result = row.result;
  const ClientStats& stats = result.stats;
  Table table{.columns = {{.name = "what it took", .shown = Shown::kText},
                          {.name = "", .shown = Shown::kText}}};
  const auto add = [&](const char* name, std::string value) {
    table.rows.push_back({name, std::move(value)});
  };
  if (stats.gets > 0) {
    const auto gets = static_cast<double>(stats.gets);
    add("READs per GET",
        fmt::format("{:.3f} ({:.3f} of them by a known location)", result.reads_per_get(),
                    static_cast<double>(stats.known_reads) / gets));
    add("torn READs", program::Grouped(row.torn_reads()));
    add("GETs by message", program::Grouped(stats.fallbacks));
    add("hits", program::Percent(result.hits, result.hits + result.misses));
    add("misses", program::Grouped(result.misses));
  }
  if (result.refused > 0) add("conditions failed", program::Grouped(result.refused));
  add("retries", program::Grouped(stats.retries));
  if (row.rate > 0) {
    add("missed starts",
        fmt::format("{} ({} late, {} never)", program::Grouped(result.missed_starts()),
                    program::Grouped(result.late_starts), program::Grouped(result.never_started)));
  }
  add("client CPU", fmt::format("{:.3f} s per million operations", row.client_cpu()));
  const auto server = row.server_cpu();
  add("server CPU", server ? fmt::format("{:.3f} s per million operations", *server) : "n/a");
  if (study.memory && study.memory->items > 0) {
    const auto items = static_cast<double>(study.memory->items);
    add("memory per item", fmt::format("{:.1f} bytes, {:.1f} of them key and value",
                                       static_cast<double>(study.memory->used_bytes) / items,
                                       static_cast<double>(study.memory->payload_bytes) / items));
  }
  return table;
}

// A point in the middle of each slice of the time.
Plot OverTime(const RunStudy& study, const RunRow& row) {
  Curve curve;
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

// Points from the median's side to the slowest operation, five for each halving of what is left.
// Source: the plots of Gil Tene's HdrHistogram.
Curve LatencyCurve(std::string_view name, const Histogram& histogram) {
  constexpr double kPointsPerHalving = 5;
  Curve curve{.name = std::string(name)};
  const auto count = static_cast<double>(histogram.count());
  const double last = 1 - 1 / (2 * count);  // between the slowest and the end of the axis
  const double halvings = std::log2(2 * count);
  for (double at = 0; at < halvings * kPointsPerHalving; ++at) {
    const double part = 1 - std::exp2(-at / kPointsPerHalving);
    curve.points.push_back({part, static_cast<double>(histogram.Percentile(part)) / 1000});
  }
  curve.points.push_back({last, static_cast<double>(histogram.most()) / 1000});
  return curve;
}

Plot LatencyPlot(const RunRow& row) {
  Plot plot{.title = "Latency distribution",
            .x = {.label = "percentile", .scale = Scale::kNines},
            .y = {.label = "us", .scale = Scale::kLog}};
  for (size_t i = 0; i < kKinds; ++i) {
    const Histogram& latency = row.result.latencies[i];
    if (latency.count() > 0) plot.curves.push_back(LatencyCurve(kKindNames[i], latency));
  }
  return plot;
}

// The sweep's rows, against what was achieved, not what was wanted, so that a server at its limit
// shows as a wall.
Plot LoadPlot(const program::Json& sweep) {
  Plot plot{.title = "Latency against load",
            .x = {.label = "operations/s achieved"},
            .y = {.label = "us", .scale = Scale::kLog}};
  for (const NamedPart& one : kPercentiles) {
    const std::string latency = fmt::format("latency/{}_us", one.name);
    plot.curves.push_back(OverAchieved(CurveOf(one.name, sweep, "per_second", latency)));
  }
  return plot;
}

Headline HeadlineOf(const RunStudy& study) {
  if (study.rows.empty()) return {.text = "the items are stored"};
  const RunRow& row = study.rows.front();
  const Histogram latency = row.result.latency();
  const auto us = [&latency](double part) { return Us(latency.Percentile(part)) + " us"; };
  Headline headline{
      .text = fmt::format("{} operations a second of {}, 99 % of them in {}",
                          Compact(row.per_second.median()), study.settings.workload.name, us(0.99)),
      .figures = {{"latency, p50", us(0.5)}, {"latency, p99.9", us(0.999)}}};
  if (row.result.stats.gets > 0) {
    headline.figures.push_back({"READs per GET", Fixed(row.result.reads_per_get(), 3)});
  }
  if (const auto cpu = row.server_cpu()) {
    headline.figures.push_back({"server CPU, a million operations", Fixed(*cpu, 3) + " s"});
  }
  return headline;
}

}  // namespace

Page PageOf(const RunStudy& study) {
  Page page{.title = "plov-bench run",
            .headline = HeadlineOf(study),
            .facts = FactsOfRun(),
            .parts = {Paragraph{HeadOf(study)}}};
  if (study.rows.empty()) return page;
  const RunRow& row = study.rows.front();
  const program::Json runs = JsonOf(study)["runs"];
  const program::Json sweep(runs.begin() + 1, runs.end());
  if (!sweep.empty()) page.parts.push_back(LoadPlot(sweep));
  page.parts.push_back(LatencyPlot(row));
  if (study.settings.drive.duration.count() > 0) page.parts.push_back(OverTime(study, row));
  page.parts.push_back(OperationsOf(runs[0]));
  page.parts.push_back(
      Paragraph{row.per_second.size() == 1
                    ? row.background.Text()
                    : fmt::format("{} rounds, the median; {} to {} a second; {}",
                                  row.per_second.size(), Whole(row.per_second.least()),
                                  Whole(row.per_second.most()), row.background.Text())});
  page.parts.push_back(CostsOf(study, row));
  if (sweep.empty()) return page;
  page.parts.push_back(TableOf(
      "latency against load, us", sweep,
      WithLatency(
          {{"wanted/s", "rate"}, {"reached/s", "per_second"}, {"missed", "missed_starts"}})));
  return page;
}

}  // namespace plov::bench
