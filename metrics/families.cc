#include "metrics/families.h"

#include <limits>
#include <string_view>

namespace plov::metrics {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using verify::Counter;
using verify::Counters;
using verify::Unit;

constexpr double kMicrosecond = 1e-6;
constexpr double kPercent = 1e-2;

std::string Replaced(std::string name, std::string_view part, std::string_view end) {
  return name.erase(name.find(part), part.size()).append(end);
}

double ValueOf(const verify::CounterInfo& info, uint64_t value) {
  const auto number = static_cast<double>(value);
  switch (info.unit) {
    case Unit::kPlain:
      return number;
    case Unit::kPercent:
      return number * kPercent;
    case Unit::kMicroseconds:
    case Unit::kUnixMicroseconds:
      return number * kMicrosecond;
  }
  return number;
}

// A shard of a cluster says its number, those of a single server are told in the order of theirs.
ClientMetric OfShard(std::span<const Counters> shards, size_t index) {
  const std::string number(verify::TextValue(shards[index].text, "cluster.shard"));
  ClientMetric metric;
  metric.label = {{"shard", number.empty() ? std::to_string(index) : number}};
  return metric;
}

ClientMetric::Histogram HistogramOf(const verify::Times& times) {
  ClientMetric::Histogram histogram;
  for (size_t i = 0; i < times.counts.size(); ++i) {
    histogram.sample_count += times.counts[i];
    const bool is_last = i + 1 == times.counts.size();
    const double end = is_last ? std::numeric_limits<double>::infinity()
                               : static_cast<double>(uint64_t{1} << i) * kMicrosecond;
    histogram.bucket.push_back({histogram.sample_count, end});
  }
  histogram.sample_sum = static_cast<double>(times.sum_us) * kMicrosecond;
  return histogram;
}

MetricFamily FamilyOf(const verify::CounterInfo& info, std::span<const Counters> shards) {
  MetricFamily family{.name = MetricName(info),
                      .help = std::string(info.help),
                      .type = info.only_grows ? MetricType::Counter : MetricType::Gauge,
                      .metric = {}};
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    const uint64_t value = shards[shard][info.counter];
    if (value == UINT64_MAX) continue;
    ClientMetric metric = OfShard(shards, shard);
    (info.only_grows ? metric.counter.value : metric.gauge.value) = ValueOf(info, value);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

MetricFamily FamilyOf(verify::Histogram which, std::string name, std::string help,
                      std::span<const Counters> shards) {
  MetricFamily family{.name = std::move(name),
                      .help = std::move(help),
                      .type = MetricType::Histogram,
                      .metric = {}};
  for (size_t shard = 0; shard < shards.size(); ++shard) {
    ClientMetric metric = OfShard(shards, shard);
    metric.histogram = HistogramOf(shards[shard].histograms[static_cast<size_t>(which)]);
    family.metric.push_back(std::move(metric));
  }
  return family;
}

// One that the whole server has.
MetricFamily Gauge(std::string name, std::string help, double value) {
  ClientMetric metric;
  metric.gauge.value = value;
  return {.name = std::move(name),
          .help = std::move(help),
          .type = MetricType::Gauge,
          .metric = {metric}};
}

MetricFamily BuildInfo(std::string_view text) {
  MetricFamily family = Gauge("plov_build_info", "The version of the server.", 1);
  family.metric.front().label = {{"version", std::string(verify::TextValue(text, "version"))}};
  return family;
}

// Which server of which cluster this is; nothing of a single server.
MetricFamily ClusterInfo(std::string_view text) {
  const std::string id(verify::TextValue(text, "cluster.id"));
  if (id.empty()) return {};
  MetricFamily family = Gauge("plov_cluster_info", "The cluster, and the server's ID there.", 1);
  family.metric.front().label = {
      {"cluster", id}, {"server", std::string(verify::TextValue(text, "cluster.server"))}};
  return family;
}

}  // namespace

std::string MetricName(const verify::CounterInfo& info) {
  std::string name = "plov_" + std::string(info.name);
  if (info.unit == Unit::kPercent) name = Replaced(name, "_percent", "_ratio");
  if (info.unit == Unit::kMicroseconds) name = Replaced(name, "_us", "_seconds");
  if (info.unit == Unit::kUnixMicroseconds) name = Replaced(name, "_at_us", "_timestamp_seconds");
  return info.only_grows ? name + "_total" : name;
}

std::vector<MetricFamily> FamiliesOf(std::span<const Counters> shards) {
  if (shards.empty()) return {};
  const Counters& first = shards.front();
  std::vector<MetricFamily> families = {
      BuildInfo(first.text),
      // The name that Prometheus's own libraries give it.
      Gauge("process_start_time_seconds", "When the server was started, in Unix time.",
            static_cast<double>(first[Counter::kStartedAtUs]) * kMicrosecond)};
  if (auto info = ClusterInfo(first.text); !info.metric.empty())
    families.push_back(std::move(info));
  for (const verify::CounterInfo& info : verify::CounterTable()) {
    if (info.counter == Counter::kStartedAtUs) continue;
    MetricFamily family = FamilyOf(info, shards);
    if (!family.metric.empty()) families.push_back(std::move(family));
  }
  families.push_back(
      FamilyOf(verify::Histogram::kWrites, "plov_write_duration_seconds",
               "A message of writes, from when it is taken to when its reply is sent.", shards));
  if (first[Counter::kLogMode] != UINT64_MAX) {
    families.push_back(FamilyOf(verify::Histogram::kCommits, "plov_log_commit_duration_seconds",
                                "A commit of the log.", shards));
  }
  return families;
}

}  // namespace plov::metrics
