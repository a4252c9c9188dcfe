// Server: shards, the threads that serve them, and the listeners that bring them clients.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "server/cluster_replicas.h"
#include "server/cluster_service.h"
#include "server/hosted_shards.h"
#include "server/server_options.h"
#include "server/shard_threads.h"
#include "verify/counters.h"

namespace plov::server {

// Threads: created, run and destroyed by one thread; ReadCounters by any.
class Server {
 public:
  // kNoSpace, kInUse, kPermission, kInvalidArgument, kSystem.
  static std::expected<std::unique_ptr<Server>, Error> Create(const ServerOptions& options);
  ~Server();

  // Starts the shards' threads; from here on clients are served while HandleEvents is called. Errors: of replicas.
  std::expected<void, Error> Start();

  // Clients come here: HandleEvents of each, when its fd is readable.
  const std::vector<std::unique_ptr<fabric::Listener>>& listeners() const { return listeners_; }
  // And commands of operators here.
  CommandQueue* commands() { return commands_.get(); }
  // And who READs a cluster's map: HandleEvents, likewise. Null: of a single server.
  ClusterService* cluster() { return cluster_.get(); }
  // And what becomes of replicas: likewise.
  ClusterReplicas* replicas() { return replicas_.get(); }

  // Whether every thread that serves shards is; see ShardThread::IsAlive.
  bool IsAlive() { return threads_->IsAlive(); }
  struct Facts {
    uint64_t clients = 0;
    uint64_t administrators = 0;
    uint64_t items = 0;
    uint64_t memory_used_bytes = 0;
    uint64_t memory_committed_bytes = 0;
  };
  Facts facts() const;

  // Live settings. They are as good as the same options of a start.
  void SetSpin(uint32_t spin_us);
  void KeepSlow(std::chrono::microseconds threshold);
  void SetClientLimits(const fabric::Admission::Limits& limits) { admission_->SetLimits(limits); }
  void SetDraining(bool draining) { admission_->SetDraining(draining); }
  void SetSnapshots(const log::Snapshots::Options& options);
  // Of all shards together. kInvalidArgument: less than it is, more than what was mapped at the start, or
  // memory that was taken whole.
  std::expected<void, Error> RaiseMemory(size_t bytes);

  // What the shards tell of themselves, as clients READ it; costs their threads nothing. Any thread.
  std::vector<verify::Counters> ReadCounters() const;

 private:
  ReplicaLogs* replica_logs() const;  // null: there are none
  explicit Server(const ServerOptions& options) : options_(options) {}
  std::expected<void, Error> Open(const ServerOptions& options);
  std::expected<void, Error> Listen(const ServerOptions& options);
  std::expected<void, Error> ExposeOn(fabric::Listener* listener);
  std::expected<void, Error> OpenReplicas();
  void ForEachShard(const std::function<void(Shard*)>& use) const;
  const std::vector<std::unique_ptr<Shard>>& shards() const { return hosted_->all(); }

  const ServerOptions options_;
  std::optional<ClusterView> view_;
  // Destroyed in reverse: threads first, then listeners and their ports, then the memory.
  std::shared_ptr<fabric::Admission> admission_;
  size_t memory_bytes_ = 0;  // of all shards
  std::unique_ptr<CommandQueue> commands_;
  std::unique_ptr<HostedShards> hosted_;
  std::unique_ptr<ClusterService> cluster_;
  std::vector<std::unique_ptr<fabric::Listener>> listeners_;
  std::unique_ptr<ShardThreads> threads_;
  std::unique_ptr<ClusterReplicas> replicas_;
};

}  // namespace plov::server
