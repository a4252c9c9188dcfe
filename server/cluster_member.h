// ClusterMember: what one server of a cluster is to host, and what it shows, by what the coordinator holds.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cluster/values.h"
#include "server/cluster_view.h"
#include "server/shard_set.h"

namespace plov::server {

struct ClusterMember {
  std::vector<std::string> uris;  // where the coordinator says that it serves
  ShardSet shards;                // none: it serves the map alone
  ClusterView view;
};

// The map that readers get. kProtocol: the values make none: not every slot is in one shard, a shard's server is not
// known.
std::expected<verify::ClusterMap, Error> MapOf(const cluster::Values& values);

// The shards of which a server of this ID is to have a replica. kProtocol: one of them has no configuration.
std::expected<std::vector<ShardSet::Hosted>, Error> PlacedOn(const cluster::Values& values,
                                                             const std::string& id);
// Those of which it is to have none, and whose configuration names one of its.
std::vector<ShardSet::Hosted> FormerlyPlacedOn(const cluster::Values& values,
                                               const std::string& id);

// Of the server of this ID, where nobody but an operator changes the values. kProtocol when they do not make a cluster
// that this release can serve so: also when a shard has more replicas than one. kNotFound: no server has the ID.
std::expected<ClusterMember, Error> MemberOf(const cluster::Values& values, const std::string& id);

}  // namespace plov::server
