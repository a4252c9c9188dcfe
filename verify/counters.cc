#include "verify/counters.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

namespace plov::verify {

namespace {

using enum Counter;
using enum Together;
using enum Unit;

constexpr bool kGrows = true;
constexpr bool kVaries = false;

constexpr std::array<CounterInfo, kCounterCount> kTable = {{
    {kItems, "items", kVaries, kSum, "Items stored."},
    {kItemsDisplaced, "items_displaced", kVaries, kSum, "Items that are not in their home bucket."},
    {kPayloadBytes, "payload_bytes", kVaries, kSum, "Keys and values stored."},
    {kFullPercent, "full_percent", kVaries, kMost,
     "What tables, stash and live records take of the memory that they can have.", kPercent},
    {kMemoryBytes, "memory_bytes", kVaries, kSum, "The budget of memory."},
    {kMemoryUsedBytes, "memory_used_bytes", kVaries, kSum,
     "Taken by tables, stash and records, dead ones included."},
    {kMemoryCommittedBytes, "memory_committed_bytes", kVaries, kSum, "Taken from the host."},
    {kHostRefuses, "host_refuses", kVaries, kMost, "Whether the host gives less than the budget."},
    {kTablePercent, "table_percent", kVaries, kMost, "Buckets that are taken.", kPercent},
    {kTableBytes, "table_bytes", kVaries, kSum, "Tables: in use, next, and those that drain."},
    {kBuckets, "buckets", kVaries, kSum, "Buckets of the table."},
    {kBucketBytes, "bucket_bytes", kVaries, kMost, "Size of a bucket."},
    {kBucketBytesAuto, "bucket_bytes_auto", kVaries, kMost,
     "Whether each growth chooses the size of buckets."},
    {kItemBytes64, "item_bytes_64", kVaries, kMost,
     "What an item takes on average in buckets of 64 bytes."},
    {kItemBytes128, "item_bytes_128", kVaries, kMost,
     "What an item takes on average in buckets of 128 bytes."},
    {kGeneration, "generation", kVaries, kMost, "Generation of the table."},
    {kGrowing, "growing", kVaries, kMost, "Whether the table grows."},
    {kGrowths, "growths", kGrows, kSum, "How often the table grew."},
    {kHomesOverflowed, "homes_overflowed", kVaries, kSum,
     "Home buckets some of whose keys are elsewhere."},
    {kStashed, "stashed", kVaries, kSum, "Items that found no bucket."},
    {kStashBytes, "stash_bytes", kVaries, kSum, "Memory of the stash."},
    {kDisplacements, "displacements", kGrows, kSum, "Items that were moved for another one."},
    {kRecordsBytes, "records_bytes", kVaries, kSum, "Live records."},
    {kRecordsBytesMax, "records_bytes_max", kVaries, kSum, "What records can have."},
    {kRecordsUsedBytes, "records_used_bytes", kVaries, kSum, "Blocks and runs of records."},
    {kRecordsMoved, "records_moved", kGrows, kSum, "Records that cleaning moved."},
    {kRecordsMovedBytes, "records_moved_bytes", kGrows, kSum, "Bytes that cleaning moved."},
    {kRecoveredItems, "recovered_items", kVaries, kSum, "Items that a warm start took over."},
    {kRecoveredDamaged, "recovered_damaged", kVaries, kSum,
     "Items that a warm start found damaged."},
    {kClients, "clients", kVaries, kMost, "Clients that are connected."},
    {kClientsRefused, "clients_refused", kGrows, kMost, "Connections that were refused."},
    {kConnectionBytesMax, "connection_bytes_max", kVaries, kSum,
     "The most memory that the present connections can take."},
    {kSessions, "sessions", kVaries, kMost, "Clients whose last writes are remembered."},
    {kMessages, "messages", kGrows, kSum, "Messages from clients."},
    {kRequests, "requests", kGrows, kSum, "Requests in these messages."},
    {kPuts, "puts", kGrows, kSum, "PUTs that were applied."},
    {kDeletes, "deletes", kGrows, kSum, "DELETEs that removed something."},
    {kCommits, "commits", kGrows, kSum, "Commits that were applied, whose writes count as well."},
    {kCommitsRefused, "commits_refused", kGrows, kSum,
     "Commits whose reads did not stand any more."},
    {kGetsByMessage, "gets_by_message", kGrows, kSum, "GETs that the server answered."},
    {kNoSpace, "no_space", kGrows, kSum, "PUTs that were refused for want of memory."},
    {kExpired, "expired", kGrows, kSum, "Items that were removed after their time."},
    {kEvicted, "evicted", kGrows, kSum, "Items that made room for others (--evict)."},
    {kHitsTold, "hits_told", kGrows, kSum, "Hits that clients told of, for eviction."},
    {kCorrupt, "corrupt", kGrows, kSum, "Operations that met damaged bytes."},
    {kClientsDroppedUnconfirmed, "clients_dropped_unconfirmed", kGrows, kSum,
     "Clients that were dropped because they kept the memory of an old table."},
    {kRetriesAnswered, "retries_answered", kGrows, kSum,
     "Writes that came again and had been applied."},
    {kProtocolErrors, "protocol_errors", kGrows, kSum, "Clients that were dropped for garbage."},
    {kSleeps, "sleeps", kGrows, kSum, "How often the shard's thread went to sleep."},
    {kLogMode, "log_mode", kVaries, kMost, "0 strict, 1 acked, 2 async."},
    {kLogDurableBatch, "log_durable_batch", kVaries, kMost, "The last batch that is durable."},
    {kLogPendingBatches, "log_pending_batches", kVaries, kSum, "Batches that are not durable yet."},
    {kLogCommitUsP50, "log_commit_us_p50", kVaries, kMost, "Median time of a commit.",
     kMicroseconds},
    {kLogCommitUsP99, "log_commit_us_p99", kVaries, kMost, "What one commit in 100 exceeds.",
     kMicroseconds},
    {kLogCommitUsMax, "log_commit_us_max", kVaries, kMost, "The longest commit.", kMicroseconds},
    {kLogBytes, "log_bytes", kGrows, kSum, "Written to the log."},
    {kLogSegment, "log_segment", kVaries, kMost, "The segment in use."},
    {kLogFailed, "log_failed", kVaries, kMost, "Whether the log cannot be written."},
    {kSnapshots, "snapshots", kGrows, kSum, "Snapshots that were taken."},
    {kSnapshotFailures, "snapshot_failures", kGrows, kSum, "Snapshots that could not be taken."},
    {kSnapshotRunning, "snapshot_running", kVaries, kMost, "Whether one is being taken."},
    {kSnapshotWrittenBytes, "snapshot_written_bytes", kVaries, kSum,
     "Written of the one that is being taken, or was last."},
    {kSnapshotItems, "snapshot_items", kVaries, kSum, "Items in the last one."},
    {kSnapshotBytes, "snapshot_bytes", kVaries, kSum, "Bytes of the last one."},
    {kSnapshotAtUs, "snapshot_at_us", kVaries, kMost, "When the last one was taken.",
     kUnixMicroseconds},
    {kReplicas, "replicas", kVaries, kMost, "Replicas that the shard is to have."},
    {kReplicaPrimary, "replica_primary", kVaries, kSum,
     "Whether this one serves as the shard's primary."},
    {kReplicasInSync, "replicas_in_sync", kVaries, kSum,
     "Replicas that hold all that is acknowledged, as far as this one knows."},
    {kReplicaEpoch, "replica_epoch", kVaries, kMost, "The epoch that this one is in."},
    {kReplicaPending, "replica_pending", kVaries, kSum,
     "Messages of writes that not all replicas hold yet."},
    {kReplicaSafeAtUs, "replica_safe_at_us", kVaries, kMost,
     "All that was acknowledged before is in this one.", kUnixMicroseconds},
    {kPromotions, "replica_promotions", kGrows, kSum, "How often this one became the primary."},
    {kReportedGets, "reported_gets", kGrows, kSum, "GETs, as clients report them."},
    {kReportedReads, "reported_reads", kGrows, kSum, "READs of these GETs."},
    {kReportedTorn, "reported_torn", kGrows, kSum,
     "Of these, the ones that were torn and made again."},
    {kCpuUs, "cpu_us", kGrows, kSum, "CPU time of the shard's thread.", kMicroseconds},
    {kStartedAtUs, "started_at_us", kVaries, kMost, "When the server was started.",
     kUnixMicroseconds},
}};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].counter != static_cast<Counter>(i)) return false;
  }
  return true;
}
static_assert(IsInOrder());
static_assert(kCounterTextMax >= 2048);
static_assert(kCounterCount == 77 && kCounterTextAt == 1096);  // man/plov-format.5 says so, too

// Lines beside those of the table and the histograms.
constexpr std::string_view kSnapshotAge = "snapshot_age_s";
constexpr std::string_view kUptime = "uptime_us";
constexpr std::string_view kClock = "clock_us";

std::string BucketName(Histogram histogram, size_t bucket) {
  const std::string name(HistogramName(histogram));
  return bucket + 1 == kTimeBuckets ? name + "s_longer"
                                    : name + "s_under_us_" + std::to_string(uint64_t{1} << bucket);
}

std::string SumName(Histogram histogram) { return std::string(HistogramName(histogram)) + "s_us"; }

uint64_t SecondsBetween(uint64_t from_us, uint64_t to_us) {
  return to_us > from_us ? (to_us - from_us) / 1'000'000 : 0;
}

std::string_view TakeLine(std::string_view* text) {
  const std::string_view line = text->substr(0, text->find('\n'));
  text->remove_prefix(std::min(text->size(), line.size() + 1));
  return line;
}

// A line "name value".
std::pair<std::string_view, std::string_view> Split(std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  return {line.substr(0, space), line.substr(std::min(space + 1, line.size()))};
}

class Lines {
 public:
  void Add(std::string_view name, uint64_t value) {
    text_.append(name).append(1, ' ').append(std::to_string(value)).append(1, '\n');
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

const std::array<CounterInfo, kCounterCount>& CounterTable() { return kTable; }

std::string_view HistogramName(Histogram histogram) {
  return histogram == Histogram::kWrites ? "write" : "commit";
}

size_t TimeBucketOf(uint64_t us) {
  return std::min<size_t>(static_cast<size_t>(std::bit_width(us)), kTimeBuckets - 1);
}

std::optional<Counters> ReadCounters(std::span<const std::byte> page) {
  struct {
    uint64_t magic;
    uint32_t counters;
    uint32_t text_bytes;
  } head;
  static_assert(sizeof(head) == WordOf(Counter{}) * kWordBytes);
  if (page.size() < kPageBytes) return std::nullopt;
  std::memcpy(&head, page.data(), sizeof(head));
  if (head.magic != kCountersMagic || head.counters != kCounterCount ||
      head.text_bytes > kCounterTextMax) {
    return std::nullopt;
  }
  Counters counters;
  std::memcpy(counters.values.data(), page.data() + sizeof(head), sizeof(counters.values));
  std::memcpy(counters.histograms.data(), page.data() + WordOf(Histogram{}) * kWordBytes,
              sizeof(counters.histograms));
  counters.text.resize(head.text_bytes);
  std::memcpy(counters.text.data(), page.data() + kCounterTextAt, head.text_bytes);
  return counters;
}

std::string TextOf(const Counters& counters, uint64_t unix_us) {
  Lines lines;
  for (const CounterInfo& info : kTable) {
    const uint64_t value = counters[info.counter];
    if (value == UINT64_MAX) continue;
    lines.Add(info.name, value);
    if (info.counter == kSnapshotAtUs) lines.Add(kSnapshotAge, SecondsBetween(value, unix_us));
  }
  for (size_t i = 0; i < kHistogramCount; ++i) {
    const Times& times = counters.histograms[i];
    for (size_t bucket = 0; bucket < kTimeBuckets; ++bucket) {
      if (times.counts[bucket] == 0) continue;
      lines.Add(BucketName(static_cast<Histogram>(i), bucket), times.counts[bucket]);
    }
    lines.Add(SumName(static_cast<Histogram>(i)), times.sum_us);
  }
  const uint64_t started_us = counters[kStartedAtUs];
  lines.Add(kUptime, unix_us > started_us ? unix_us - started_us : 0);
  lines.Add(kClock, unix_us);
  return lines.Take() + counters.text;
}

ToldCounters CountersOf(std::string_view text) {
  ToldCounters told{};
  told.counters.values.fill(UINT64_MAX);
  std::map<std::string, uint64_t*, std::less<>> places = {{std::string(kClock), &told.unix_us}};
  for (const CounterInfo& info : kTable) {
    places.emplace(info.name, &told.counters.values[static_cast<size_t>(info.counter)]);
  }
  for (size_t i = 0; i < kHistogramCount; ++i) {
    const auto histogram = static_cast<Histogram>(i);
    Times& times = told.counters.histograms[i];
    places.emplace(SumName(histogram), &times.sum_us);
    for (size_t bucket = 0; bucket < kTimeBuckets; ++bucket) {
      places.emplace(BucketName(histogram, bucket), &times.counts[bucket]);
    }
  }
  while (!text.empty()) {
    const std::string_view line = TakeLine(&text);
    const auto [name, number] = Split(line);
    if (const auto place = places.find(name); place != places.end()) {
      std::from_chars(number.data(), number.data() + number.size(), *place->second);
    } else if (name != kSnapshotAge && name != kUptime) {
      told.counters.text.append(line).append(1, '\n');
    }
  }
  return told;
}

std::string_view TextValue(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const auto [own, value] = Split(TakeLine(&text));
    if (own == name) return value;
  }
  return {};
}

Counters TotalOf(std::span<const Counters> shards) {
  Counters total{};
  total.values.fill(UINT64_MAX);
  for (const Counters& shard : shards) {
    for (const CounterInfo& info : kTable) {
      uint64_t& all = total.values[static_cast<size_t>(info.counter)];
      const uint64_t own = shard[info.counter];
      if (own == UINT64_MAX) continue;
      if (all == UINT64_MAX) all = 0;
      all = info.together == kSum ? all + own : std::max(all, own);
    }
    for (size_t i = 0; i < kHistogramCount; ++i) {
      const Times& own = shard.histograms[i];
      Times& all = total.histograms[i];
      std::ranges::transform(all.counts, own.counts, all.counts.begin(), std::plus());
      all.sum_us += own.sum_us;
    }
  }
  return total;
}

}  // namespace plov::verify
