// DurableLog: the folder of plovd --log, with a log and a thread for each shard.
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
#include "log/folder.h"
#include "log/group_commit.h"
#include "log/posix_disk.h"
#include "log/spares.h"
#include "log/walk.h"
#include "server/store.h"

namespace plov::server {

struct LogOptions {
  std::string folder = {};  // empty: no log
  log::CommitMode mode = log::CommitMode::kStrict;
  std::chrono::microseconds interval = std::chrono::seconds(1);
  uint64_t segment_bytes = uint64_t{64} << 20;
  size_t buffer_bytes = size_t{64} << 20;  // of each shard
};

class DurableLog {
 public:
  // Locks the folder and looks at all heads in it. kInUse, kPermission, kInvalidArgument (a log of another
  // number of shards, a folder that is none, a network's file system), kCorrupt, kProtocol, kSystem.
  static std::expected<std::unique_ptr<DurableLog>, Error> Open(const LogOptions& options,
                                                                uint32_t shards);
  // Writes what is still in memory; the shards' threads have ended.
  ~DurableLog();

  // Of the log that is there: what routes keys to shards.
  std::optional<uint64_t> hash_seed() const { return hash_seed_; }

  // Restores what the shard's log holds. kCorrupt, kNoSpace, kTooLarge, kSystem.
  std::expected<void, Error> Recover(uint32_t shard, Store* store);
  // Once all shards are restored. Begins a new segment for each. `wake` of each shard is called in its
  // log's thread.
  std::expected<void, Error> Begin(uint64_t hash_seed, std::vector<std::function<void()>> wakes);
  // Starts the logs' threads, once the shards have their ports.
  void Start();
  log::GroupCommit* of_shard(uint32_t shard) { return shards_[shard].commit.get(); }

 private:
  struct ShardLog {
    verify::LogId id;
    uint64_t operations = 0;  // restored
    log::LogEnd end;
    std::unique_ptr<log::GroupCommit> commit;
  };

  DurableLog(const LogOptions& options, fabric::FileLock lock, std::unique_ptr<log::PosixDisk> disk)
      : options_(options), lock_(std::move(lock)), disk_(std::move(disk)) {}

  std::expected<void, Error> Look(uint32_t shards);
  std::expected<log::Walk, Error> OpenWalk(uint32_t shard);
  std::expected<void, Error> SyncFound();
  std::expected<void, Error> Replay(log::Walk* walk, ShardLog* shard, Store* store);
  std::unexpected<Error> Refuse(const log::Damage& damage) const;
  std::unexpected<Error> CannotRestore(uint32_t shard, Code status) const;
  void MakeSpares();

  LogOptions options_;
  fabric::FileLock lock_;
  std::unique_ptr<log::PosixDisk> disk_;
  log::Folder found_;
  std::optional<uint64_t> hash_seed_;
  std::optional<log::Spares> spares_;
  std::vector<ShardLog> shards_;
  std::vector<std::jthread> threads_;
};

}  // namespace plov::server
