// DurableLog: the logs of all shards of a server that has no replicas, in the folder of plovd --log. Shards are named by
// their numbers.
//
// Threads: created, run and destroyed by one thread, which is not a shard's. Recover may be called for
// several shards at once.
//
// What lies in the folder is read and judged before anything is changed; damage is refused.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fabric/random.h"
#include "log/disk.h"
#include "log/group_commit.h"
#include "log/snapshot_feed.h"
#include "log/snapshots.h"
#include "server/log_folder.h"
#include "server/log_recovery.h"
#include "server/log_writer.h"
#include "server/shard_set.h"
#include "server/store.h"

namespace plov::server {

class DurableLog {
 public:
  // Locks the folder and looks at all heads in it. kInUse, kPermission, kInvalidArgument (a log of other
  // shards, a folder that is none, a network's file system), kCorrupt, kProtocol, kSystem.
  static std::expected<std::unique_ptr<DurableLog>, Error> Open(const LogOptions& options,
                                                                const ShardSet& shards);
  // The same on a disk that is nobody else's.
  static std::expected<std::unique_ptr<DurableLog>, Error> OpenOn(std::unique_ptr<log::Disk> disk,
                                                                  const LogOptions& options,
                                                                  const ShardSet& shards);
  // Writes what is still in memory; the shards' threads have ended.
  ~DurableLog();

  // Of the log that is there: what routes keys to shards.
  std::optional<uint64_t> hash_seed() const { return recovery_->hash_seed(); }

  // Whether the shard has a log, the life of its newest segment, and its greatest version after Recover.
  bool is_there(uint32_t shard) const { return recovery_->of_shard(shard).id.has_value(); }
  uint64_t former_life(uint32_t shard) const { return recovery_->of_shard(shard).life; }
  uint64_t last_version_of(uint32_t shard) const {
    return recovery_->of_shard(shard).end.last_version;
  }
  // Of the log that is there, or of the one that Begin begins.
  verify::LogId id_of(uint32_t shard) const { return shards_.at(shard).id; }
  // Of this server, in the segments that it begins.
  uint64_t life() const { return life_; }

  // For the store that it is restored to.
  ExpectedItems expected_of(uint32_t shard) const { return recovery_->expected_of(shard); }
  // Restores what the shard's log holds. kCorrupt, kNoSpace, kTooLarge, kSystem.
  // published: the store has all writes up to this version.
  std::expected<void, Error> Recover(uint32_t shard, Store* store, Sessions* sessions,
                                     uint64_t published = 0) {
    auto recovered = recovery_->Recover(shard, store, sessions, published);
    // What warm memory has more is logged first, and then its last version (server/unlogged.h).
    const bool begins_here = is_there(shard) && !store->recovery().warm;
    if (begins_here) shards_.at(shard).begun_version = store->last_version();
    return recovered;
  }
  // Before Begin: the log that begins has not all that was ever written to the shard.
  void BeginBesideItems(uint32_t shard) { shards_.at(shard).begins_beside_items = true; }
  // Once all shards are restored. Begins a new segment for each. `wakes`: of each shard, by number, called in
  // its log's thread and in the snapshots'.
  std::expected<void, Error> Begin(uint64_t hash_seed, std::vector<std::function<void()>> wakes);
  // Starts the threads, once the shards have their ports.
  void Start();
  void SetSpin(uint32_t spin_us);  // of the logs' threads; any thread
  // Null before Begin.
  log::GroupCommit* of_shard(uint32_t shard) {
    LogWriter* writer = shards_.at(shard).writer.get();
    return writer == nullptr ? nullptr : writer->commit();
  }
  log::SnapshotFeed* feed_of_shard(uint32_t shard) {
    LogWriter* writer = shards_.at(shard).writer.get();
    return writer == nullptr ? nullptr : writer->feed();
  }
  log::Snapshots* snapshots() { return folder_->snapshots(); }

 private:
  struct ShardLog {
    verify::LogId id;
    bool begins_beside_items = false;
    uint64_t begun_version = 0;  // below every version of this life
    std::unique_ptr<LogWriter> writer;
  };

  DurableLog(const ShardSet& shards, std::unique_ptr<LogFolder> folder)
      : set_(shards), life_(fabric::RandomId()), folder_(std::move(folder)) {}

  static std::expected<std::unique_ptr<DurableLog>, Error> Find(std::unique_ptr<LogFolder> folder,
                                                                const LogOptions& options,
                                                                const ShardSet& shards);
  std::expected<void, Error> BeginShard(const verify::LogHead& head, std::function<void()> wake);

  ShardSet set_;
  uint64_t life_;
  std::unique_ptr<LogFolder> folder_;
  std::optional<LogRecovery> recovery_;
  std::map<uint32_t, ShardLog> shards_;  // by number
};

}  // namespace plov::server
