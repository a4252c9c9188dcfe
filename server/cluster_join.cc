#include "server/cluster_join.h"

#include <fmt/format.h>

#include <utility>

#include "cluster/coordinator.h"
#include "server/cluster_member.h"

namespace plov::server {

namespace {

std::expected<ClusterMember, Error> ReadMember(const std::string& uri, const std::string& id) {
  const auto coordinator = cluster::Open(uri, {});
  if (!coordinator) return std::unexpected(coordinator.error());
  const auto values = ReadCluster(coordinator->get());
  if (!values) return std::unexpected(values.error());
  return MemberOf(*values, id);
}

}  // namespace

std::expected<void, Error> JoinCluster(Options* options) {
  if (options->cluster.empty()) return {};
  auto member = ReadMember(options->cluster, options->id);
  if (!member) {
    return Fail(member.error().code,
                fmt::format("--cluster {}: {}", options->cluster, member.error().message));
  }
  ServerOptions* server = &options->server;
  const size_t shards = member->shards.hosted.size();
  if (server->memory_bytes < kShardMemoryMin * shards) {
    return Fail(Code::kInvalidArgument,
                fmt::format("--memory of {} MiB is too small for the {} shards that {} gives {}: "
                            "{} MiB at least",
                            server->memory_bytes >> 20, shards, options->cluster, options->id,
                            kShardMemoryMin * shards >> 20));
  }
  server->shards = std::move(member->shards);
  server->cluster = std::move(member->view);
  if (!options->given.contains("listen")) server->uris = std::move(member->uris);
  return {};
}

}  // namespace plov::server
