// ClusterReplicas: this server's replicas of a cluster's shards, whose coordinator says where replicas are: it follows what
// the coordinator holds, shows readers the map, and has each replica begin again when its memory is of no use any more.
//
// A shard is moved by its placement: who is placed on joins, and who is not any more leaves when all who are have joined. The
// first of its placement is the primary where nothing has changed for a while.
//
// Threads: one, the listeners', but for ForEachShard.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/configuration_agent.h"
#include "cluster/shared_coordinator.h"
#include "fabric/cut_switch.h"
#include "fabric/os.h"
#include "server/cluster_service.h"
#include "server/cluster_watch.h"
#include "server/dialers.h"
#include "server/hosted_replica.h"

namespace plov::server {

class ClusterReplicas {
 public:
  // What a server has; outlives this.
  struct Server {
    const ServerOptions* options;
    ClusterService* service;
    const std::vector<std::unique_ptr<fabric::Listener>>* listeners;
    ShardThreads* threads;
    const fabric::Admission* admission;
    CommandQueue* commands;
  };
  // Connects to the coordinator. Errors as of cluster::Open, kNoSpace, kSystem.
  static std::expected<std::unique_ptr<ClusterReplicas>, Error> Create(const Server& server);

  // The replicas begin, as new ones, once the threads run. Errors as of HostedReplica::Begin.
  std::expected<void, Error> Start();
  // HandleEvents has work when it is readable.
  int fd() const { return epoll_.get(); }
  void HandleEvents();
  // The server is to end: others take over what it has. It goes on meanwhile, until has_left or its user's patience ends.
  void Leave();
  bool has_left();
  // When no thread serves shards any more and the listeners are there: the replicas go.
  void End();

  // Of those that are there. Any thread.
  void ForEachShard(const std::function<void(Shard*)>& use);
  // Of each that is there or will be.
  void KeepSlow(std::chrono::microseconds threshold);
  void RaiseBudget(size_t bytes);
  // Null: they have none.
  ReplicaLogs* logs() { return logs_.get(); }

 private:
  explicit ClusterReplicas(const Server& server) : server_(server) {}
  std::expected<void, Error> Open();
  Dialer::Connector ConnectorTo(const std::string& server) const;
  void Follow(const cluster::Values& values);
  void FollowPlacement(uint32_t number, const cluster::Values& values);
  void PublishMap(const cluster::Values& values);
  // Then there is one, which may not have begun; unless the server has as many as it may.
  void Host(uint32_t number, const cuckoo::SlotRange& slots);
  // Of shards that are not placed here any more.
  void RemoveEnded();
  void Wake(uint32_t number);
  // Of shards that have been placed elsewhere while this server did not run, once all who are to have them do. Not by old
  // values: this server may be a member since.
  void RemoveIdleLogs(const cluster::Values& values);
  // A life that is prepared, if one is.
  static void Begin(uint32_t number, HostedReplica* replica);

  Server server_;
  bool leaves_ = false;
  fabric::Fd event_;
  fabric::Fd timer_;  // runs while a replica rests
  fabric::Fd epoll_;  // of both
  std::optional<Region> stream_page_;
  std::unique_ptr<cluster::SharedCoordinator> coordinator_;
  std::unique_ptr<cluster::Coordinator> of_agent_, of_watch_;
  std::optional<fabric::CutFile> cuts_;
  std::unique_ptr<Dialers> dialers_;
  std::unique_ptr<ReplicaLogs> logs_;
  std::optional<HostedReplica::Server> of_replicas_;
  std::mutex
      mutex_;  // held while replicas_ come and go, and by other threads while they look at them
  std::map<uint32_t, HostedReplica> replicas_;  // by shard
  StoreOptions store_;                          // of each, but for its shard
  std::chrono::microseconds slow_write_{0};
  std::map<uint32_t, cuckoo::SlotRange> placed_;  // shards that are to have one
  std::set<uint32_t> idle_logs_;  // that were there at the start, of shards without a replica
  bool is_full_ = false;          // the log has heard of it
  verify::ClusterMap map_;        // that was published last
  std::string trouble_;           // why a newer one was not
  std::unique_ptr<cluster::ConfigurationAgent> agent_;
  std::unique_ptr<ClusterWatch> watch_;
};

}  // namespace plov::server
