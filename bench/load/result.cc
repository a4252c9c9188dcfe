#include "bench/load/result.h"

#include <algorithm>
#include <utility>

namespace plov::bench {

namespace {

using Counter = std::pair<const char*, uint64_t ClientStats::*>;
constexpr auto kCounters = std::to_array<Counter>({{"gets", &ClientStats::gets},
                                                   {"hits", &ClientStats::hits},
                                                   {"puts", &ClientStats::puts},
                                                   {"reads", &ClientStats::reads},
                                                   {"bucket_reads", &ClientStats::bucket_reads},
                                                   {"record_reads", &ClientStats::record_reads},
                                                   {"known_reads", &ClientStats::known_reads},
                                                   {"known_misses", &ClientStats::known_misses},
                                                   {"torn_buckets", &ClientStats::torn_buckets},
                                                   {"torn_records", &ClientStats::torn_records},
                                                   {"confirmations", &ClientStats::confirmations},
                                                   {"restarts", &ClientStats::restarts},
                                                   {"fallbacks", &ClientStats::fallbacks},
                                                   {"corrupt", &ClientStats::corrupt},
                                                   {"reconnects", &ClientStats::reconnects},
                                                   {"retries", &ClientStats::retries},
                                                   {"refreshes", &ClientStats::refreshes},
                                                   {"late_reads", &ClientStats::late_reads},
                                                   {"map_fetches", &ClientStats::map_fetches},
                                                   {"deposed_gets", &ClientStats::deposed_gets},
                                                   {"deposed_stale", &ClientStats::deposed_stale},
                                                   {"lives", &ClientStats::lives}});
static_assert(sizeof(ClientStats) == kCounters.size() * sizeof(uint64_t), "none is left out");

using Count = std::pair<const char*, uint64_t Result::*>;
constexpr auto kCounts = std::to_array<Count>({{"hits", &Result::hits},
                                               {"misses", &Result::misses},
                                               {"refused", &Result::refused},
                                               {"late_starts", &Result::late_starts},
                                               {"never_started", &Result::never_started}});

}  // namespace

uint64_t Result::operations() const {
  uint64_t count = 0;
  for (const Histogram& latency : latencies) count += latency.count();
  return count;
}

Histogram Result::latency() const {
  Histogram all;
  for (const Histogram& latency : latencies) all.Add(latency);
  return all;
}

double Result::reads_per_get() const {
  return stats.gets == 0 ? 0 : static_cast<double>(stats.reads) / static_cast<double>(stats.gets);
}

void Result::AddCounts(const Result& other) {
  for (size_t i = 0; i < kKinds; ++i) latencies[i].Add(other.latencies[i]);
  for (const auto& [name, count] : kCounts) this->*count += other.*count;
  for (const auto& [name, counter] : kCounters) stats.*counter += other.stats.*counter;
  cpu_seconds += other.cpu_seconds;
  inserted = std::max(inserted, other.inserted);
}

void Result::AddClient(const Result& other) {
  AddCounts(other);
  per_second += other.per_second;
  seconds = std::max(seconds, other.seconds);
  for (size_t i = 0; i < kSlices; ++i) slices[i] += other.slices[i];
}

program::Json JsonOf(const ClientStats& stats) {
  program::Json object = program::Json::object();
  for (const auto& [name, counter] : kCounters) object[name] = stats.*counter;
  return object;
}

ClientStats Difference(const ClientStats& after, const ClientStats& before) {
  ClientStats difference;
  for (const auto& [name, counter] : kCounters) {
    difference.*counter = after.*counter - before.*counter;
  }
  return difference;
}

program::Json EncodeResult(const Result& result) {
  program::Json json = program::Json::object();
  for (const auto& [name, count] : kCounts) json[name] = result.*count;
  json["stats"] = JsonOf(result.stats);
  json["per_second"] = result.per_second;
  json["seconds"] = result.seconds;
  json["cpu_seconds"] = result.cpu_seconds;
  json["slices"] = result.slices;
  for (const Histogram& latency : result.latencies) json["latencies"].push_back(latency.Counts());
  return json;
}

Result DecodeResult(const program::Json& json) {
  Result result;
  for (const auto& [name, count] : kCounts) result.*count = json.at(name);
  for (const auto& [name, counter] : kCounters) result.stats.*counter = json.at("stats").at(name);
  result.per_second = json.at("per_second");
  result.seconds = json.at("seconds");
  result.cpu_seconds = json.at("cpu_seconds");
  result.slices = json.at("slices").get<std::vector<uint64_t>>();
  for (size_t i = 0; i < kKinds; ++i) {
    for (const auto& point : json.at("latencies").at(i)) {
      result.latencies[i].Count(point.at(0).get<uint64_t>(), point.at(1).get<uint64_t>());
    }
  }
  return result;
}

}  // namespace plov::bench
