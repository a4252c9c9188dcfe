// NextLife: makes what a replica's life begins with - memory, and what its log has, or a new log - and lets go of the former
// one, in a thread of its own: both wait for the disk.
//
// Threads: one, the listeners'.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cluster/replica.h"
#include "server/replica_logs.h"
#include "server/replicated_store.h"
#include "server/shard.h"

namespace plov::server {

class NextLife {
 public:
  struct Options {
    std::string server;
    ReplicaLogs* logs;                 // null: there are none
    std::function<void()> wake;        // when one is made; called in that thread
    std::function<void()> wake_shard;  // the replica's; called in its log's threads
  };
  struct Beginning {
    std::unique_ptr<Shard> shard;
    cluster::Member self;
    std::optional<cluster::Replica::Memory> memory = {};
    ReplicatedStore::Kept kept;
  };

  explicit NextLife(Options options) : options_(std::move(options)) {}

  // It goes on with what the log has, or joins the others. Or, where the shard has nothing yet, under the one incarnation that
  // `empty` has. What was made before and not taken is not used.
  void Make(StoreOptions store, std::optional<cluster::Held> empty);
  // Of a life that has ended and is served no more. forgets: its log is of no use any more.
  void Dispose(std::unique_ptr<Shard> former, bool forgets);

  // Made, and not taken; or being made.
  bool is_coming() const { return is_coming_; }
  // Once it is made. Errors as of Store::Create and ReplicaLogs.
  std::optional<std::expected<Beginning, Error>> Take();
  // Waits until all is done.
  void Await();

 private:
  std::expected<Beginning, Error> Begin(const StoreOptions& store,
                                        const std::optional<cluster::Held>& empty) const;
  std::expected<Beginning, Error> BeginNew(const StoreOptions& store,
                                           const std::optional<cluster::Held>& empty) const;
  // nullopt: the log has nothing to go on with.
  std::expected<std::optional<Beginning>, Error> BeginFromLog(const StoreOptions& store) const;
  // After what runs.
  void Run(std::move_only_function<void()> task);

  Options options_;
  bool is_coming_ = false;
  uint64_t wanted_ = 0;  // the last Make
  std::mutex mutex_;
  std::optional<std::expected<Beginning, Error>> made_;  // under mutex_, with the next
  uint64_t made_number_ = 0;
  std::jthread thread_;
};

}  // namespace plov::server
