// Maps of a cluster, sealed anew: what a client READs from a server that may be anybody's.
//
// Property: a map that is accepted names a shard for every slot, with members that the map has, and says the same
// when it is encoded again.
#include "verify/cluster_map.h"

#include <algorithm>
#include <vector>

#include "tests/fuzz/input.h"
#include "verify/words.h"

namespace plov::fuzz {
namespace {

using verify::ClusterMap;

constexpr uint64_t kCluster = 1;
constexpr uint64_t kLife = 2;

void CheckShard(const ClusterMap& map, const ClusterMap::Shard& shard) {
  Check(shard.epoch != 0, "an epoch is not 0");
  Check(shard.number < verify::kSlots, "a shard has an oath's place");
  Check(shard.primary < shard.in_sync.size(), "the primary is in sync");
  for (const ClusterMap::Member& member : shard.in_sync) {
    Check(member.incarnation != 0, "an incarnation is not 0");
    Check(member.server < map.servers.size(), "a member is a server of the map");
  }
}

void CheckAccepted(const ClusterMap& map) {
  uint32_t next = 0;
  for (const ClusterMap::Shard& shard : map.shards) {
    CheckShard(map, shard);
    Check(shard.slot_first == next && shard.slot_last >= next, "slots are in their order");
    next = uint32_t{shard.slot_last} + 1;
  }
  Check(next == verify::kSlots, "every slot has a shard");
  for (const ClusterMap::Server& server : map.servers) {
    Check(!server.id.empty() && !server.uris.empty(), "a server can be found");
  }
  const auto again = verify::EncodeMap(map, kCluster, kLife);
  Check(verify::DecodeMap(again, kCluster, kLife) == map, "it says the same again");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  using namespace plov::verify;
  std::vector<std::byte> map(std::max(RoundUpToWord(bytes), kMapHeadBytes));
  if (bytes > 0) std::memcpy(map.data(), data, bytes);
  if (const auto decoded = DecodeMap(map, kCluster, kLife)) CheckAccepted(*decoded);
  SealMap(map, kCluster, kLife);
  if (const auto decoded = DecodeMap(map, kCluster, kLife)) CheckAccepted(*decoded);
  return 0;
}
