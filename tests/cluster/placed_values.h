// Values of clusters whose servers and placements are described.
#pragma once

#include <string>
#include <vector>

#include "cluster/values.h"
#include "tests/cluster/values.h"

namespace plov::test {

struct ServerDescription {
  std::string id;
  std::string zone;
  uint32_t shards_max = 8;
  bool runs = true;
};

// placements: by shard; all of them are in sync.
inline cluster::Values ValuesOf(const std::vector<ServerDescription>& servers,
                                const std::vector<std::vector<std::string>>& placements) {
  cluster::Values values;
  values.config = WholeConfig();
  values.config.shards = static_cast<uint32_t>(placements.size());
  for (const auto& [id, zone, shards_max, runs] : servers) {
    values.servers[id] = {kClusterId, 1, {"shm:" + id}, zone, 0, shards_max};
    if (runs) values.running.insert(id);
  }
  for (uint32_t number = 0; number < placements.size(); ++number) {
    values.placements[number] = {kClusterId, placements[number]};
    cluster::Shard& shard = values.shards[number];
    shard.primary = placements[number].front();
    for (const std::string& server : placements[number]) shard.in_sync.push_back({server, 1});
  }
  return values;
}

}  // namespace plov::test
