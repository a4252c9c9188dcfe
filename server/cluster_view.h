// ClusterView: what a server of a cluster knows of it and shows: its readers the map, operators the names.
#pragma once

#include <cstdint>
#include <string>

#include "server/shard_set.h"
#include "verify/cluster_map.h"

namespace plov::server {

struct ClusterView {
  std::string server_id;
  uint64_t cluster_id = 0;
  verify::ClusterMap map;  // its version is the publisher's; without shards: it is not known yet

  // Lines of "name value": cluster.id, cluster.server and cluster.shards, those that it hosts; null: they come and go.
  std::string Lines(const ShardSet* shards) const;
};

}  // namespace plov::server
