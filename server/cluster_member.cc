#include "server/cluster_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ranges>

namespace plov::server {

namespace {

using cluster::kSlots;
using Checked = std::expected<void, Error>;

// A map names servers by 16 bits.
constexpr size_t kServersMax = 65'535;

std::unexpected<Error> Wrong(const std::string& path, const std::string& what) {
  return Fail(Code::kProtocol, path + ": " + what);
}

// As it is written by who numbers shards: without zeros before it.
std::optional<uint32_t> ShardNumberIn(const std::string& name) {
  uint32_t number = 0;
  const char* end = name.data() + name.size();
  const auto [rest, failure] = std::from_chars(name.data(), end, number);
  const bool is_number = failure == std::errc() && rest == end && std::to_string(number) == name;
  return is_number ? std::optional(number) : std::nullopt;
}

template <typename T>
std::expected<T, Error> ReadValue(cluster::Coordinator* coordinator, const std::string& path,
                                  std::expected<T, Error> (*decode)(std::string_view)) {
  const auto value = coordinator->Get(path);
  if (!value) return std::unexpected(value.error());
  auto decoded = decode(value->data);
  if (!decoded) return Wrong(path, decoded.error().message);
  return decoded;
}

// Of all names below `folder`, to what `put` makes of them.
template <typename T>
Checked ReadAll(cluster::Coordinator* coordinator, const std::string& folder, uint64_t cluster_id,
                std::expected<T, Error> (*decode)(std::string_view),
                const std::function<Checked(const std::string&, T)>& put) {
  const auto names = coordinator->List(folder);
  if (!names) return std::unexpected(names.error());
  for (const std::string& name : *names) {
    const std::string path = folder + "/" + name;
    auto value = ReadValue(coordinator, path, decode);
    if (!value) return std::unexpected(value.error());
    if (auto ours = cluster::CheckCluster(value->cluster_id, cluster_id); !ours) {
      return Wrong(path, ours.error().message);
    }
    if (auto taken = put(name, std::move(*value)); !taken) return taken;
  }
  return {};
}

Checked CheckReplicas(const std::string& path, const cluster::Shard& shard) {
  if (shard.in_sync.size() == 1 && shard.joining.empty()) return {};
  return Wrong(path,
               fmt::format("has {} replicas, {} of them joining: replicas are not built yet, so "
                           "in_sync has one server and joining none",
                           shard.in_sync.size() + shard.joining.size(), shard.joining.size()));
}

// All shards of the config are there, none above, each with one replica on a server that is there.
Checked CheckShards(const ClusterValues& values) {
  if (values.config.replicas > 1) {
    return Wrong("config",
                 fmt::format("replicas is {}: replicas are not built yet, so it has to be 1",
                             values.config.replicas));
  }
  for (const auto& [number, shard] : values.shards) {
    const std::string path = fmt::format("shards/{}", number);
    if (number >= values.config.shards) {
      return Wrong(path, fmt::format("the config has {} shards, so the last one is {}",
                                     values.config.shards, values.config.shards - 1));
    }
    if (auto checked = CheckReplicas(path, shard); !checked) return checked;
    if (!values.servers.contains(shard.primary)) {
      return Wrong(path, fmt::format("its primary {} is not below servers/", shard.primary));
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
std::expected<std::vector<uint32_t>, Error> InOrderOfSlots(const ClusterValues& values) {
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

std::string NamesOf(const ClusterValues& values) {
  std::string names;
  for (const auto& [id, server] : values.servers) names += (names.empty() ? "it has " : ", ") + id;
  return names.empty() ? "it is empty" : names;
}

verify::ClusterMap MapOf(const ClusterValues& values, const std::vector<uint32_t>& numbers) {
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
                          .number = static_cast<uint16_t>(number),
                          .primary = 0,
                          .in_sync = {{shard.in_sync.front().incarnation, places[shard.primary]}}});
  }
  return map;
}

ShardSet ShardsOf(const ClusterValues& values, const std::string& id) {
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

std::expected<ClusterValues, Error> ReadCluster(cluster::Coordinator* coordinator) {
  ClusterValues values;
  auto config = ReadValue(coordinator, "config", cluster::DecodeConfig);
  if (!config) return std::unexpected(config.error());
  values.config = *config;
  const uint64_t cluster_id = config->cluster_id;
  auto servers =
      ReadAll<cluster::Server>(coordinator, "servers", cluster_id, cluster::DecodeServer,
                               [&values](const std::string& id, cluster::Server server) -> Checked {
                                 values.servers.emplace(id, std::move(server));
                                 return {};
                               });
  if (!servers) return std::unexpected(servers.error());
  auto shards =
      ReadAll<cluster::Shard>(coordinator, "shards", cluster_id, cluster::DecodeShard,
                              [&values](const std::string& name, cluster::Shard shard) -> Checked {
                                const auto number = ShardNumberIn(name);
                                if (!number)
                                  return Wrong("shards/" + name, "is not a shard's number");
                                values.shards.emplace(*number, std::move(shard));
                                return {};
                              });
  if (!shards) return std::unexpected(shards.error());
  return values;
}

std::expected<ClusterMember, Error> MemberOf(const ClusterValues& values, const std::string& id) {
  if (auto checked = CheckShards(values); !checked) return std::unexpected(checked.error());
  if (values.servers.size() > kServersMax) {
    return Wrong("servers", fmt::format("there are more than {}", kServersMax));
  }
  const auto numbers = InOrderOfSlots(values);
  if (!numbers) return std::unexpected(numbers.error());
  const auto self = values.servers.find(id);
  if (self == values.servers.end()) {
    return Fail(Code::kNotFound, fmt::format("servers/ has no {}: {}", id, NamesOf(values)));
  }
  return ClusterMember{self->second.uris,
                       ShardsOf(values, id),
                       {id, values.config.cluster_id, MapOf(values, *numbers)}};
}

}  // namespace plov::server
