#include "cluster/repairer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plov::cluster {

namespace {

constexpr const char* kClaim = "repairing";

std::set<std::string> ServersWithShards(const Values& values) {
  std::set<std::string> servers;
  for (const auto& [number, placement] : values.placements) {
    servers.insert(placement.servers.begin(), placement.servers.end());
  }
  return servers;
}

// Whether there is one who runs and whom the shard can be copied from, and all who go lack it.
bool CanBeRepaired(const Values& values, uint32_t shard, const std::set<std::string>& away) {
  const auto& in_sync = values.shards.at(shard).in_sync;
  const auto runs = [&](const Member& member) { return values.running.contains(member.server); };
  const auto goes = [&](const Member& member) { return away.contains(member.server); };
  return std::ranges::any_of(in_sync, runs) && std::ranges::none_of(in_sync, goes);
}

// Of these servers alone: whoever else does not run is awaited.
Repair PlanOf(const Values& values, const std::set<std::string>& away) {
  std::set<std::string> awaited;
  for (const std::string& server : ServersWithShards(values)) {
    if (!away.contains(server)) awaited.insert(server);
  }
  Repair repair = PlanRepair(values, awaited);
  std::erase_if(repair.plan,
                [&](const auto& one) { return !CanBeRepaired(values, one.first, away); });
  return repair;
}

}  // namespace

std::expected<Repairer::Done, Error> Repairer::Look(const Values& values, Time now) {
  Note(values, now);
  // Who is not seen itself may see little.
  if (!values.running.contains(self_)) return Done{};
  const std::set<std::string> away = Due(values.config.repair_after, now);
  if (away.empty()) return Done{};
  const size_t servers = ServersWithShards(values).size();
  if (since_.size() * 2 > servers) {
    return Fail(Code::kUnavailable, fmt::format("{} of {} servers do not run: nothing is placed "
                                                "anew by itself, see plov cluster repair",
                                                since_.size(), servers));
  }
  // Nothing is written while there is nothing to do.
  const Repair repair = PlanOf(values, away);
  if (repair.plan.empty() && repair.trouble) return std::unexpected(*repair.trouble);
  if (repair.plan.empty()) return Done{};
  const auto claimed = Claim();
  if (!claimed) return std::unexpected(claimed.error());
  if (!*claimed) return Done{};
  auto done = Place(away);
  Release();
  return done;
}

void Repairer::Note(const Values& values, Time now) {
  const std::set<std::string> servers = ServersWithShards(values);
  std::erase_if(since_, [&](const auto& one) {
    return values.running.contains(one.first) || !servers.contains(one.first);
  });
  for (const std::string& server : servers) {
    if (!values.running.contains(server)) since_.try_emplace(server, now);
  }
}

std::set<std::string> Repairer::Due(std::chrono::milliseconds after, Time now) const {
  std::set<std::string> away;
  for (const auto& [server, since] : since_) {
    if (after.count() != 0 && now - since >= after) away.insert(server);
  }
  return away;
}

std::expected<Repairer::Done, Error> Repairer::Place(const std::set<std::string>& away) {
  const auto values = ReadValues(coordinator_);
  if (!values) return std::unexpected(values.error());
  Repair repair = PlanOf(*values, away);
  if (auto applied = Apply(coordinator_, *values, repair.plan); !applied) {
    return std::unexpected(applied.error());
  }
  return Done{std::move(repair.plan), {away.begin(), away.end()}};
}

// What is left of a call whose reply was lost is its own, too.
std::expected<bool, Error> Repairer::Claim() {
  const auto created = coordinator_->Create(kClaim, self_, Lifetime::kEphemeral);
  if (created) return true;
  if (created.error().code != Code::kExists) return std::unexpected(created.error());
  const auto claim = coordinator_->Get(kClaim);
  if (claim) return claim->data == self_;
  if (claim.error().code == Code::kNotFound) return false;
  return std::unexpected(claim.error());
}

// Where it cannot, its session's end does.
void Repairer::Release() {
  if (const auto claim = coordinator_->Get(kClaim); claim && claim->data == self_) {
    static_cast<void>(coordinator_->Delete(kClaim, claim->revision));
  }
}

}  // namespace plov::cluster
