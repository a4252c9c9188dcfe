#include "server/cluster_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

namespace plov::server {

namespace {

using cluster::kSlots;
using Checked = std::expected<void, Error>;

// A map names servers by 16 bits.
constexpr size_t kServersMax = 65'535;

std::unexpected<Error> Wrong(const std::string& path, const std::string& what) {
  return Fail(Code::kProtocol, path + ": " + what);
}

// Nobody takes over where only an operator changes the values.
Checked CheckOneReplica(const cluster::Values& values) {
  if (values.config.replicas > 1) {
    return Wrong("config", fmt::format("replicas is {}: without a coordinator (--cluster zk://...) "
                                       "it has to be 1",
                                       values.config.replicas));
  }
  for (const auto& [number, shard] : values.shards) {
    if (shard.in_sync.size() == 1 && shard.joining.empty()) continue;
    return Wrong(fmt::format("shards/{}", number),
                 fmt::format("has {} replicas, {} of them joining: without a coordinator "
                             "(--cluster zk://...) in_sync has one server and joining none",
                             shard.in_sync.size() + shard.joining.size(), shard.joining.size()));
  }
  return {};
}

// All shards of the config are there, none above, each with servers that are there.
Checked CheckShards(const cluster::Values& values) {
  for (const auto& [number, shard] : values.shards) {
    const std::string path = fmt::format("shards/{}", number);
    if (number >= values.config.shards) {
      return Wrong(path, fmt::format("the config has {} shards, so the last one is {}",
                                     values.config.shards, values.config.shards - 1));
    }
    if (!values.servers.contains(shard.primary)) {
      return Wrong(path, fmt::format("its primary {} is not below servers/", shard.primary));
    }
    for (const cluster::Member& member : shard.in_sync) {
      if (values.servers.contains(member.server)) continue;
      return Wrong(path, fmt::format("its server {} is not below servers/", member.server));
    }
  }
  for (uint32_t number = 0; number < values.config.shards; ++number) {
    if (values.shards.contains(number)) continue;
    return Wrong(fmt::format("shards/{}", number),
                 fmt::format("is missing: the config has {} shards", values.config.shards));
  }
  return {};
}

// The shards' numbers in the order of their slots, which have to cover all once.
std::expected<std::vector<uint32_t>, Error> InOrderOfSlots(const cluster::Values& values) {
  const auto& shards = values.shards;
  const auto keys = std::views::keys(shards);
  std::vector<uint32_t> numbers(keys.begin(), keys.end());
  std::ranges::sort(numbers, {}, [&](uint32_t number) { return shards.at(number).slot_first; });
  uint32_t next = 0;
  for (const uint32_t number : numbers) {
    const cluster::Shard& shard = shards.at(number);
    if (shard.slot_first < next) {
      return Wrong(fmt::format("shards/{}", number),
                   fmt::format("slot {} is another shard's, too", shard.slot_first));
    }
    if (shard.slot_first > next) {
      return Wrong("shards",
                   fmt::format("slots {} to {} belong to no shard", next, shard.slot_first - 1));
    }
    next = shard.slot_last + 1;
  }
  if (next == kSlots) return numbers;
  return Wrong("shards", fmt::format("slots {} to {} belong to no shard", next, kSlots - 1));
}

std::string NamesOf(const cluster::Values& values) {
  std::string names;
  for (const auto& [id, server] : values.servers) names += (names.empty() ? "it has " : ", ") + id;
  return names.empty() ? "it is empty" : names;
}

verify::ClusterMap MapOf(const cluster::Values& values, const std::vector<uint32_t>& numbers) {
  const cluster::Config& config = values.config;
  verify::ClusterMap map{
      .version = 0,
      .hash_seed = config.hash_seed,
      .lease_us = static_cast<uint64_t>(std::chrono::microseconds(config.lease).count()),
      .rate_error_ppm = config.rate_error_ppm};
  std::map<std::string, uint16_t> places;
  for (const auto& [id, server] : values.servers) {
    places[id] = static_cast<uint16_t>(map.servers.size());
    map.servers.push_back({id, server.uris});
  }
  for (const uint32_t number : numbers) {
    const cluster::Shard& shard = values.shards.at(number);
    map.shards.push_back({.epoch = shard.epoch,
                          .slot_first = static_cast<uint16_t>(shard.slot_first),
                          .slot_last = static_cast<uint16_t>(shard.slot_last),
                          .number = static_cast<uint16_t>(number)});
    for (const cluster::Member& member : shard.in_sync) {
      auto& in_sync = map.shards.back().in_sync;
      if (member.server == shard.primary) {
        map.shards.back().primary = static_cast<uint8_t>(in_sync.size());
      }
      in_sync.push_back({member.incarnation, places[member.server]});
    }
  }
  return map;
}

ShardSet ShardsOf(const cluster::Values& values, const std::string& id) {
  ShardSet set{.hosted = {},
               .count = values.config.shards,
               .cluster_id = values.config.cluster_id,
               .hash_seed = values.config.hash_seed};
  for (const auto& [number, shard] : values.shards) {
    if (shard.primary != id) continue;
    set.hosted.push_back({number, {shard.slot_first, shard.slot_last, kSlots}});
  }
  return set;
}

}  // namespace

std::expected<verify::ClusterMap, Error> MapOf(const cluster::Values& values) {
  if (auto checked = CheckShards(values); !checked) return std::unexpected(checked.error());
  if (values.servers.size() > kServersMax) {
    return Wrong("servers", fmt::format("there are more than {}", kServersMax));
  }
  const auto numbers = InOrderOfSlots(values);
  if (!numbers) return std::unexpected(numbers.error());
  return MapOf(values, *numbers);
}

std::expected<std::vector<ShardSet::Hosted>, Error> PlacedOn(const cluster::Values& values,
                                                             const std::string& id) {
  std::vector<ShardSet::Hosted> placed;
  for (const auto& [number, placement] : values.placements) {
    if (std::ranges::find(placement.servers, id) == placement.servers.end()) continue;
    const auto shard = values.shards.find(number);
    if (shard == values.shards.end()) return Wrong(fmt::format("shards/{}", number), "is missing");
    placed.push_back({number, {shard->second.slot_first, shard->second.slot_last, kSlots}});
  }
  return placed;
}

std::vector<ShardSet::Hosted> FormerlyPlacedOn(const cluster::Values& values,
                                               const std::string& id) {
  std::vector<ShardSet::Hosted> former;
  for (const auto& [number, shard] : values.shards) {
    const auto placement = values.placements.find(number);
    const bool is_placed =
        placement != values.placements.end() &&
        std::ranges::find(placement->second.servers, id) != placement->second.servers.end();
    const bool is_member =
        std::ranges::find(shard.in_sync, id, &cluster::Member::server) != shard.in_sync.end();
    if (is_member && !is_placed) {
      former.push_back({number, {shard.slot_first, shard.slot_last, kSlots}});
    }
  }
  return former;
}

std::expected<ClusterMember, Error> MemberOf(const cluster::Values& values, const std::string& id) {
  if (auto checked = CheckOneReplica(values); !checked) return std::unexpected(checked.error());
  auto map = MapOf(values);
  if (!map) return std::unexpected(map.error());
  const auto self = values.servers.find(id);
  if (self == values.servers.end()) {
    return Fail(Code::kNotFound, fmt::format("servers/ has no {}: {}", id, NamesOf(values)));
  }
  return ClusterMember{
      self->second.uris, ShardsOf(values, id), {id, values.config.cluster_id, std::move(*map)}};
}

}  // namespace plov::server
