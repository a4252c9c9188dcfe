#include "verify/counters.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace plov::verify {

namespace {

using enum Counter;
using enum Together;

constexpr bool kGrows = true;
constexpr bool kVaries = false;

constexpr std::array<CounterInfo, kCounterCount> kTable = {{
    {kItems, "items", kVaries, kSum, "Items stored."},
    {kItemsDisplaced, "items_displaced", kVaries, kSum, "Items that are not in their home bucket."},
    {kPayloadBytes, "payload_bytes", kVaries, kSum, "Keys and values stored."},
    {kFullPercent, "full_percent", kVaries, kMost,
     "What tables, stash and live records take of the memory that they can have."},
    {kMemoryBytes, "memory_bytes", kVaries, kSum, "The budget of memory."},
    {kMemoryUsedBytes, "memory_used_bytes", kVaries, kSum,
     "Taken by tables, stash and records, dead ones included."},
    {kMemoryCommittedBytes, "memory_committed_bytes", kVaries, kSum, "Taken from the host."},
    {kHostRefuses, "host_refuses", kVaries, kMost, "Whether the host gives less than the budget."},
    {kTablePercent, "table_percent", kVaries, kMost, "Buckets that are taken."},
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
    {kGetsByMessage, "gets_by_message", kGrows, kSum, "GETs that the server answered."},
    {kNoSpace, "no_space", kGrows, kSum, "PUTs that were refused for want of memory."},
    {kExpired, "expired", kGrows, kSum, "Items that were removed after their time."},
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
    {kLogCommitUsP50, "log_commit_us_p50", kVaries, kMost, "Median time of a commit."},
    {kLogCommitUsP99, "log_commit_us_p99", kVaries, kMost, "What one commit in 100 exceeds."},
    {kLogCommitUsMax, "log_commit_us_max", kVaries, kMost, "The longest commit."},
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
    {kSnapshotAtUs, "snapshot_at_us", kVaries, kMost, "When the last one was taken."},
    {kReportedGets, "reported_gets", kGrows, kSum, "GETs, as clients report them."},
    {kReportedReads, "reported_reads", kGrows, kSum, "READs of these GETs."},
    {kReportedTorn, "reported_torn", kGrows, kSum,
     "Of these, the ones that were torn and made again."},
    {kCpuUs, "cpu_us", kGrows, kSum, "CPU time of the shard's thread."},
    {kStartedAtUs, "started_at_us", kVaries, kMost, "When the server was started."},
}};

constexpr bool IsInOrder() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].counter != static_cast<Counter>(i)) return false;
  }
  return true;
}
static_assert(IsInOrder());
static_assert(kCounterTextMax >= 2048);

uint64_t SecondsBetween(uint64_t from_us, uint64_t to_us) {
  return to_us > from_us ? (to_us - from_us) / 1'000'000 : 0;
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
    if (info.counter == kSnapshotAtUs) {
      lines.Add("snapshot_age_s", SecondsBetween(value, unix_us));
    } else {
      lines.Add(info.name, value);
    }
  }
  for (size_t i = 0; i < kHistogramCount; ++i) {
    const Times& times = counters.histograms[i];
    const std::string name(HistogramName(static_cast<Histogram>(i)));
    for (size_t bucket = 0; bucket < kTimeBuckets; ++bucket) {
      if (times.counts[bucket] == 0) continue;
      lines.Add(bucket + 1 == kTimeBuckets
                    ? name + "s_longer"
                    : name + "s_under_us_" + std::to_string(uint64_t{1} << bucket),
                times.counts[bucket]);
    }
    lines.Add(name + "s_us", times.sum_us);
  }
  const uint64_t started_us = counters[kStartedAtUs];
  lines.Add("uptime_us", unix_us > started_us ? unix_us - started_us : 0);
  lines.Add("clock_us", unix_us);
  return lines.Take() + counters.text;
}

}  // namespace plov::verify
