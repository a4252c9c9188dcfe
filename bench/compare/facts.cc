#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "bench/compare/study.h"
#include "bench/fabric/study.h"
#include "bench/shared/tested_server.h"
#include "bench/table/shard.h"
#include "verify/bucket.h"

namespace plov::bench {

namespace {

// Longer than the server spins after its last PUT.
constexpr std::chrono::milliseconds kSettle{200};
constexpr std::chrono::seconds kIdle{10};
constexpr std::chrono::seconds kIdleQuick{1};
constexpr double kMillion = 1e6;

constexpr uint64_t kBuckets = uint64_t{1} << 16;
constexpr uint64_t kItems = kBuckets / 4 * 3;  // 75 %
constexpr size_t kCacheBytes = kItems * 1024;  // so large that no two locations drive out a third
constexpr uint32_t kInlineValueBytes = 16;     // with a key of 16 it lies in the bucket
constexpr uint32_t kRecordValueBytes = 64;

double SecondsOf(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// GETs of all clients, by both ways, and how many of them were in calls in which all went well.
struct Gets {
  uint64_t asked = 0;
  uint64_t right = 0;
  std::optional<Error> error = {};
};

Gets GetAll(std::initializer_list<Plov*> clients, std::chrono::microseconds duration) {
  Gets gets;
  for (Plov* client : clients) {
    for (const Way way : {Way::kGet, Way::kGetMany}) {
      const uint64_t before = client->client().stats().gets;
      const auto rate = client->Rate(way, duration);
      const uint64_t count = client->client().stats().gets - before;
      gets.asked += count;
      if (rate) gets.right += count;
      if (!rate) gets.error = rate.error();
    }
  }
  return gets;
}

// CPU seconds of a server while something is done.
std::expected<double, Error> CpuDuring(const program::Process& server,
                                       const std::function<void()>& something) {
  std::this_thread::sleep_for(kSettle);
  const auto before = server.CpuTime();
  something();
  const auto after = server.CpuTime();
  if (!before || !after) return std::unexpected(before ? after.error() : before.error());
  return SecondsOf(*after - *before);
}

std::expected<GoalRow, Error> CpuWhileGetting(const program::Process& server,
                                              std::initializer_list<Plov*> clients,
                                              std::chrono::microseconds duration) {
  Gets gets;
  const auto seconds = CpuDuring(server, [&] { gets = GetAll(clients, duration); });
  if (gets.error) return std::unexpected(*gets.error);
  if (!seconds) return std::unexpected(seconds.error());
  GoalRow row(kServerCpu);
  row.own_value = fmt::format("{:.6f} s for {} GETs", *seconds, gets.asked);
  row.measured.Add(*seconds / static_cast<double>(gets.asked) * kMillion);
  return row;
}

GoalRow GetsWhileStopped(program::Process* server, std::initializer_list<Plov*> clients,
                         std::chrono::microseconds duration) {
  server->Stop();
  const Gets gets = GetAll(clients, duration);
  server->Continue();
  GoalRow row(kServerStopped);
  row.own_value = fmt::format("{} GETs", gets.asked);
  row.measured.Add(100.0 * static_cast<double>(gets.right) / static_cast<double>(gets.asked));
  return row;
}

double ReadsPerGet(const ClientStats& before, const ClientStats& after) {
  return static_cast<double>(after.reads - before.reads) /
         static_cast<double>(after.gets - before.gets);
}

// Keys that nobody has stored: the numbers go on.
std::expected<double, Error> ReadsPerMiss(const Work& work, Client* client) {
  const ClientStats before = client->stats();
  std::string key;
  for (uint64_t number = work.count(); number < 2 * work.count(); ++number) {
    work.items().FillKey(number, &key);
    const auto result = client->Get(key);
    if (!result) return std::unexpected(result.error());
    if (*result) return work.Wrong(key);
  }
  return ReadsPerGet(before, client->stats());
}

std::expected<double, Error> ReadsPerHit(const Work& work, Plov* client) {
  const ClientStats before = client->client().stats();
  if (auto got = client->Do(Way::kGet, {0, work.count()}); !got) {
    return std::unexpected(got.error());
  }
  return ReadsPerGet(before, client->client().stats());
}

GoalRow ReadRow(const FactGoal& goal, double reads, double fill_percent) {
  GoalRow row(goal);
  row.own_value = fmt::format("{:.4f} at {:.1f} % fill", reads, fill_percent);
  row.measured.Add(reads);
  return row;
}

// Of hits, where nothing is remembered and where all is, and of misses.
std::expected<std::vector<GoalRow>, Error> CountReads(const program::OwnServerOptions& options,
                                                      uint32_t value_bytes,
                                                      const std::array<FactGoal, 3>& goals) {
  const Work work(
      kItems, {.key_bytes = 16, .value_bytes_least = value_bytes, .value_bytes_most = value_bytes});
  program::OwnServer server(options);
  if (auto started = server.Start(program::Life::kFirst); !started) {
    return std::unexpected(started.error());
  }
  auto cold = Plov::Connect(work, server.uri());
  if (!cold) return std::unexpected(cold.error());
  auto known = Plov::Connect(work, server.uri(), {.location_cache_bytes = kCacheBytes});
  if (!known) return std::unexpected(known.error());
  if (auto filled = (*cold)->Fill(); !filled) return std::unexpected(filled.error());
  if (auto warm = (*known)->WarmUp(); !warm) return std::unexpected(warm.error());
  const auto stats = (*cold)->client().ServerStats();
  if (!stats) return std::unexpected(stats.error());
  const auto buckets = static_cast<double>(StatOf(stats->at(0), "buckets"));
  const std::array reads = {ReadsPerHit(work, cold->get()), ReadsPerHit(work, known->get()),
                            ReadsPerMiss(work, &(*cold)->client())};
  std::vector<GoalRow> rows;
  for (size_t i = 0; i < reads.size(); ++i) {
    if (!reads.at(i)) return std::unexpected(reads.at(i).error());
    rows.push_back(
        ReadRow(goals.at(i), *reads.at(i), 100.0 * static_cast<double>(work.count()) / buckets));
  }
  return rows;
}

}  // namespace

std::expected<GoalRow, Error> CpuWhenIdle(const program::Process& server,
                                          std::chrono::seconds duration) {
  const auto used = CpuDuring(server, [&] { std::this_thread::sleep_for(duration); });
  if (!used) return std::unexpected(used.error());
  GoalRow row(kIdleCpu);
  row.own_value = fmt::format("{:.6f} s in {} s", *used, duration.count());
  row.measured.Add(100 * *used / static_cast<double>(duration.count()));
  return row;
}

std::expected<std::vector<GoalRow>, Error> ServerFacts(program::Process* server, Plov* cold,
                                                       Plov* known,
                                                       const CompareSettings& settings) {
  std::vector<GoalRow> rows;
  auto cpu = CpuWhileGetting(*server, {cold, known}, settings.duration);
  if (!cpu) return std::unexpected(cpu.error());
  rows.push_back(std::move(*cpu));
  rows.push_back(GetsWhileStopped(server, {cold, known}, settings.duration));
  auto idle = CpuWhenIdle(*server, settings.quick ? kIdleQuick : kIdle);
  if (!idle) return std::unexpected(idle.error());
  rows.push_back(std::move(*idle));
  return rows;
}

std::expected<std::vector<GoalRow>, Error> ReadFacts(const std::string& plovd,
                                                     const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directory(folder, failed);
  program::OwnServerOptions options = ServerFor(plovd, folder, kItems, kRecordValueBytes);
  options.bucket_bytes = verify::kBucketBytesMin;  // so that there are records
  const auto record =
      CountReads(options, kRecordValueBytes, {kReadsRecord, kReadsRecordKnown, kReadsMiss});
  if (!record) return std::unexpected(record.error());
  auto rows = CountReads(options, kInlineValueBytes, {kReadsInline, kReadsInlineKnown, kReadsMiss});
  if (!rows) return rows;
  // Misses are looked for in the same way: told of once, last.
  rows->back() = record->back();
  rows->insert(rows->begin(), record->begin(), record->end() - 1);
  return rows;
}

std::expected<double, Error> FillOfTable(uint64_t buckets, uint64_t seed) {
  auto shard = TableShard::Create({.bucket_count = buckets, .seed = seed});
  if (!shard) return std::unexpected(shard.error());
  const Items items({.key_bytes = 16, .value_bytes_least = 16, .value_bytes_most = 16});
  std::string key;
  uint64_t stored = 0;
  for (items.FillKey(stored, &key); shard->Put(key, key); items.FillKey(stored, &key)) ++stored;
  return 100.0 * static_cast<double>(stored) / static_cast<double>(buckets);
}

GoalRow FillFact() {
  GoalRow row(kTableFill);
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const auto fill = FillOfTable(kBuckets, seed);
    if (!fill) {
      row.skipped = fill.error().message;
      return row;
    }
    row.measured.Add(*fill);
  }
  row.own_value = Spread(row.measured);
  return row;
}

GoalRow WireFact(const CompareSettings& settings) {
  FabricSettings fabric;
  fabric.plovd = settings.plovd;
  fabric.rounds = settings.rounds;
  fabric.duration = settings.duration;
  GoalRow row(kWireRate);
  if (const auto device = FindDevice({}); !device) {
    row.skipped = "no RDMA device";
    return row;
  }
  const auto study = StudyFabric(fabric);
  if (!study) {
    row.skipped = study.error().message;
    return row;
  }
  const GetRow& gets = study->gets.at(1);  // of records
  row.measured = gets.part;
  row.own_value = Spread(gets.per_second);
  return row;
}

}  // namespace plov::bench
