#include "client/cluster.h"

#include <algorithm>
#include <ranges>
#include <utility>

namespace plov {

using fabric::Clock;
using fabric::Deadline;

namespace {

constexpr std::string_view kScheme = "cluster:";

Cluster::Shard ShardOf(const verify::ClusterMap& map, const verify::ClusterMap::Shard& shard) {
  const auto& primary = shard.in_sync[shard.primary];
  return {.slot_first = shard.slot_first,
          .slot_last = shard.slot_last,
          .epoch = shard.epoch,
          .target = {.uris = map.servers[primary.server].uris,
                     .part = Target::Part{.shard = shard.number, .hash_seed = map.hash_seed}}};
}

}  // namespace

std::vector<std::string> Cluster::SeedsOf(std::string_view uri) {
  std::vector<std::string> seeds;
  if (!uri.starts_with(kScheme)) return seeds;
  uri.remove_prefix(kScheme.size());
  for (const auto part : std::views::split(uri, ',')) seeds.emplace_back(std::string_view(part));
  return seeds;
}

std::expected<Cluster, Error> Cluster::Join(std::vector<std::string> seeds, Deadline deadline) {
  Cluster cluster(std::move(seeds));
  Error error{Code::kInvalidArgument, ""};
  for (size_t i = 0; i < cluster.seed_count_; ++i) {
    const std::string& seed = cluster.sources_[i];
    const Deadline now = Clock::now();
    const auto share = (deadline - now) / static_cast<int64_t>(cluster.seed_count_ - i);
    const auto seeded = FetchMap(seed, now + share);
    if (seeded) {
      cluster.Take(*seeded);
      return cluster;
    }
    if (seeded.error().code != Code::kInvalidArgument) error.code = Code::kUnavailable;
    error.message += (i == 0 ? "no server of the cluster answers: " : "; ") + seed + ": " +
                     seeded.error().message;
  }
  return std::unexpected(std::move(error));
}

const std::vector<Cluster::Shard>& Cluster::AskAny(Deadline deadline) {
  for (size_t left = sources_.size(); left > 0 && Clock::now() < deadline; --left) {
    next_source_ = (next_source_ + 1) % sources_.size();
    const auto seeded = FetchMap(sources_[next_source_], deadline);
    if (!seeded || !Fits(*seeded)) continue;
    Take(*seeded);
    break;
  }
  return shards_;
}

bool Cluster::Fits(const SeededMap& seeded) const {
  const auto is_same = [&](const Shard& mine, const verify::ClusterMap::Shard& theirs) {
    return mine.slot_first == theirs.slot_first && mine.slot_last == theirs.slot_last &&
           mine.target.part == Target::Part{theirs.number, seeded.map.hash_seed};
  };
  return seeded.cluster_id == cluster_id_ &&
         std::ranges::equal(shards_, seeded.map.shards, is_same);
}

// The first decides which cluster it is.
void Cluster::Take(const SeededMap& seeded) {
  ++fetches_;
  cluster_id_ = seeded.cluster_id;
  shards_.resize(seeded.map.shards.size());
  for (size_t i = 0; i < shards_.size(); ++i) {
    const auto& shard = seeded.map.shards[i];
    if (shard.epoch >= shards_[i].epoch) shards_[i] = ShardOf(seeded.map, shard);
  }
  TakeSources(seeded.map);
}

// The user's seeds stay whatever a map says.
void Cluster::TakeSources(const verify::ClusterMap& map) {
  sources_.resize(seed_count_);
  for (const auto& server : map.servers) {
    sources_.insert(sources_.end(), server.uris.begin(), server.uris.end());
  }
}

}  // namespace plov
