// Own cluster: servers with replicas, and their ZooKeeper, that the tool starts and does harm to.
//
// One server is harmed at a time, and the next when all shards have their replicas again: so one replica in sync is left
// of each, and nothing that was acknowledged may be lost. Where they have logs, all may be killed at once.
//
// Threads: one, the main one (program/process.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/values.h"
#include "fabric/cut_switch.h"
#include "program/own_ensemble.h"
#include "program/own_server.h"
#include "program/random.h"
#include "torture/cut_proxy.h"

namespace plov::torture {

class OwnCluster {
 public:
  struct Options {
    std::string plovd;        // its path
    std::string folder;       // there already
    std::string listen = {};  // UriOf its servers; empty: sockets in the folder
    uint32_t servers = 0;
    uint32_t shards = 0;
    uint64_t memory_bytes = 0;  // of each server
    bool is_uneven = false;     // the last one has three quarters of it, if that is enough to start
    uint64_t max_value_bytes = 0;
    std::string log = {};  // the folder of all servers' logs; empty: they have none
    // Of the cluster (cluster/configuration.h).
    std::chrono::milliseconds detect{600};
    std::chrono::milliseconds drop{300};
    uint32_t spin_us = 5;  // as of OwnServerOptions
  };
  // Where a server listens if the first one does at "rdma://HOST:PORT": on the ports after that. std::nullopt: `first` is
  // something else, or there are not so many ports.
  static std::optional<std::string> UriOf(const std::string& first, uint32_t server);

  // Until all shards are whole. Errors: no ZooKeeper here, no plovd.
  static std::expected<std::unique_ptr<OwnCluster>, Error> Start(const Options& options);

  // "cluster:URI,...", of all servers.
  std::string uri() const;

  // Each does its harm, for as long as is drawn, and mends it; but for Move, which the servers follow later. Errors: a
  // server does not start again.
  std::expected<void, Error> KillServer(program::Random* random);
  std::expected<void, Error> KillAll(program::Random* random);
  void StopServer(program::Random* random);
  void CutServer(program::Random* random);
  void Move(program::Random* random);
  std::expected<void, Error> HarmCoordinator(program::Random* random);

  // Harm that lasts until it is mended. Isolate: it is cut off from all others and from the coordinator.
  program::OwnServer& server(size_t number) { return servers_.at(number); }
  void Isolate(size_t server);
  void Rejoin(size_t server);
  // Another server becomes the primary soon. Errors: there is none, the coordinator's.
  std::expected<void, Error> HandOver(uint32_t shard);

  // Follows what the coordinator has. Whether every shard has as many replicas in sync as it is placed on.
  bool IsWhole();
  bool AwaitWhole(std::chrono::seconds limit);
  // As far as IsWhole has seen.
  size_t PrimaryOf(uint32_t shard) const { return size_t(primaries_.at(shard)[0] - 'a'); }
  // How often a shard has had another primary, as far as IsWhole has seen.
  uint64_t promotions() const { return promotions_; }

  // "b1: exit status 3", of a server that has ended by itself.
  std::optional<std::string> Ended();
  // Ends all; what went wrong, if anything.
  std::optional<std::string> Close(std::chrono::milliseconds limit);

 private:
  explicit OwnCluster(const Options& options) : options_(options) {}
  std::expected<void, Error> Begin();
  std::expected<void, Error> MakeCuttable(std::vector<std::string> hosts);
  uint64_t MemoryOf(size_t server) const;
  std::string CutsPath() const { return options_.folder + "/cuts"; }
  fabric::HostId ensemble_host() const { return options_.servers; }
  void ForEachOther(size_t server, const std::function<void(fabric::HostId)>& change) const;
  std::string NameOf(size_t server) const { return std::string(1, char('a' + server)) + "1"; }

  Options options_;
  std::unique_ptr<program::OwnEnsemble> ensemble_;
  std::optional<fabric::CutFile>
      cuts_;                       // of servers, by their number, and of the ensemble, the last
  std::optional<CutProxy> proxy_;  // their way to the ensemble
  std::unique_ptr<cluster::Coordinator> coordinator_;
  std::optional<cluster::ValuesFollower> follower_;
  std::vector<program::OwnServer> servers_;
  std::map<uint32_t, std::string> primaries_;
  uint64_t promotions_ = 0;
};

}  // namespace plov::torture
