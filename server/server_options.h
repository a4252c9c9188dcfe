// ServerOptions: what a server is to be.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/configuration.h"
#include "fabric/fabric.h"
#include "server/cluster_view.h"
#include "server/log_options.h"
#include "server/region.h"
#include "server/shard_set.h"
#include "verify/record.h"

namespace plov::server {

// No write is slow.
inline constexpr auto kSlowWriteOff = std::chrono::microseconds::max();
// Of a single server: more would be more threads than a host has processors.
inline constexpr uint32_t kServerShardsMax = 256;

// Of each shard: below, nothing useful fits.
inline constexpr size_t kShardMemoryMin = size_t{16} << 20;

// Of a cluster whose shards have replicas: with whom their servers agree on them.
struct ReplicationOptions {
  std::string coordinator;  // its URI
  std::string auth_file;    // as of cluster::Options
  std::string cuts_file =
      {};            // whom this server is cut off from (fabric/cut_switch.h); empty: nobody
  std::string zone;  // where this server is, for whoever places replicas
  cluster::Config config;
  std::vector<ShardSet::Hosted> placed;  // of which this server is to have a replica at its start
  std::vector<ShardSet::Hosted> former;  // of which its log may have one that others need
  uint32_t shards_max = 0;  // of which it may have one at a time; placed.size() at least
};

struct ServerOptions {
  std::vector<std::string> uris = {"shm:default"};
  ShardSet shards = ShardSet::Of(1);
  std::optional<ClusterView> cluster =
      {};  // of whose shards these are some; nullopt: a single server
  std::optional<ReplicationOptions> replication =
      {};                                 // then `shards` has none, and the cluster's map follows
  uint32_t threads = 0;                   // at most; 0: fewer than processors, and one at least
  size_t memory_bytes = size_t{1} << 30;  // of all hosted shards together
  uint32_t bucket_bytes = 0;              // 0: each growth of a table chooses
  uint32_t value_bytes_max = verify::kValueBytesMax;
  uint32_t spin_us = 50;
  HugePages huge_pages = HugePages::kAuto;
  bool evicts = false;                                                   // cache mode
  std::chrono::microseconds slow_write = std::chrono::milliseconds(10);  // kept, and those above
  uint64_t clients_max = 10'000;
  uint64_t clients_per_user_max = 0;             // 0: no limit
  fabric::Access access = {};                    // who may write
  fabric::shm::PassedSockets* passed = nullptr;  // sockets that listen already; used by Create
  LogOptions log = {};
  std::string given = {};      // lines that say what the operator chose, for the counters' text
  std::string warm_path = {};  // of the shards' files; empty: none

  // That this server may have, or have a replica of, at a time.
  size_t shards_max() const { return replication ? replication->shards_max : shards.hosted.size(); }
  // Of each of them, of what all share.
  size_t PartOf(size_t bytes) const { return bytes / std::max<size_t>(shards_max(), 1); }

  // The file of a shard's warm memory: the path with the shard's number, but for shard 0 of a single server, which
  // is the path itself.
  std::string WarmPathOf(uint32_t shard) const;
};

}  // namespace plov::server
