// Shard: the counters that clients READ.
#include <algorithm>

#include "server/shard.h"

namespace plov::server {

using enum verify::Counter;

namespace {

// A look at the thread's CPU time is a system call.
constexpr uint64_t kCpuPeriodUs = 10'000;

}  // namespace

void Shard::PublishStore() {
  const cuckoo::GrowingTable& grown = store_->table();
  const cuckoo::TableStats table = grown.stats();
  const cuckoo::Geometry& geometry = grown.current().geometry();
  const RecordArea& records = store_->records();
  const Growth& growth = store_->growth();
  page_.Set(kItems, table.items);
  page_.Set(kItemsDisplaced, table.displaced);
  page_.Set(kPayloadBytes, store_->stats().payload_bytes);
  page_.Set(kFullPercent, store_->percent_full());
  page_.Set(kMemoryBytes, store_->memory().budget_bytes());
  page_.Set(kMemoryUsedBytes, store_->memory().used_bytes());
  page_.Set(kMemoryCommittedBytes, store_->region().committed_bytes());
  page_.Set(kHostRefuses, store_->region().host().refuses());
  page_.Set(kTablePercent, table.items * 100 / grown.capacity());
  page_.Set(kTableBytes, growth.table_bytes());
  page_.Set(kBuckets, grown.capacity());
  page_.Set(kBucketBytes, geometry.bucket_bytes);
  page_.Set(kBucketBytesAuto, growth.chooses_buckets());
  page_.Set(kItemBytes64, static_cast<uint64_t>(growth.choice().narrow.item_bytes));
  page_.Set(kItemBytes128, static_cast<uint64_t>(growth.choice().wide.item_bytes));
  page_.Set(kGeneration, geometry.generation);
  page_.Set(kGrowing, grown.phase() != cuckoo::GrowingTable::Phase::kSteady);
  page_.Set(kGrowths, growth.growths());
  page_.Set(kHomesOverflowed, table.overflowed_homes);
  page_.Set(kStashed, table.stashed);
  page_.Set(kStashBytes, store_->stash_bytes());
  page_.Set(kDisplacements, table.moves);
  page_.Set(kRecordsBytes, records.allocated_bytes());
  page_.Set(kRecordsBytesMax, records.used_bytes() + store_->memory().available_bytes());
  page_.Set(kRecordsUsedBytes, records.used_bytes());
  page_.Set(kRecordsMoved, records.moved_records());
  page_.Set(kRecordsMovedBytes, records.moved_bytes());
  page_.Set(kRecoveredItems, store_->recovery().items);
  page_.Set(kRecoveredDamaged, store_->recovery().damaged);
  page_.Set(kCorrupt, store_->stats().corrupt + table.corrupt);
}

void Shard::PublishClients() {
  const StoreStats& stats = store_->stats();
  size_t clients = 0;
  uint64_t connection_bytes = 0;
  for (const Endpoint& endpoint : endpoints_) {
    clients += endpoint.peers.size();
    connection_bytes += endpoint.port->connection_bytes();
  }
  page_.Set(kClients, clients);
  page_.Set(kClientsRefused, admission_ == nullptr ? 0 : admission_->refused());
  page_.Set(kConnectionBytesMax, connection_bytes + sessions_.bytes());
  page_.Set(kSessions, sessions_.size());
  page_.Set(kMessages, counters_.messages);
  page_.Set(kRequests, counters_.requests);
  page_.Set(kPuts, stats.puts);
  page_.Set(kDeletes, stats.deletes);
  page_.Set(kGetsByMessage, stats.fallback_gets);
  page_.Set(kNoSpace, stats.no_space);
  page_.Set(kExpired, stats.expired);
  page_.Set(kClientsDroppedUnconfirmed, counters_.dropped_unconfirmed);
  page_.Set(kRetriesAnswered, counters_.retries_answered);
  page_.Set(kProtocolErrors, counters_.protocol_errors);
  page_.Set(kSleeps, counters_.sleeps);
  page_.Set(kReportedGets, counters_.reported.gets);
  page_.Set(kReportedReads, counters_.reported.reads);
  page_.Set(kReportedTorn, counters_.reported.torn);
}

void Shard::PublishLog() {
  const log::CommitTimes& times = log_->times();
  page_.Set(kLogMode, static_cast<uint64_t>(commit_mode_));
  page_.Set(kLogDurableBatch, log_->durable());
  page_.Set(kLogPendingBatches, log_->pending() ? log_->last_batch() - log_->durable() : 0);
  page_.Set(kLogBytes, log_->bytes_written());
  page_.Set(kLogSegment, log_->segment());
  page_.Set(kLogFailed, log_->failure() != Code::kOk);
  if (times.sum_us() != published_commits_us_) {
    published_commits_us_ = times.sum_us();
    page_.Set(kLogCommitUsP50, times.Quantile(0.5));
    page_.Set(kLogCommitUsP99, times.Quantile(0.99));
    page_.Set(kLogCommitUsMax, times.max_us());
    verify::Times buckets{.counts = {}, .sum_us = published_commits_us_};
    for (size_t i = 0; i < verify::kTimeBuckets; ++i) buckets.counts[i] = times.CountOfWidth(i);
    page_.Set(verify::Histogram::kCommits, buckets);
  }
  if (!snapshot_) return;
  const log::SnapshotFeed::Stats snapshots = snapshot_->feed().stats();
  page_.Set(kSnapshots, snapshots.taken);
  page_.Set(kSnapshotFailures, snapshots.failed);
  page_.Set(kSnapshotRunning, snapshots.running);
  page_.Set(kSnapshotWrittenBytes, snapshots.written_bytes);
  page_.Set(kSnapshotItems, snapshots.items);
  page_.Set(kSnapshotBytes, snapshots.bytes);
  if (snapshots.taken == 0) return;
  const auto age = std::chrono::steady_clock::now() - snapshots.taken_at;
  page_.Set(kSnapshotAtUs,
            store_->UnixUs(MonotonicUs()) -
                static_cast<uint64_t>(
                    std::chrono::duration_cast<std::chrono::microseconds>(age).count()));
}

void Shard::Publish() {
  is_unpublished_ = false;
  published_at_us_ = MonotonicUs();
  PublishStore();
  PublishClients();
  if (log_ != nullptr) PublishLog();
  if (published_at_us_ - cpu_at_us_ < kCpuPeriodUs) return;
  cpu_at_us_ = published_at_us_;
  page_.Set(kCpuUs, ClockUs(CLOCK_THREAD_CPUTIME_ID) / thread_shards_);
}

// A part of a message is to be served again.
void Shard::GoOn(Batch* batch) const {
  const uint64_t took_us = batch->times.GoOn(MonotonicUs());
  if (!batch->request || took_us < batch->slowest.took_us) return;
  batch->slowest = batch->write;
  batch->slowest.took_us = took_us;
}

// Why the message does not go on.
verify::Cause Shard::CauseOf(Outcome outcome, const Batch& batch) {
  using verify::Cause;
  switch (outcome) {
    case Outcome::kWaits:
      return Cause::kGrowth;
    case Outcome::kLogs:
      return Cause::kDisk;
    case Outcome::kReads:
      return Cause::kValue;
    case Outcome::kAgain:
      break;
    default:
      return Cause::kWork;
  }
  switch (batch.writing.room.means) {
    case RoomSearch::Means::kGrowth:
    case RoomSearch::Means::kWait:
      return Cause::kGrowth;
    case RoomSearch::Means::kExpired:
    case RoomSearch::Means::kSparse:
    case RoomSearch::Means::kHole:
    case RoomSearch::Means::kAnyDead:
      return Cause::kCleaning;
    default:
      return Cause::kQueue;
  }
}

void Shard::CountTime(Batch* batch) {
  batch->times.GoOn(MonotonicUs());
  page_.Add(verify::Histogram::kWrites, batch->times.total_us());
  if (batch->times.total_us() >= slow_us_.load(std::memory_order_relaxed)) AddSlow(*batch);
}

void Shard::AddSlow(const Batch& batch) {
  const Batch::Shown& shown = batch.slowest.took_us > 0 ? batch.slowest : batch.write;
  verify::SlowWrite slow{};
  slow.number = ++slow_writes_;
  slow.unix_us = store_->UnixUs(batch.times.begun_us());
  for (size_t i = 0; i < verify::kCauses; ++i) {
    slow.spent_us[i] =
        static_cast<uint32_t>(std::min<uint64_t>(batch.times.spent_us()[i], UINT32_MAX));
  }
  slow.requests = batch.handled;
  slow.operation = static_cast<uint8_t>(shown.operation);
  slow.value_bytes = shown.value_bytes;
  slow.key_bytes = static_cast<uint16_t>(shown.key.size());
  shown.key.copy(slow.key.data(), slow.key.size());
  verify::StoreSlowWrite(verify::WordsAt(store_->region().data(), verify::kSlowWritesOffset), slow);
}

}  // namespace plov::server
