// ShardSet: the shards that a server hosts, of all that there are: every one of a single server, some of a cluster.
//
// A shard's number names it everywhere: to clients, in files, logs and metrics. It is no index: a server of a
// cluster may host 3 and 17.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuckoo/hash.h"

namespace plov::server {

struct ShardSet {
  struct Hosted {
    uint32_t number = 0;
    cuckoo::SlotRange slots = {};

    bool operator==(const Hosted&) const = default;
  };

  std::vector<Hosted> hosted;  // by number; none of a server that only serves the map
  uint32_t count = 0;          // of all shards
  uint64_t cluster_id = 0;     // 0: of a single server
  bool are_replicas = false;   // of a cluster's shards
  uint64_t hash_seed = 0;      // the cluster's; a single server draws its own when it begins empty

  // All shards of a single server.
  static ShardSet Of(uint32_t count) {
    ShardSet all{.hosted = {}, .count = count};
    for (uint32_t i = 0; i < count; ++i) all.hosted.push_back({i, {i, i, count}});
    return all;
  }

  bool is_of_cluster() const { return cluster_id != 0; }
  bool Hosts(uint32_t number) const {
    return std::ranges::find(hosted, number, &Hosted::number) != hosted.end();
  }
  bool operator==(const ShardSet&) const = default;
};

}  // namespace plov::server
