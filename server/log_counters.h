// LogCounters: what a shard counts of its log and its snapshots.
//
// Threads: the shard's.
#pragma once

#include <cstdint>

#include "log/group_commit.h"
#include "log/snapshot_feed.h"
#include "server/counter_page.h"
#include "server/store.h"

namespace plov::server {

class LogCounters {
 public:
  // feed: null where there are no snapshots.
  void Publish(const log::GroupCommit& log, log::CommitMode mode, const log::SnapshotFeed* feed,
               const Store& store, CounterPage* page);

 private:
  uint64_t published_commits_us_ = UINT64_MAX;
};

}  // namespace plov::server
