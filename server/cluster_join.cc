#include "server/cluster_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "cluster/values.h"
#include "server/cluster_member.h"

namespace plov::server {

namespace {

// An ensemble that has just started chooses a leader first.
constexpr std::chrono::seconds kCoordinatorWithin{10};

// One that may have more replicas waits for them to be moved to it.
std::unexpected<Error> NothingPlaced(const cluster::Values& values, const std::string& id) {
  std::set<std::string> known;
  for (const auto& [number, placement] : values.placements) {
    known.insert(placement.servers.begin(), placement.servers.end());
  }
  std::string names;
  for (const std::string& one : known) names += (names.empty() ? "" : ", ") + one;
  return Fail(Code::kNotFound,
              fmt::format("no shard has a replica on {}: they are on {}; a server that is to be "
                          "given some needs --max-shards",
                          id, names));
}

std::expected<uint32_t, Error> ShardsMax(const cluster::Values& values, const Options& options,
                                         size_t placed) {
  if (placed == 0 && options.shards_max == 0) return NothingPlaced(values, options.id);
  if (options.shards_max == 0 || options.shards_max >= placed) {
    return std::max(options.shards_max, static_cast<uint32_t>(placed));
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("--max-shards {} is less than the {} shards that are placed on {}",
                          options.shards_max, placed, options.id));
}

std::expected<void, Error> JoinStatic(const cluster::Values& values, Options* options) {
  auto member = MemberOf(values, options->id);
  if (!member) return std::unexpected(member.error());
  options->server.shards = std::move(member->shards);
  options->server.cluster = std::move(member->view);
  if (!options->given.contains("listen")) options->server.uris = std::move(member->uris);
  return {};
}

std::expected<void, Error> JoinReplicated(const cluster::Values& values, Options* options) {
  if (values.config.session_key == 0) {
    return Fail(Code::kProtocol, "config has no session_key: was it made by plov cluster create?");
  }
  if (values.config.shards == 1 && values.config.replicas > 1) {
    return Fail(Code::kProtocol, "config has 1 shard: with replicas it needs 2 at least");
  }
  auto placed = PlacedOn(values, options->id);
  if (!placed) return std::unexpected(placed.error());
  const auto shards_max = ShardsMax(values, *options, placed->size());
  if (!shards_max) return std::unexpected(shards_max.error());
  ServerOptions* server = &options->server;
  server->cluster = {options->id, values.config.cluster_id, {}};
  server->shards = {.hosted = {},
                    .count = values.config.shards,
                    .cluster_id = values.config.cluster_id,
                    .hash_seed = values.config.hash_seed};
  server->replication = {.coordinator = options->cluster,
                         .auth_file = options->cluster_auth,
                         .cuts_file = options->cuts_file,
                         .zone = options->zone,
                         .config = values.config,
                         .placed = std::move(*placed),
                         .former = FormerlyPlacedOn(values, options->id),
                         .shards_max = *shards_max};
  return {};
}

std::expected<void, Error> Join(Options* options) {
  const auto coordinator = cluster::Open(
      options->cluster, {.timeout = kCoordinatorWithin, .auth_file = options->cluster_auth});
  if (!coordinator) return std::unexpected(coordinator.error());
  const auto values = cluster::ReadValues(coordinator->get());
  if (!values) return std::unexpected(values.error());
  return options->has_replicas() ? JoinReplicated(*values, options) : JoinStatic(*values, options);
}

}  // namespace

std::expected<void, Error> JoinCluster(Options* options) {
  if (options->cluster.empty()) return {};
  if (auto joined = Join(options); !joined) {
    return Fail(joined.error().code,
                fmt::format("--cluster {}: {}", options->cluster, joined.error().message));
  }
  const size_t shards = options->server.shards_max();
  if (options->server.memory_bytes >= kShardMemoryMin * shards) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("--memory of {} MiB is too small for the {} shards that {} may have of {}: "
                  "{} MiB at least",
                  options->server.memory_bytes >> 20, shards, options->id, options->cluster,
                  kShardMemoryMin * shards >> 20));
}

}  // namespace plov::server
