// A study of a run as text.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "bench/tool/run_study.h"
#include "client/cli/format.h"

namespace plov::bench {

namespace {

std::string Whole(double value) {
  return cli::Grouped(static_cast<uint64_t>(std::llround(std::max(0.0, value))));
}

std::string Us(uint64_t ns) { return fmt::format("{:.2f}", static_cast<double>(ns) / 1000); }

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
  text += fmt::format("{}, {} client{}, window {}, {}{}\n", study.uri, drive.clients,
                      drive.clients == 1 ? "" : "s", drive.window, pace,
                      drive.duration.count() > 0 ? ", " + Seconds(drive.duration) : "");
  if (study.load_seconds > 0) {
    text += fmt::format("stored {} items in {}, {}/s\n", cli::Grouped(workload.items),
                        cli::Duration(study.load_seconds),
                        Whole(static_cast<double>(workload.items) / study.load_seconds));
  }
  return text;
}

std::string LatencyCells(const Histogram& latency) {
  std::string text;
  for (const NamedPart& one : kPercentiles) {
    text += fmt::format(" {:>9}", Us(latency.Percentile(one.part)));
  }
  return text + fmt::format(" {:>10}\n", Us(latency.most()));
}

std::string OperationsOf(const RunRow& row) {
  std::string text = fmt::format("\n{:<9} {:>12} {:>12}", "latency us", "operations", "a second");
  for (const NamedPart& one : kPercentiles) text += fmt::format(" {:>9}", one.name);
  text += fmt::format(" {:>10}\n", "most");
  const auto line = [&](std::string_view name, const Histogram& latency) {
    const double part =
        static_cast<double>(latency.count()) / static_cast<double>(row.result.operations());
    text += fmt::format("{:<10} {:>12} {:>12}", name, cli::Grouped(latency.count()),
                        Whole(part * row.per_second.median())) +
            LatencyCells(latency);
  };
  size_t kinds = 0;
  for (size_t i = 0; i < kKinds; ++i) {
    if (row.result.latencies[i].count() == 0) continue;
    line(kKindNames[i], row.result.latencies[i]);
    ++kinds;
  }
  if (kinds > 1) line("all", row.result.latency());
  if (row.per_second.size() > 1) {
    text += fmt::format("{} rounds, the median; {} to {} a second\n", row.per_second.size(),
                        Whole(row.per_second.least()), Whole(row.per_second.most()));
  }
  return text;
}

class Facts {
 public:
  void Add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{:<18} {}\n", name, value);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = "\n";
};

std::string CostsOf(const RunStudy& study, const RunRow& row) {
  const Result& result = row.result;
  const ClientStats& stats = result.stats;
  Facts facts;
  if (stats.gets > 0) {
    const auto gets = static_cast<double>(stats.gets);
    facts.Add("READs per GET",
              fmt::format("{:.3f} ({:.3f} of them by a known location)", result.reads_per_get(),
                          static_cast<double>(stats.known_reads) / gets));
    facts.Add("torn READs", cli::Grouped(row.torn_reads()));
    facts.Add("GETs by message", cli::Grouped(stats.fallbacks));
    facts.Add("hits", cli::Percent(result.hits, result.hits + result.misses));
    facts.Add("misses", cli::Grouped(result.misses));
  }
  if (result.refused > 0) facts.Add("conditions failed", cli::Grouped(result.refused));
  facts.Add("retries", cli::Grouped(stats.retries));
  if (row.rate > 0) {
    facts.Add("missed starts",
              fmt::format("{} ({} late, {} never)", cli::Grouped(result.missed_starts()),
                          cli::Grouped(result.late_starts), cli::Grouped(result.never_started)));
  }
  facts.Add("client CPU", fmt::format("{:.3f} s per million operations", row.client_cpu()));
  const auto server = row.server_cpu();
  facts.Add("server CPU", server ? fmt::format("{:.3f} s per million operations", *server) : "n/a");
  if (study.memory && study.memory->items > 0) {
    const auto items = static_cast<double>(study.memory->items);
    facts.Add("memory per item",
              fmt::format("{:.1f} bytes, {:.1f} of them key and value",
                          static_cast<double>(study.memory->used_bytes) / items,
                          static_cast<double>(study.memory->payload_bytes) / items));
  }
  return facts.text();
}

std::string SweepOf(const RunStudy& study) {
  std::string text = fmt::format("\nlatency against load, us\n{:>12} {:>12} {:>12}", "wanted/s",
                                 "reached/s", "missed");
  for (const NamedPart& one : kPercentiles) text += fmt::format(" {:>9}", one.name);
  text += fmt::format(" {:>10}\n", "most");
  for (size_t i = 1; i < study.rows.size(); ++i) {
    const RunRow& row = study.rows[i];
    text += fmt::format("{:>12} {:>12} {:>12}", Whole(row.rate), Whole(row.per_second.median()),
                        cli::Grouped(row.result.missed_starts())) +
            LatencyCells(row.result.latency());
  }
  return text;
}

}  // namespace

std::string TextOf(const RunStudy& study) {
  std::string text = HeadOf(study);
  if (study.rows.empty()) return text;
  const RunRow& row = study.rows.front();
  text += OperationsOf(row) + CostsOf(study, row);
  if (study.rows.size() > 1) text += SweepOf(study);
  return text;
}

}  // namespace plov::bench
