// Cluster seed: the map of a cluster as one of its servers shows it (verify/cluster_map.h), READ over a
// connection of its own that costs the server next to nothing.
#pragma once

#include <plov/error.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "fabric/fabric.h"
#include "verify/cluster_map.h"

namespace plov {

// To what a server of a cluster shows beside its shards, map and oaths; it only READs. kNoShard: it is in no cluster; others
// as of fabric::Connection::Connect.
std::expected<std::unique_ptr<fabric::Connection>, Error> ConnectToMap(const std::string& uri,
                                                                       fabric::Deadline deadline);

struct SeededMap {
  uint64_t cluster_id = 0;
  verify::ClusterMap map = {};
};

// kInvalidArgument: a server is there and is in no cluster. kUnavailable: nobody is there, or it shows no
// map yet. kProtocol: another format, or bytes that are none. kTimeout, kPermission as the connection met
// them. Cost: a connection and about 4 READs; blocks until the deadline at most.
std::expected<SeededMap, Error> FetchMap(const std::string& uri, fabric::Deadline deadline);

// kInvalidArgument: what is said of a server of a cluster to who takes it for one of its own.
Error IsOfCluster(const std::string& uri);

}  // namespace plov
