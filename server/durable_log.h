// DurableLog: the folder of plovd --log, with a log and its thread for each shard, and one thread that writes
// their snapshots.
//
// Threads: created, run and destroyed by one thread, which is not a shard's. Recover may be called for
// several shards at once.
//
// What lies in the folder is read and judged before anything is changed; damage is refused.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fabric/file_lock.h"
#include "log/disk.h"
#include "log/group_commit.h"
#include "log/snapshot_feed.h"
#include "log/snapshots.h"
#include "log/spares.h"
#include "server/log_recovery.h"
#include "server/store.h"

namespace plov::server {

struct LogOptions {
  std::string folder = {};  // empty: no log
  log::CommitMode mode = log::CommitMode::kStrict;
  std::chrono::microseconds interval = std::chrono::seconds(1);
  uint64_t segment_bytes = uint64_t{64} << 20;
  size_t buffer_bytes = size_t{64} << 20;  // of each shard
  log::Snapshots::Options snapshots = {};
};

class DurableLog {
 public:
  // Locks the folder and looks at all heads in it. kInUse, kPermission, kInvalidArgument (a log of another
  // number of shards, a folder that is none, a network's file system), kCorrupt, kProtocol, kSystem.
  static std::expected<std::unique_ptr<DurableLog>, Error> Open(const LogOptions& options,
                                                                uint32_t shards);
  // The same on a disk that is nobody else's.
  static std::expected<std::unique_ptr<DurableLog>, Error> OpenOn(std::unique_ptr<log::Disk> disk,
                                                                  const LogOptions& options,
                                                                  uint32_t shards);
  // Writes what is still in memory; the shards' threads have ended.
  ~DurableLog();

  // Of the log that is there: what routes keys to shards.
  std::optional<uint64_t> hash_seed() const { return recovery_->hash_seed(); }

  // For the store that it is restored to.
  ExpectedItems expected_of(uint32_t shard) const { return recovery_->expected_of(shard); }
  // Restores what the shard's log holds. kCorrupt, kNoSpace, kTooLarge, kSystem.
  std::expected<void, Error> Recover(uint32_t shard, Store* store, Sessions* sessions) {
    return recovery_->Recover(shard, store, sessions);
  }
  // Once all shards are restored. Begins a new segment for each. `wake` of each shard is called in its
  // log's thread and in the snapshots'.
  std::expected<void, Error> Begin(uint64_t hash_seed, std::vector<std::function<void()>> wakes);
  // Starts the threads, once the shards have their ports.
  void Start();
  log::GroupCommit* of_shard(uint32_t shard) { return shards_[shard].commit.get(); }
  log::SnapshotFeed* feed_of_shard(uint32_t shard) { return shards_[shard].feed.get(); }
  log::Snapshots* snapshots() { return &*snapshots_; }

 private:
  struct ShardLog {
    std::unique_ptr<log::GroupCommit> commit;
    std::unique_ptr<log::SnapshotFeed> feed;
  };

  DurableLog(const LogOptions& options, std::unique_ptr<log::Disk> disk)
      : options_(options), disk_(std::move(disk)) {}

  std::expected<void, Error> BeginShard(const verify::LogHead& head, std::function<void()> wake);
  static void Tell(uint32_t shard, const std::expected<log::Snapshots::Taken, Error>& taken);
  void MakeSpares();

  LogOptions options_;
  std::optional<fabric::FileLock> lock_;
  std::unique_ptr<log::Disk> disk_;
  std::optional<LogRecovery> recovery_;
  std::optional<log::Spares> spares_;
  std::vector<ShardLog> shards_;
  std::optional<log::Snapshots> snapshots_;
  std::vector<std::jthread> threads_;
};

}  // namespace plov::server
