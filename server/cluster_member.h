// ClusterMember: what one server of a cluster is to host, and what it shows, by what the coordinator holds.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <vector>

#include "cluster/configuration.h"
#include "cluster/coordinator.h"
#include "server/cluster_view.h"
#include "server/shard_set.h"

namespace plov::server {

// All that the coordinator holds of a cluster, each value by itself as the decoders accept it.
struct ClusterValues {
  cluster::Config config;
  std::map<std::string, cluster::Server> servers;  // by ID
  std::map<uint32_t, cluster::Shard> shards;       // by number
};

// Errors: of the coordinator, and kProtocol: there is no config, a value makes no sense or is another cluster's, a
// name below shards/ is no number.
std::expected<ClusterValues, Error> ReadCluster(cluster::Coordinator* coordinator);

struct ClusterMember {
  std::vector<std::string> uris;  // where the coordinator says that it serves
  ShardSet shards;                // none: it serves the map alone
  ClusterView view;
};

// Of the server of this ID. kProtocol when the values do not make a cluster that this release can serve: every slot
// in one shard, every shard with one replica, on a server that is there. kNotFound: no server has the ID.
std::expected<ClusterMember, Error> MemberOf(const ClusterValues& values, const std::string& id);

}  // namespace plov::server
