#include "server/cluster_region.h"

#include <atomic>
#include <utility>

#include "verify/words.h"

namespace plov::server {

std::expected<std::unique_ptr<ClusterRegion>, Error> ClusterRegion::Create(uint64_t cluster_id,
                                                                           uint64_t life) {
  auto region = Region::Create({.budget_bytes = verify::kClusterRegionBytes});
  if (!region) return std::unexpected(region.error());
  if (!region->Commit(0, verify::kMapsOffset)) return Fail(Code::kNoSpace, region->WhyRefused());
  return std::unique_ptr<ClusterRegion>(new ClusterRegion(std::move(*region), cluster_id, life));
}

ClusterRegion::ClusterRegion(Region region, uint64_t cluster_id, uint64_t life)
    : region_(std::move(region)), cluster_id_(cluster_id), life_(life) {
  const verify::ClusterHead head = verify::MakeClusterHead(cluster_id, life);
  verify::CopyToShared(verify::WordsAt(region_.data(), 0), 0, &head, sizeof(head));
}

void ClusterRegion::SetOath(uint32_t shard, uint64_t oath) {
  verify::PublishSeal(verify::WordsAt(region_.data(), verify::OathOffset(shard)), oath);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void ClusterRegion::ShowOath(uint32_t shard, uint64_t epoch, uint64_t incarnation) {
  SetOath(shard, verify::Oath(cluster_id_, shard, epoch, incarnation));
}

void ClusterRegion::ClearOath(uint32_t shard) { SetOath(shard, 0); }

std::expected<void, Error> ClusterRegion::Publish(verify::ClusterMap map) {
  map.version = version_ + 1;
  const auto bytes = verify::EncodeMap(map, cluster_id_, life_);
  if (bytes.size() > verify::kMapBytesMax) {
    return Fail(Code::kTooLarge, "the cluster has more shards and servers than a map can hold");
  }
  const uint64_t offset = verify::MapOffset(map.version);
  if (!region_.Commit(offset, bytes.size())) return Fail(Code::kNoSpace, region_.WhyRefused());
  verify::CopyToShared(verify::WordsAt(region_.data(), offset), 0, bytes.data(), bytes.size());
  version_ = map.version;
  return {};
}

}  // namespace plov::server
