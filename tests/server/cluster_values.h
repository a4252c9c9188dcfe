// Clusters as a coordinator holds them.
#pragma once

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "server/cluster_member.h"

namespace plov::test {

inline constexpr uint64_t kClusterNumber = 0xfedcba9876543210;
inline constexpr uint64_t kClusterSeed = 0x5eed;

// Of each shard, its slots and its server; of each server, one URI.
struct ShardOfServer {
  uint32_t slot_first;
  uint32_t slot_last;
  std::string server;
};
using Servers = std::vector<std::pair<std::string, std::string>>;

inline cluster::Values ValuesOf(const Servers& servers, const std::vector<ShardOfServer>& shards) {
  using std::chrono::milliseconds;
  cluster::Values values;
  values.config = {.cluster_id = kClusterNumber,
                   .hash_seed = kClusterSeed,
                   .shards = static_cast<uint32_t>(shards.size()),
                   .replicas = 1,
                   .min_replicas = 1,
                   .lease = milliseconds(250),
                   .detect = milliseconds(300),
                   .drop = milliseconds(80),
                   .rate_error_ppm = 100'000};
  for (const auto& [id, uri] : servers) {
    values.servers[id] = {.cluster_id = kClusterNumber, .life = 1, .uris = {uri}, .zone = {}};
  }
  for (uint32_t number = 0; const auto& [first, last, server] : shards) {
    values.shards[number] = {.cluster_id = kClusterNumber,
                             .epoch = 7 + number,
                             .slot_first = first,
                             .slot_last = last,
                             .primary = server,
                             .in_sync = {{server, 100 + number}},
                             .joining = {},
                             .proposal = 1};
    ++number;
  }
  return values;
}

// As the file of static: has them.
inline std::string FileOf(const cluster::Values& values) {
  std::string text = "{\"config\": " + cluster::Encode(values.config);
  for (const auto& [id, server] : values.servers) {
    text += ",\n\"servers/" + id + "\": " + cluster::Encode(server);
  }
  for (const auto& [number, shard] : values.shards) {
    text += ",\n\"shards/" + std::to_string(number) + "\": " + cluster::Encode(shard);
  }
  return text + "}\n";
}

}  // namespace plov::test
