// ReplicaLogs: the logs of a server's replicas, in the folder of plovd --log. Shards are named by their numbers.
//
// Threads: any but shards', one at a time for each shard.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "cluster/replica.h"
#include "server/entry_applier.h"
#include "server/log_folder.h"
#include "server/log_recovery.h"
#include "server/replica_log.h"
#include "server/shard_set.h"

namespace plov::server {

class ReplicaLogs {
 public:
  // As of LogFolder::Open. cluster: its id, hash seed and count of shards.
  static std::expected<std::unique_ptr<ReplicaLogs>, Error> Open(const LogOptions& options,
                                                                 const ShardSet& cluster);

  // Those that there are files of, as far as is known.
  std::set<uint32_t> Shards() const;
  // What there is of a shard; nullopt: nothing. Errors as of LogRecovery::Open.
  std::expected<std::optional<LogRecovery>, Error> Find(const ShardSet::Hosted& shard) const;

  // What a replica was, and may go on as.
  struct Restored {
    cluster::Member self;
    cluster::Replica::Memory memory;
    EntryApplier applier;
  };
  // Restores it to a store and sessions that have nothing. nullopt: it was a member of no configuration of the shard, and
  // the store is of no use. Errors as of LogRecovery::Recover.
  std::expected<std::optional<Restored>, Error> Restore(LogRecovery* found, uint32_t shard,
                                                        const std::string& server, Store* store,
                                                        Sessions* sessions) const;

  // Begins the log of a replica that goes on, or of a new one: found is null then, and what there is of the shard is
  // removed. `wake`: the shard's, called in other threads. kNoSpace, kSystem.
  std::expected<std::unique_ptr<ReplicaLog>, Error> Begin(uint32_t shard, const LogRecovery* found,
                                                          std::function<void()> wake);
  // Of a replica that is to be forgotten, once its log has ended. kSystem.
  std::expected<void, Error> Remove(uint32_t shard) {
    return log::RemoveShard(folder_->disk(), shard);
  }

  log::Snapshots* snapshots() { return folder_->snapshots(); }
  // Of the logs that begin from now on.
  void SetSpin(uint32_t spin_us) { spin_us_.store(spin_us, std::memory_order_relaxed); }

 private:
  ReplicaLogs(std::unique_ptr<LogFolder> folder, std::string name, const ShardSet& cluster)
      : folder_(std::move(folder)), name_(std::move(name)), cluster_(cluster) {}

  std::unique_ptr<LogFolder> folder_;
  std::string name_;
  ShardSet cluster_;
  std::atomic<uint32_t> spin_us_ = 0;  // relaxed
};

}  // namespace plov::server
