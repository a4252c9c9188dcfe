// ShardSnapshot: the shard's part of a snapshot: reads the store and the sessions a slice at a time, between the
// store's writes, and gives them to who writes them (log/snapshots.h) or sends them to a new replica
// (server/replicated_store.h). Rules S1 to S4 of plov(7).
//
// What is written after the beginning is left to the log, and S3 waits for that: so an item is taken as it was
// at the beginning or not at all. Damage ends the snapshot: the log, which has the item, stays.
//
// Thread safety: one thread, the shard's.
// Memory: two blocks, and what waits to be copied; a record is kept until it is.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "cuckoo/table_pass.h"
#include "log/commit_log.h"
#include "log/snapshot_feed.h"
#include "server/sessions.h"
#include "server/store.h"
#include "verify/record.h"

namespace plov::server {

class ShardSnapshot {
 public:
  // All outlive it.
  ShardSnapshot(Store* store, const Sessions* sessions, log::CommitLog* log,
                log::SnapshotFeed* feed)
      : store_(store), sessions_(sessions), log_(log), feed_(feed) {}
  ~ShardSnapshot() { Drop(); }

  // A slice of it; for the end of each turn. False when there was nothing to do.
  bool Step();
  // Writes that move items wait while so many items that they moved have not been copied.
  bool is_behind() const { return met_.size() >= kMetMax; }
  // Another one of the same store cannot begin meanwhile.
  bool reads() const { return pass_.has_value(); }
  log::SnapshotFeed& feed() { return *feed_; }
  const log::SnapshotFeed& feed() const { return *feed_; }

 private:
  static constexpr size_t kMetMax = 4096;

  enum class Copy { kMore, kDone, kFull, kDamaged };

  void Begin();
  bool Read();
  bool ReadNext();
  void Meet(const verify::Bucket& bucket);
  Copy CopyFirst(size_t* budget);
  Copy CopyLong(const Store::Hit& hit, size_t* budget);
  bool BeginItem(const Store::Hit& hit);
  void EndItem(const Store::Hit& hit);
  void TakeFirst();
  void GiveBlock();
  void Fail();
  void Drop();

  Store* store_;
  const Sessions* sessions_;
  log::CommitLog* log_;
  log::SnapshotFeed* feed_;
  std::optional<cuckoo::TablePass> pass_;
  bool is_read_ = false;  // all was met, and the sessions are taken
  std::optional<Sessions::Pass> sessions_pass_;
  std::deque<verify::Bucket> met_;
  std::optional<log::SnapshotBlock> block_;
  size_t item_at_ = 0;  // of the item that is copied: where its value goes, 0: none is
  size_t copied_ = 0;   // of its value
  std::optional<verify::ValueDigest> digest_;
  log::SnapshotFeed::Total total_;  // its last version: at the beginning
};

}  // namespace plov::server
