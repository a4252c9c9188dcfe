// HostedReplica: this server's replica of one shard, from life to life: each has memory, a place on the listeners and
// turns of its own, and ends when its memory is of no use any more.
//
// Threads: the listeners', but for Wake and what is counted, which any thread may ask for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cluster/configuration_register.h"
#include "fabric/fabric.h"
#include "server/next_life.h"
#include "server/replica_logs.h"
#include "server/server_options.h"
#include "server/shard.h"
#include "server/shard_replication.h"
#include "server/shard_threads.h"

namespace plov::server {

class HostedReplica {
 public:
  // What the replicas of a server share; outlives them.
  struct Server {
    const ServerOptions* options;
    ShardReplica::Server replica;
    const Region* stream_page;  // what other servers connect to has no memory of its own
    const std::vector<std::unique_ptr<fabric::Listener>>* listeners;
    ShardThreads* threads;
    const fabric::Admission* admission;
    CommandQueue* commands;
    ReplicaLogs* logs;           // null: there are none
    std::function<void()> wake;  // the listeners' thread: a life has ended, or is prepared
  };
  // store: of each life.
  HostedReplica(const Server& server, StoreOptions store, std::chrono::microseconds slow_write);

  // Makes what a life begins with, when there is none and none is being made: Server::wake follows, and then Begin has it.
  // empty: as of NextLife.
  void Prepare(const std::optional<cluster::Held>& empty);
  void AwaitPrepared() { next_life_.Await(); }
  bool is_preparing() const { return next_life_.is_coming(); }
  // A life, if one is prepared. Errors as of NextLife and Listener::Expose; then there is none.
  std::expected<void, Error> Begin();
  // Ends the life, if there is one.
  void End();
  // The same where no thread serves shards any more.
  void Withdraw();
  // Then, before it: whether the shard's items are on no other server.
  bool is_last() const;
  bool is_alive() const { return shard_ != nullptr; }
  // Its memory is of no use any more.
  bool has_ended() const { return has_ended_.load(std::memory_order_relaxed); }
  // Where there is no life: whether it is time for one. What failed, or found too little memory, rests.
  bool is_due() const { return fabric::Clock::now() >= due_; }

  // As of Shard, of this life and those that follow.
  void KeepSlow(std::chrono::microseconds threshold);
  void RaiseBudget(size_t bytes);

  // As of ShardReplica, of this life.
  void Prefer(uint64_t incarnation);
  // It is to go; whether there is nothing more to wait for, as of cluster::Replica. for_good: with its log.
  void Leave(bool for_good);
  bool has_left();

  // There may be news of the agent's, or of a connection.
  void Wake();
  // Of its log.
  void WakeShard();
  // Nothing where there is no life.
  void ForShard(const std::function<void(Shard*)>& use);

 private:
  // This life's memory is of no use any more. The shard's thread.
  void OnStartAnew(const char* why, bool is_too_small);
  std::expected<void, Error> Open(NextLife::Beginning beginning);
  std::expected<void, Error> Expose(Shard* shard, ReplicatedStore* replicated);

  const Server& server_;
  StoreOptions store_;
  std::chrono::microseconds slow_write_;
  std::atomic<bool> has_ended_ = false;
  std::atomic<bool> is_too_small_ = false;  // its memory, as this life found
  size_t memory_bytes_ = 0;                 // with which it began
  fabric::Clock::time_point due_;
  std::atomic<bool> leaves_ = false;
  std::mutex mutex_;  // held while shard_ and replicated_ change, and by others who use them
  std::unique_ptr<Shard> shard_;
  ReplicatedStore* replicated_ = nullptr;  // the shard's
  NextLife next_life_;
};

}  // namespace plov::server
