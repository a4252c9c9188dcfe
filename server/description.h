// What a server tells of itself beside the numbers: lines of "name value".
#pragma once

#include <cstdint>
#include <string>

#include "server/server_options.h"
#include "server/shard.h"

namespace plov::server {

// What a server of a cluster tells of it: as of ClusterView; its replicas come and go.
std::string ClusterLines(const ServerOptions& options);

// number: of this one in the cluster, if it is of one.
std::string DescriptionOf(const ServerOptions& options, const Shard& shard, uint32_t number);

}  // namespace plov::server
