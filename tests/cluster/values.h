// A configuration, a server and a shard, whole; and what decides between two processes about a shard.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cluster/configuration.h"

namespace plov::test {

inline constexpr uint64_t kClusterId = 0xfedcba9876543210;  // more than a double holds

inline cluster::Config WholeConfig() {
  return {.cluster_id = kClusterId,
          .hash_seed = 0x8000000000000001,
          .shards = 64,
          .replicas = 2,
          .min_replicas = 1,
          .lease = std::chrono::milliseconds(250),
          .detect = std::chrono::milliseconds(300),
          .drop = std::chrono::milliseconds(80),
          .rate_error_ppm = 100'000};
}

inline cluster::Server WholeServer() {
  return {.cluster_id = kClusterId,
          .life = 0xffffffffffffffff,
          .uris = {"rdma://a1:7777", "shm:/run/plov/a1/sock"},
          .zone = "r1",
          .memory_bytes = 0xffffffffffffffff,
          .shards_max = 32};
}

inline cluster::Shard WholeShard() {
  return {.cluster_id = kClusterId,
          .epoch = 7,
          .slot_first = 256,
          .slot_last = 511,
          .primary = "b1",
          .in_sync = {{"a1", 0x1111111111111111}, {"b1", 0xfffffffffffffffe}},
          .joining = {{"c1", 3}},
          .proposal = 0x9e3779b97f4a7c15};
}

// Of these members, and nobody joins.
inline cluster::Shard ShardOf(const std::string& primary, std::vector<cluster::Member> in_sync) {
  cluster::Shard shard = WholeShard();
  shard.primary = primary;
  shard.in_sync = std::move(in_sync);
  shard.joining.clear();
  return shard;
}

}  // namespace plov::test
