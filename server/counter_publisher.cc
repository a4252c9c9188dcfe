#include "server/counter_publisher.h"

#include <chrono>
#include <utility>

namespace plov::server {

using enum verify::Counter;

namespace {

// Between two times that a busy shard brings its counters up to date.
constexpr uint64_t kPeriodUs = 1000;
// A look at the thread's CPU time is a system call.
constexpr uint64_t kCpuPeriodUs = 10'000;

// CPU time of the calling thread that was not taken yet.
uint64_t TakeThreadCpuUs() {
  thread_local uint64_t taken_us = 0;
  const uint64_t cpu_us = ClockUs(CLOCK_THREAD_CPUTIME_ID);
  return cpu_us - std::exchange(taken_us, cpu_us);
}

}  // namespace

bool CounterPublisher::IsDue(uint64_t now_us) const {
  return has_moved_ && now_us - published_at_us_ >= kPeriodUs;
}

void CounterPublisher::PublishStore() {
  const cuckoo::GrowingTable& grown = store_->table();
  const cuckoo::TableStats table = grown.stats();
  const cuckoo::Geometry& geometry = grown.current().geometry();
  const RecordArea& records = store_->records();
  const Growth& growth = store_->growth();
  page_->Set(kItems, table.items);
  page_->Set(kItemsDisplaced, table.displaced);
  page_->Set(kPayloadBytes, store_->stats().payload_bytes);
  page_->Set(kFullPercent, store_->percent_full());
  page_->Set(kMemoryBytes, store_->memory().budget_bytes());
  page_->Set(kMemoryUsedBytes, store_->memory().used_bytes());
  page_->Set(kMemoryCommittedBytes, store_->region().committed_bytes());
  page_->Set(kHostRefuses, store_->region().host().refuses());
  page_->Set(kTablePercent, table.items * 100 / grown.capacity());
  page_->Set(kTableBytes, growth.table_bytes());
  page_->Set(kBuckets, grown.capacity());
  page_->Set(kBucketBytes, geometry.bucket_bytes);
  page_->Set(kBucketBytesAuto, growth.chooses_buckets());
  page_->Set(kItemBytes64, static_cast<uint64_t>(growth.choice().narrow.item_bytes));
  page_->Set(kItemBytes128, static_cast<uint64_t>(growth.choice().wide.item_bytes));
  page_->Set(kGeneration, geometry.generation);
  page_->Set(kGrowing, grown.phase() != cuckoo::GrowingTable::Phase::kSteady);
  page_->Set(kGrowths, growth.growths());
  page_->Set(kHomesOverflowed, table.overflowed_homes);
  page_->Set(kStashed, table.stashed);
  page_->Set(kStashBytes, store_->stash_bytes());
  page_->Set(kDisplacements, table.moves);
  page_->Set(kRecordsBytes, records.allocated_bytes());
  page_->Set(kRecordsBytesMax, records.used_bytes() + store_->memory().available_bytes());
  page_->Set(kRecordsUsedBytes, records.used_bytes());
  page_->Set(kRecordsMoved, records.moved_records());
  page_->Set(kRecordsMovedBytes, records.moved_bytes());
  page_->Set(kRecoveredItems, store_->recovery().items);
  page_->Set(kRecoveredDamaged, store_->recovery().damaged);
  page_->Set(kCorrupt, store_->stats().corrupt + table.corrupt);
}

void CounterPublisher::PublishClients(const ShardCounters& counters, const ClientTotals& clients) {
  const StoreStats& stats = store_->stats();
  page_->Set(kClients, clients.connected);
  page_->Set(kClientsRefused, clients.refused);
  page_->Set(kConnectionBytesMax, clients.bytes);
  page_->Set(kSessions, clients.sessions);
  page_->Set(kMessages, counters.messages);
  page_->Set(kRequests, counters.requests);
  page_->Set(kPuts, stats.puts);
  page_->Set(kDeletes, stats.deletes);
  page_->Set(kCommits, stats.commits);
  page_->Set(kCommitsRefused, stats.commits_refused);
  page_->Set(kGetsByMessage, stats.fallback_gets);
  page_->Set(kNoSpace, stats.no_space);
  page_->Set(kExpired, stats.expired);
  page_->Set(kEvicted, stats.evicted);
  page_->Set(kHitsTold, store_->hits_told());
  page_->Set(kClientsDroppedUnconfirmed, counters.dropped_unconfirmed);
  page_->Set(kRetriesAnswered, counters.retries_answered);
  page_->Set(kProtocolErrors, counters.protocol_errors);
  page_->Set(kSleeps, counters.sleeps);
  page_->Set(kReportedGets, counters.reported.gets);
  page_->Set(kReportedReads, counters.reported.reads);
  page_->Set(kReportedTorn, counters.reported.torn);
}

void CounterPublisher::Publish(const ShardCounters& counters, const ClientTotals& clients) {
  has_moved_ = false;
  published_at_us_ = MonotonicUs();
  PublishStore();
  PublishClients(counters, clients);
  if (published_at_us_ - cpu_at_us_ < kCpuPeriodUs) return;
  cpu_at_us_ = published_at_us_;
  cpu_us_ += TakeThreadCpuUs();
  page_->Set(kCpuUs, cpu_us_);
}

}  // namespace plov::server
