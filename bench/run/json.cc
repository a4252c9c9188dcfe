// A study of a run as JSON.

#include "program/json.h"

#include <array>

#include "bench/run/study.h"

namespace plov::bench {

namespace {

program::Json LatencyOf(const Histogram& latency) {
  program::Json object = program::Json::object();
  object["mean_us"] = latency.mean() / 1000;
  for (const NamedPart& one : kPercentiles) {
    object[std::string(one.name) + "_us"] =
        static_cast<double>(latency.Percentile(one.part)) / 1000;
  }
  object["most_us"] = static_cast<double>(latency.most()) / 1000;
  return object;
}

program::Json OperationOf(const Histogram& latency, const RunRow& row) {
  const double part =
      static_cast<double>(latency.count()) / static_cast<double>(row.result.operations());
  return {{"count", latency.count()},
          {"part", part},
          {"per_second", part * row.per_second.median()},
          {"latency", LatencyOf(latency)},
          {"histogram_ns", latency.Counts()}};
}

program::Json OverTime(const RunStudy& study, const Result& result) {
  const double slice =
      std::chrono::duration<double>(study.settings.drive.duration).count() / Result::kSlices;
  program::Json object = {{"slice_seconds", slice}, {"per_second", program::Json::array()}};
  for (const uint64_t count : result.slices) {
    object["per_second"].push_back(slice > 0 ? static_cast<double>(count) / slice : 0);
  }
  return object;
}

program::Json RowOf(const RunStudy& study, const RunRow& row) {
  const Result& result = row.result;
  const auto server = row.server_cpu();
  program::Json object = {
      {"rate", row.rate > 0 ? program::Json(row.rate) : program::Json(nullptr)},
      {"per_second", row.per_second.median()},
      {"per_second_least", row.per_second.least()},
      {"per_second_most", row.per_second.most()},
      {"background_load", row.background},
      {"seconds", result.seconds},
      {"count", result.operations()},
      {"operations", program::Json::object()},
      {"latency", LatencyOf(result.latency())},
      {"hits", result.hits},
      {"misses", result.misses},
      {"refused", result.refused},
      {"reads_per_get", result.reads_per_get()},
      {"torn_reads", row.torn_reads()},
      {"late_starts", result.late_starts},
      {"never_started", result.never_started},
      {"missed_starts", result.missed_starts()},
      {"client_cpu_seconds_per_million", row.client_cpu()},
      {"server_cpu_seconds_per_million", server ? program::Json(*server) : program::Json(nullptr)},
      {"client", JsonOf(result.stats)}};
  for (size_t i = 0; i < kKinds; ++i) {
    if (result.latencies[i].count() == 0) continue;
    object["operations"][std::string(kKindNames[i])] = OperationOf(result.latencies[i], row);
  }
  if (study.settings.drive.duration.count() > 0) object["over_time"] = OverTime(study, result);
  return object;
}

void AddItems(const Workload& workload, program::Json* object) {
  static constexpr auto kNames = std::to_array<const char*>({"uniform", "zipfian", "latest"});
  (*object)["items"] = workload.items;
  (*object)["key_bytes"] = workload.shape.key_bytes;
  (*object)["value_bytes_least"] = workload.shape.value_bytes_least;
  (*object)["value_bytes_most"] = workload.shape.value_bytes_most;
  (*object)["distribution"] = kNames[static_cast<size_t>(workload.popularity)];
  if (workload.popularity != Popularity::kUniform) (*object)["exponent"] = workload.exponent;
}

program::Json SettingsOf(const RunStudy& study) {
  const RunSettings& settings = study.settings;
  const Workload& workload = settings.workload;
  program::Json object = program::Json::object();
  object["workload"] = workload.name;
  object["server"] = study.uri;
  object["own_server"] = settings.server.uri.empty();
  if (workload.replay) {
    object["requests"] = workload.replay->size();
  } else {
    AddItems(workload, &object);
  }
  for (size_t i = 0; i < kKinds; ++i) {
    const double part = workload.mix.part(static_cast<Kind>(i));
    if (part > 1e-9) object["mix"][std::string(kKindNames[i])] = part;
  }
  object["clients"] = settings.drive.clients;
  object["window"] = settings.drive.window;
  object["rounds"] = settings.rounds;
  object["duration_us"] = settings.drive.duration.count();
  object["warmup_us"] = settings.drive.warmup.count();
  object["location_cache_bytes"] = settings.drive.client.location_cache_bytes;
  return object;
}

}  // namespace

program::Json JsonOf(const RunStudy& study) {
  program::Json object = SettingsOf(study);
  if (study.load_seconds > 0) object["load_seconds"] = study.load_seconds;
  if (study.memory) {
    const ServerMemory& memory = *study.memory;
    object["memory"] = {{"items", memory.items},
                        {"used_bytes", memory.used_bytes},
                        {"payload_bytes", memory.payload_bytes}};
    if (memory.items > 0) {
      object["memory"]["bytes_per_item"] =
          static_cast<double>(memory.used_bytes) / static_cast<double>(memory.items);
    }
  }
  object["runs"] = program::Json::array();
  for (const RunRow& row : study.rows) object["runs"].push_back(RowOf(study, row));
  return object;
}

}  // namespace plov::bench
