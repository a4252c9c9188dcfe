// ClusterRegion: what a server of a cluster shows its readers, in the bytes of verify/cluster_map.h.
//
// Threads: Publish one at a time; an oath the one that decides on that shard's configuration.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>

#include "server/region.h"
#include "verify/cluster_map.h"

namespace plov::server {

class ClusterRegion {
 public:
  // life: of this process, random. kNoSpace, kSystem.
  static std::expected<std::unique_ptr<ClusterRegion>, Error> Create(uint64_t cluster_id,
                                                                     uint64_t life);

  // A READ that begins after the return sees it, or a later one. shard: below verify::kSlots.
  void ShowOath(uint32_t shard, uint64_t epoch, uint64_t incarnation);
  void ClearOath(uint32_t shard);

  // The map, under the next version. kTooLarge, kNoSpace: the host has no memory for it; then the former one
  // stays.
  std::expected<void, Error> Publish(verify::ClusterMap map);

  const Region& region() const { return region_; }

 private:
  ClusterRegion(Region region, uint64_t cluster_id, uint64_t life);
  void SetOath(uint32_t shard, uint64_t oath);

  Region region_;
  uint64_t cluster_id_;
  uint64_t life_;
  uint64_t version_ = 0;  // of the last map
};

}  // namespace plov::server
