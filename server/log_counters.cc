#include "server/log_counters.h"

#include <chrono>

#include "server/clock.h"
#include "verify/counters.h"

namespace plov::server {

using enum verify::Counter;

void LogCounters::Publish(const log::GroupCommit& log, log::CommitMode mode,
                          const log::SnapshotFeed* feed, const Store& store, CounterPage* page) {
  const log::CommitTimes& times = log.times();
  page->Set(kLogMode, static_cast<uint64_t>(mode));
  page->Set(kLogDurableBatch, log.durable());
  page->Set(kLogPendingBatches, log.pending() ? log.last_batch() - log.durable() : 0);
  page->Set(kLogBytes, log.bytes_written());
  page->Set(kLogSegment, log.segment());
  page->Set(kLogFailed, log.failure() != Code::kOk);
  if (times.sum_us() != published_commits_us_) {
    published_commits_us_ = times.sum_us();
    page->Set(kLogCommitUsP50, times.Quantile(0.5));
    page->Set(kLogCommitUsP99, times.Quantile(0.99));
    page->Set(kLogCommitUsMax, times.max_us());
    verify::Times buckets{.counts = {}, .sum_us = published_commits_us_};
    for (size_t i = 0; i < verify::kTimeBuckets; ++i) buckets.counts[i] = times.CountOfWidth(i);
    page->Set(verify::Histogram::kCommits, buckets);
  }
  if (feed == nullptr) return;
  const log::SnapshotFeed::Stats snapshots = feed->stats();
  page->Set(kSnapshots, snapshots.taken);
  page->Set(kSnapshotFailures, snapshots.failed);
  page->Set(kSnapshotRunning, snapshots.running);
  page->Set(kSnapshotWrittenBytes, snapshots.written_bytes);
  page->Set(kSnapshotItems, snapshots.items);
  page->Set(kSnapshotBytes, snapshots.bytes);
  if (snapshots.taken == 0) return;
  const auto age = std::chrono::steady_clock::now() - snapshots.taken_at;
  page->Set(kSnapshotAtUs,
            store.UnixUs(MonotonicUs()) -
                static_cast<uint64_t>(
                    std::chrono::duration_cast<std::chrono::microseconds>(age).count()));
}

}  // namespace plov::server
