#include "cluster/empty_start.h"

#include <utility>

#include "fabric/random.h"

namespace plov::cluster {

std::string EmptyStartPath(uint32_t shard) { return "empty/" + std::to_string(shard); }

std::expected<void, Error> ForceEmptyStart(Coordinator* coordinator, uint64_t cluster_id,
                                           uint32_t shard, const std::string& server) {
  ConfigurationRegister configuration(coordinator, shard, cluster_id);
  const auto held = configuration.Read();
  if (!held) return std::unexpected(held.error());
  const Member member{server, fabric::RandomId()};
  Shard next = held->shard;
  next.primary = server;
  next.begun = held->shard.epoch + 1;
  next.in_sync = {member};
  next.joining.clear();
  const Outcome outcome = configuration.Propose(*held, std::move(next));
  if (outcome.verdict != Verdict::kAccepted) {
    const bool is_open = outcome.verdict == Verdict::kOpen;
    return Fail(is_open ? Code::kUnknown : Code::kVersionMismatch, outcome.why);
  }
  return Put(coordinator, EmptyStartPath(shard), Encode(EmptyStart{cluster_id, member}));
}

std::expected<std::optional<Held>, Error> TakeEmptyStart(Coordinator* coordinator,
                                                         uint64_t cluster_id, uint32_t shard,
                                                         const std::string& server) {
  const std::string path = EmptyStartPath(shard);
  const auto value = coordinator->Get(path);
  if (!value && value.error().code == Code::kNotFound) return std::nullopt;
  if (!value) return std::unexpected(value.error());
  auto start = DecodeEmptyStart(value->data);
  if (!start) return std::unexpected(start.error());
  if (auto ours = CheckCluster(start->cluster_id, cluster_id); !ours) {
    return std::unexpected(ours.error());
  }
  if (start->is_taken || start->member.server != server) return std::nullopt;
  const auto held = ConfigurationRegister(coordinator, shard, cluster_id).Read();
  if (!held) return std::unexpected(held.error());
  if (held->shard.primary != server || held->shard.in_sync != std::vector{start->member}) {
    return std::nullopt;
  }
  start->is_taken = true;
  const auto taken = coordinator->Set(path, Encode(*start), value->revision);
  if (taken) return *held;
  if (taken.error().code == Code::kVersionMismatch) return std::nullopt;
  return std::unexpected(taken.error());
}

}  // namespace plov::cluster
