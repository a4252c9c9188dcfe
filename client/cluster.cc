#include "client/cluster.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <ranges>
#include <utility>

#include "fabric/random.h"

namespace plov {

using fabric::Clock;
using fabric::Deadline;

namespace {

constexpr std::string_view kScheme = "cluster:";
// For a seed's first attempt; and how long a server that did not answer is asked no more while there are others.
constexpr Clock::duration kFirstJoin = std::chrono::milliseconds(100);
constexpr Clock::duration kSourceRest = std::chrono::seconds(1);

// By the slower of two clocks: of a map's lease, what a client may take for its own (rule C4).
uint64_t LeaseOf(const verify::ClusterMap& map) {
  constexpr uint64_t kPpm = 1'000'000;
  const uint64_t part = kPpm - std::min<uint64_t>(map.rate_error_ppm, kPpm);
  return map.lease_us / kPpm * part + map.lease_us % kPpm * part / kPpm;
}

Cluster::Shard ShardOf(const SeededMap& seeded, const verify::ClusterMap::Shard& shard) {
  const verify::ClusterMap& map = seeded.map;
  std::vector<Oaths::Expected> oaths;
  for (const auto& member : shard.in_sync) {
    oaths.push_back(
        {.uris = map.servers[member.server].uris,
         .oath = verify::Oath(seeded.cluster_id, shard.number, shard.epoch, member.incarnation)});
  }
  return {.slot_first = shard.slot_first,
          .slot_last = shard.slot_last,
          .epoch = shard.epoch,
          .target = {.uris = map.servers[shard.in_sync[shard.primary].server].uris,
                     .part = Target::Part{.shard = shard.number, .hash_seed = map.hash_seed},
                     .epoch = shard.epoch,
                     .oaths = std::move(oaths),
                     .lease_us = LeaseOf(map)}};
}

}  // namespace

std::vector<std::string> Cluster::SeedsOf(std::string_view uri) {
  std::vector<std::string> seeds;
  if (!uri.starts_with(kScheme)) return seeds;
  uri.remove_prefix(kScheme.size());
  for (const auto part : std::views::split(uri, ',')) seeds.emplace_back(std::string_view(part));
  return seeds;
}

Cluster::Cluster(const std::vector<std::string>& seeds)
    : seeds_(seeds), next_source_(fabric::RandomId()) {}

// One that is stopped takes all the time that it is given: little at first, and more in each round.
std::expected<Cluster, Error> Cluster::Join(const std::vector<std::string>& seeds,
                                            Deadline deadline) {
  Cluster cluster(seeds);
  std::vector<Error> errors(seeds.size());
  std::vector<size_t> silent(seeds.size());
  std::iota(silent.begin(), silent.end(), size_t{0});
  if (!seeds.empty()) {
    const size_t first = cluster.next_source_ % seeds.size();
    std::ranges::rotate(silent, silent.begin() + static_cast<std::ptrdiff_t>(first));
  }
  for (auto time = kFirstJoin; !silent.empty(); time *= 2) {
    for (const size_t i : std::exchange(silent, {})) {
      const Deadline end = seeds.size() == 1 ? deadline : std::min(deadline, Clock::now() + time);
      const auto seeded = FetchMap(seeds[i], end);
      if (seeded) {
        cluster.Take(*seeded);
        return cluster;
      }
      errors[i] = seeded.error();
      if (Clock::now() >= end && end < deadline) silent.push_back(i);
    }
  }
  Error error{Code::kInvalidArgument, "no server of the cluster answers: "};
  for (size_t i = 0; i < seeds.size(); ++i) {
    if (errors[i].code != Code::kInvalidArgument) error.code = Code::kUnavailable;
    error.message += (i == 0 ? "" : "; ") + seeds[i] + ": " + errors[i].message;
  }
  return std::unexpected(std::move(error));
}

const std::vector<Cluster::Shard>& Cluster::AskAny(Deadline deadline) {
  for (size_t left = sources_.size(); left > 0 && Clock::now() < deadline; --left) {
    Source* source = NextSource();
    const auto seeded = FetchMap(source->uri, deadline);
    if (!seeded && Clock::now() >= deadline) source->rests_until = deadline + kSourceRest;
    if (!seeded || !Fits(*seeded)) continue;
    Take(*seeded);
    break;
  }
  return shards_;
}

// One that was silent has the time that others need only when there are no others.
Cluster::Source* Cluster::NextSource() {
  const Deadline now = Clock::now();
  for (size_t i = 0; i < sources_.size(); ++i) {
    next_source_ = (next_source_ + 1) % sources_.size();
    if (sources_[next_source_].rests_until <= now) break;
  }
  return &sources_[next_source_];
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
    if (shard.epoch >= shards_[i].epoch) shards_[i] = ShardOf(seeded, shard);
  }
  TakeSources(seeded.map);
}

// The user's seeds stay whatever a map says.
void Cluster::TakeSources(const verify::ClusterMap& map) {
  std::vector<Source> former = std::exchange(sources_, {});
  const auto add = [&](const std::string& uri) {
    if (std::ranges::find(sources_, uri, &Source::uri) != sources_.end()) return;
    const auto known = std::ranges::find(former, uri, &Source::uri);
    sources_.push_back(known == former.end() ? Source{uri} : *known);
  };
  std::ranges::for_each(seeds_, add);
  for (const auto& server : map.servers) std::ranges::for_each(server.uris, add);
}

}  // namespace plov
