#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <thread>

#include "bench/compare/rows.h"
#include "bench/fabric/study.h"
#include "bench/table/shard.h"
#include "program/own_server.h"
#include "verify/bucket.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;

// Longer than the server spins after its last PUT.
constexpr std::chrono::milliseconds kSettle{200};
constexpr std::chrono::seconds kIdle{10};
constexpr std::chrono::seconds kIdleQuick{1};
constexpr double kMillion = 1e6;

constexpr uint64_t kBuckets = uint64_t{1} << 16;
constexpr uint64_t kItems = kBuckets / 4 * 3;  // 75 %
constexpr size_t kCacheBytes = kItems * 1024;  // so large that no two locations drive out a third
constexpr uint64_t kSmallServerBytes = uint64_t{256} << 20;
constexpr uint32_t kInlineValueBytes = 16;  // with a key of 16 it lies in the bucket
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

std::expected<GoalRow, Error> CpuWhileGetting(const program::Process& server,
                                              std::initializer_list<Plov*> clients,
                                              std::chrono::microseconds duration) {
  std::this_thread::sleep_for(kSettle);
  const auto before = server.CpuTime();
  if (!before) return std::unexpected(before.error());
  const Gets gets = GetAll(clients, duration);
  if (gets.error) return std::unexpected(*gets.error);
  const auto after = server.CpuTime();
  if (!after) return std::unexpected(after.error());
  const double seconds = SecondsOf(*after - *before);
  GoalRow row(kServerCpu);
  row.own_value = fmt::format("{:.6f} s for {} GETs", seconds, gets.asked);
  row.measured.Add(seconds / static_cast<double>(gets.asked) * kMillion);
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

struct ReadCounts {
  double fill_percent = 0;
  double cold = 0;
  double known = 0;
  double miss = 0;
};

std::expected<double, Error> ReadsPerHit(const Work& work, Plov* client) {
  const ClientStats before = client->client().stats();
  if (auto got = client->Do(Way::kGet, {0, work.count()}); !got) {
    return std::unexpected(got.error());
  }
  return ReadsPerGet(before, client->client().stats());
}

std::expected<ReadCounts, Error> CountReads(const program::OwnServerOptions& options,
                                            uint32_t value_bytes) {
  const Work work(
      kItems, {.key_bytes = 16, .value_bytes_least = value_bytes, .value_bytes_most = value_bytes});
  program::OwnServer server(options);
  if (auto started = server.Start(program::Life::kFirst); !started) {
    return std::unexpected(started.error());
  }
  auto cold = Plov::Connect(work, server.uri(), 0);
  if (!cold) return std::unexpected(cold.error());
  auto known = Plov::Connect(work, server.uri(), kCacheBytes);
  if (!known) return std::unexpected(known.error());
  if (auto filled = (*cold)->Fill(); !filled) return std::unexpected(filled.error());
  if (auto warm = (*known)->WarmUp(); !warm) return std::unexpected(warm.error());
  const auto stats = (*cold)->client().ServerStats();
  if (!stats) return std::unexpected(stats.error());
  ReadCounts counts;
  const auto buckets = static_cast<double>(StatOf(stats->at(0), "buckets"));
  counts.fill_percent = 100.0 * static_cast<double>(work.count()) / buckets;
  const auto hit = ReadsPerHit(work, cold->get());
  if (!hit) return std::unexpected(hit.error());
  const auto known_hit = ReadsPerHit(work, known->get());
  if (!known_hit) return std::unexpected(known_hit.error());
  const auto miss = ReadsPerMiss(work, &(*cold)->client());
  if (!miss) return std::unexpected(miss.error());
  counts.cold = *hit;
  counts.known = *known_hit;
  counts.miss = *miss;
  return counts;
}

GoalRow ReadRow(const FactGoal& goal, double reads, double fill_percent) {
  GoalRow row(goal);
  row.own_value = fmt::format("{:.4f} at {:.1f} % fill", reads, fill_percent);
  row.measured.Add(reads);
  return row;
}

}  // namespace

std::expected<GoalRow, Error> CpuWhenIdle(const program::Process& server,
                                          std::chrono::seconds duration) {
  std::this_thread::sleep_for(kSettle);
  const auto before = server.CpuTime();
  if (!before) return std::unexpected(before.error());
  const auto start = Clock::now();
  std::this_thread::sleep_for(duration);
  const auto after = server.CpuTime();
  if (!after) return std::unexpected(after.error());
  const double used = SecondsOf(*after - *before);
  GoalRow row(kIdleCpu);
  row.own_value = fmt::format("{:.6f} s in {} s", used, duration.count());
  row.measured.Add(100 * used / SecondsOf(Clock::now() - start));
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
  program::OwnServerOptions options;
  options.plovd = plovd;
  options.folder = folder;
  options.memory_bytes = kSmallServerBytes;
  options.bucket_bytes = verify::kBucketBytesMin;  // so that there are records
  options.max_value_bytes = uint64_t{1} << 20;
  const auto record = CountReads(options, kRecordValueBytes);
  if (!record) return std::unexpected(record.error());
  const auto in_bucket = CountReads(options, kInlineValueBytes);
  if (!in_bucket) return std::unexpected(in_bucket.error());
  return std::vector<GoalRow>{ReadRow(kReadsRecord, record->cold, record->fill_percent),
                              ReadRow(kReadsRecordKnown, record->known, record->fill_percent),
                              ReadRow(kReadsInline, in_bucket->cold, in_bucket->fill_percent),
                              ReadRow(kReadsInlineKnown, in_bucket->known, in_bucket->fill_percent),
                              ReadRow(kReadsMiss, record->miss, record->fill_percent)};
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
