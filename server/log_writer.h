// LogWriter: a shard's log that is written: its operations' way to the disk, with the thread that writes them, and its
// snapshots'.
//
// Threads: created, started and destroyed by one thread, which is not the shard's.
#pragma once

#include <functional>
#include <thread>

#include "log/group_commit.h"
#include "log/segment_writer.h"
#include "log/snapshot_feed.h"
#include "log/snapshots.h"
#include "verify/log.h"

namespace plov::server {

class LogWriter {
 public:
  struct Options {
    log::GroupCommit::Options commit;
    log::Snapshots* snapshots;  // outlives it
    verify::LogHead head;       // of the log's files
    uint64_t log_bytes = 0;     // since the last snapshot, of former lives
    uint64_t snapshot_bytes = 0;
    std::function<void()> wake;  // the shard; called in the log's thread and in the snapshots'
  };
  // `writer` has begun.
  LogWriter(log::SegmentWriter writer, const Options& options);
  // Writes what is still in memory; the shard's thread uses it no more.
  ~LogWriter();

  void Start();
  log::GroupCommit* commit() { return &commit_; }
  log::SnapshotFeed* feed() { return &feed_; }

 private:
  log::Snapshots* snapshots_;
  uint32_t shard_;
  log::SnapshotFeed feed_;
  log::GroupCommit commit_;
  std::jthread thread_;
};

}  // namespace plov::server
