// A study of a run as tables.

#include <fmt/core.h>

#include "bench/page/number.h"
#include "bench/tool/run_study.h"
#include "client/cli/format.h"

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
    text += fmt::format("{} requests\n", cli::Grouped(workload.replay->size()));
  } else {
    const ItemShape& shape = workload.shape;
    const bool spread = shape.value_bytes_least != shape.value_bytes_most;
    text += fmt::format("{} items, keys of {} bytes, values of {}{} bytes, {}\n",
                        cli::Grouped(workload.items), shape.key_bytes, shape.value_bytes_least,
                        spread ? fmt::format("..{}", shape.value_bytes_most) : "",
                        PopularityOf(workload));
  }
  const std::string pace =
      drive.rate > 0 ? fmt::format("open loop at {}/s", Whole(drive.rate)) : "closed loop";
  text += fmt::format("{}, {} client{}, window {}, {}{}", study.uri, drive.clients,
                      drive.clients == 1 ? "" : "s", drive.window, pace,
                      drive.duration.count() > 0 ? ", " + Seconds(drive.duration) : "");
  if (study.load_seconds > 0) {
    text += fmt::format("\nstored {} items in {}, {}/s", cli::Grouped(workload.items),
                        cli::Duration(study.load_seconds),
                        Whole(static_cast<double>(workload.items) / study.load_seconds));
  }
  return text;
}

void AddLatencyColumns(Table* table) {
  for (const NamedPart& one : kPercentiles) table->columns.push_back({one.name});
  table->columns.push_back({"most"});
}

void AddLatencyCells(const Histogram& latency, std::vector<std::string>* row) {
  for (const NamedPart& one : kPercentiles) row->push_back(Us(latency.Percentile(one.part)));
  row->push_back(Us(latency.most()));
}

Table OperationsOf(const RunRow& row) {
  Table table{.title = "",
              .columns = {{"latency us", Align::kLeft}, {"operations"}, {"a second"}},
              .rows = {}};
  AddLatencyColumns(&table);
  const auto add = [&](std::string_view name, const Histogram& latency) {
    const double part =
        static_cast<double>(latency.count()) / static_cast<double>(row.result.operations());
    table.rows.push_back(
        {std::string(name), cli::Grouped(latency.count()), Whole(part * row.per_second.median())});
    AddLatencyCells(latency, &table.rows.back());
  };
  for (size_t i = 0; i < kKinds; ++i) {
    if (row.result.latencies[i].count() > 0) add(kKindNames[i], row.result.latencies[i]);
  }
  if (table.rows.size() > 1) add("all", row.result.latency());
  return table;
}

Table CostsOf(const RunStudy& study, const RunRow& row) {
  const Result& result = row.result;
  const ClientStats& stats = result.stats;
  Table table{
      .title = "", .columns = {{"what it took", Align::kLeft}, {"", Align::kLeft}}, .rows = {}};
  const auto add = [&](const char* name, std::string value) {
    table.rows.push_back({name, std::move(value)});
  };
  if (stats.gets > 0) {
    const auto gets = static_cast<double>(stats.gets);
    add("READs per GET",
        fmt::format("{:.3f} ({:.3f} of them by a known location)", result.reads_per_get(),
                    static_cast<double>(stats.known_reads) / gets));
    add("torn READs", cli::Grouped(row.torn_reads()));
    add("GETs by message", cli::Grouped(stats.fallbacks));
    add("hits", cli::Percent(result.hits, result.hits + result.misses));
    add("misses", cli::Grouped(result.misses));
  }
  if (result.refused > 0) add("conditions failed", cli::Grouped(result.refused));
  add("retries", cli::Grouped(stats.retries));
  if (row.rate > 0) {
    add("missed starts",
        fmt::format("{} ({} late, {} never)", cli::Grouped(result.missed_starts()),
                    cli::Grouped(result.late_starts), cli::Grouped(result.never_started)));
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

Table SweepOf(const RunStudy& study) {
  Table table{.title = "latency against load, us",
              .columns = {{"wanted/s"}, {"reached/s"}, {"missed"}},
              .rows = {}};
  AddLatencyColumns(&table);
  for (size_t i = 1; i < study.rows.size(); ++i) {
    const RunRow& row = study.rows[i];
    table.rows.push_back({Whole(row.rate), Whole(row.per_second.median()),
                          cli::Grouped(row.result.missed_starts())});
    AddLatencyCells(row.result.latency(), &table.rows.back());
  }
  return table;
}

}  // namespace

std::vector<Part> TablesOf(const RunStudy& study) {
  std::vector<Part> parts = {Paragraph{HeadOf(study)}};
  if (study.rows.empty()) return parts;
  const RunRow& row = study.rows.front();
  parts.push_back(OperationsOf(row));
  if (row.per_second.size() > 1) {
    parts.push_back(
        Paragraph{fmt::format("{} rounds, the median; {} to {} a second", row.per_second.size(),
                              Whole(row.per_second.least()), Whole(row.per_second.most()))});
  }
  parts.push_back(CostsOf(study, row));
  if (study.rows.size() > 1) parts.push_back(SweepOf(study));
  return parts;
}

}  // namespace plov::bench
