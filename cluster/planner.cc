#include "cluster/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace plov::cluster {

namespace {

using Servers = std::vector<std::string>;

bool Has(const Servers& servers, const std::string& server) {
  return std::ranges::find(servers, server) != servers.end();
}

Servers Without(Servers servers, const std::string& server) {
  std::erase(servers, server);
  return servers;
}

// The placements as they will be, and what they leave of the servers' room.
class Planner {
 public:
  explicit Planner(const Values& values) : values_(values) {
    for (const auto& [id, server] : values.servers) used_[id] = 0;
    for (const auto& [number, placement] : values.placements) {
      wanted_[number] = placement.servers;
      for (const std::string& server : placement.servers) ++used_[server];
    }
    // A replica that leaves takes its place until others have joined.
    for (const auto& [number, shard] : values.shards) {
      for (const Member& member : shard.in_sync) {
        if (!Has(wanted_[number], member.server)) ++leaving_[member.server];
      }
    }
  }

  const std::map<uint32_t, Servers>& wanted() const { return wanted_; }

  bool IsRunning(const std::string& server) const { return values_.running.contains(server); }
  bool HasRoom(const std::string& server) const {
    const auto known = values_.servers.find(server);
    if (known == values_.servers.end()) return false;
    return ValueAt(used_, server) + ValueAt(leaving_, server) < known->second.shards_max;
  }
  // Whether it can be given a replica of a shard that is on `others`.
  bool CanTake(const std::string& server, const Servers& others) const {
    return IsRunning(server) && !Has(others, server) && HasRoom(server);
  }
  // Of `server`, how many of `others` are in its zone. Without a name a zone is the server's own.
  size_t SameZone(const std::string& server, const Servers& others) const {
    const std::string zone = ZoneOf(server);
    if (zone.empty()) return 0;
    return static_cast<size_t>(std::ranges::count_if(others, [&](const std::string& other) {
      return other != server && ZoneOf(other) == zone;
    }));
  }
  // For one more replica of a shard that is on `others`.
  std::optional<std::string> Choose(const Servers& others, const std::string& but) const {
    std::optional<std::string> best;
    for (const auto& [id, server] : values_.servers) {
      if (id == but || !CanTake(id, others)) continue;
      if (!best || RankOf(id, others) < RankOf(*best, others)) best = id;
    }
    return best;
  }

  // `from` empty: one more. The new one has the former one's place.
  void Replace(uint32_t shard, const std::string& from, const std::string& to) {
    Servers& servers = wanted_.at(shard);
    ++used_[to];
    const auto found = std::ranges::find(servers, from);
    if (found == servers.end()) return servers.push_back(to);
    Count(shard, from);
    *found = to;
  }
  void MakeFirst(uint32_t shard, const std::string& server) {
    Servers& servers = wanted_.at(shard);
    std::rotate(servers.begin(), std::ranges::find(servers, server),
                std::next(std::ranges::find(servers, server)));
  }
  uint64_t UsedBy(const std::string& server) const { return ValueAt(used_, server); }

  Plan Changes() const {
    Plan plan;
    for (const auto& [number, servers] : wanted_) {
      if (servers != values_.placements.at(number).servers) plan.emplace(number, servers);
    }
    return plan;
  }

  // "a1 has 4 of 4, b1 does not run".
  std::string WhyNobody(const Servers& others) const {
    std::string text;
    for (const auto& [id, server] : values_.servers) {
      if (Has(others, id)) continue;
      text += text.empty() ? "" : ", ";
      text += IsRunning(id) ? fmt::format("{} has {} of its --max-shards {}", id,
                                          UsedBy(id) + ValueAt(leaving_, id), server.shards_max)
                            : id + " does not run";
    }
    return text.empty() ? "there is no other server" : text;
  }

 private:
  static uint64_t ValueAt(const std::map<std::string, uint64_t>& counts,
                          const std::string& server) {
    const auto found = counts.find(server);
    return found == counts.end() ? 0 : found->second;
  }
  std::string ZoneOf(const std::string& server) const {
    const auto known = values_.servers.find(server);
    return known == values_.servers.end() ? "" : known->second.zone;
  }
  std::tuple<size_t, double, std::string> RankOf(const std::string& server,
                                                 const Servers& others) const {
    const auto room = static_cast<double>(values_.servers.at(server).shards_max);
    const auto used = static_cast<double>(UsedBy(server) + ValueAt(leaving_, server));
    return {SameZone(server, others), used / room, server};
  }
  // One that has the replica keeps its place until it leaves.
  void Count(uint32_t shard, const std::string& from) {
    --used_[from];
    const auto& in_sync = values_.shards.at(shard).in_sync;
    if (std::ranges::find(in_sync, from, &Member::server) != in_sync.end()) ++leaving_[from];
  }

  const Values& values_;
  std::map<uint32_t, Servers> wanted_;
  std::map<std::string, uint64_t> used_, leaving_;
};

std::unexpected<Error> NoServer(const std::string& server) {
  return Fail(Code::kInvalidArgument, fmt::format("there is no server {}", server));
}

std::unexpected<Error> Nobody(const Planner& planner, uint32_t shard, const Servers& others) {
  return Fail(Code::kNoSpace, fmt::format("no server can take one more replica of shard {}: {}",
                                          shard, planner.WhyNobody(others)));
}

// Replicas of one shard that share a zone, while there is a better server.
void SpreadOverZones(Planner* planner) {
  for (const auto& [number, servers] : std::map(planner->wanted())) {
    for (const std::string& from : servers) {
      const Servers others = Without(planner->wanted().at(number), from);
      if (planner->SameZone(from, others) == 0) continue;
      const auto to = planner->Choose(others, from);
      if (to && planner->SameZone(*to, others) == 0) planner->Replace(number, from, *to);
    }
  }
}

// Moves one replica of the fullest server to another that has at least two less. False: none can be.
bool MoveFromFullest(Planner* planner, const std::vector<std::string>& servers) {
  for (const std::string& from : servers) {
    for (const auto& [number, placed] : planner->wanted()) {
      if (!Has(placed, from)) continue;
      const Servers others = Without(placed, from);
      const auto to = planner->Choose(others, from);
      if (!to || planner->UsedBy(*to) + 1 >= planner->UsedBy(from)) continue;
      if (planner->SameZone(*to, others) > planner->SameZone(from, others)) continue;
      planner->Replace(number, from, *to);
      return true;
    }
  }
  return false;
}

// The first of each placement is who is the first of the fewest so far.
void SpreadFirsts(Planner* planner) {
  std::map<std::string, uint64_t> firsts;
  for (const auto& [number, servers] : planner->wanted()) ++firsts[servers.front()];
  bool changes = true;
  while (changes) {
    changes = false;
    for (const auto& [number, servers] : std::map(planner->wanted())) {
      const auto best = std::ranges::min_element(
          servers, {}, [&firsts](const std::string& server) { return firsts[server]; });
      if (firsts[*best] + 1 >= firsts[servers.front()]) continue;
      --firsts[servers.front()];
      ++firsts[*best];
      planner->MakeFirst(number, *best);
      changes = true;
    }
  }
}

}  // namespace

std::string Joined(const std::vector<std::string>& servers) {
  std::string text;
  for (const std::string& server : servers) text += (text.empty() ? "" : ",") + server;
  return text;
}

std::expected<Plan, Error> PlanMove(const Values& values, uint32_t shard, const std::string& from,
                                    const std::string& to) {
  const auto placement = values.placements.find(shard);
  if (placement == values.placements.end() || !values.shards.contains(shard)) {
    return Fail(Code::kInvalidArgument, fmt::format("there is no shard {}: the cluster has {}",
                                                    shard, values.config.shards));
  }
  const Servers& servers = placement->second.servers;
  Planner planner(values);
  if (Has(servers, to)) {
    if (!from.empty()) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("shard {} has a replica on {} already", shard, to));
    }
    planner.MakeFirst(shard, to);
    return planner.Changes();
  }
  if (!values.servers.contains(to)) return NoServer(to);
  if (from.empty() && servers.size() > 1) {
    return Fail(Code::kInvalidArgument,
                fmt::format("shard {} has {} replicas: which one is to move (--from)?", shard,
                            servers.size()));
  }
  const std::string& leaves = from.empty() ? servers.front() : from;
  if (!Has(servers, leaves)) {
    return Fail(Code::kInvalidArgument, fmt::format("shard {} is not placed on {}", shard, leaves));
  }
  if (!planner.IsRunning(to)) {
    return Fail(Code::kNoSpace, fmt::format("server {} does not run", to));
  }
  if (!planner.HasRoom(to)) {
    return Fail(Code::kNoSpace,
                fmt::format("server {} has as many shards as it may: {} (--max-shards)", to,
                            values.servers.at(to).shards_max));
  }
  planner.Replace(shard, leaves, to);
  return planner.Changes();
}

std::expected<Plan, Error> PlanDrain(const Values& values, const std::string& server) {
  Planner planner(values);
  bool is_known = values.servers.contains(server);
  for (const auto& [number, servers] : std::map(planner.wanted())) {
    if (!Has(servers, server)) continue;
    is_known = true;
    const auto to = planner.Choose(Without(servers, server), server);
    if (!to) return Nobody(planner, number, servers);
    planner.Replace(number, server, *to);
  }
  if (!is_known) return NoServer(server);
  return planner.Changes();
}

Repair PlanRepair(const Values& values, const std::set<std::string>& awaited) {
  Planner planner(values);
  std::optional<Error> trouble;
  // `from` empty: one more. False: nobody has room.
  const auto replace = [&](uint32_t number, const std::string& from) {
    const Servers& now = planner.wanted().at(number);
    const auto to = planner.Choose(Without(now, from), from);
    if (to) planner.Replace(number, from, *to);
    if (!to && !trouble) trouble = Nobody(planner, number, now).error();
    return to.has_value();
  };
  for (const auto& [number, servers] : std::map(planner.wanted())) {
    for (const std::string& server : servers) {
      if (!planner.IsRunning(server) && !awaited.contains(server)) replace(number, server);
    }
    while (planner.wanted().at(number).size() < values.config.replicas && replace(number, "")) {
    }
  }
  return {planner.Changes(), std::move(trouble)};
}

Plan PlanBalance(const Values& values) {
  Planner planner(values);
  SpreadOverZones(&planner);
  while (true) {
    Servers fullest(values.running.begin(), values.running.end());
    std::ranges::sort(fullest, [&planner](const std::string& a, const std::string& b) {
      return std::tuple(planner.UsedBy(b), a) < std::tuple(planner.UsedBy(a), b);
    });
    if (!MoveFromFullest(&planner, fullest)) break;
  }
  SpreadFirsts(&planner);
  return planner.Changes();
}

std::expected<void, Error> Apply(Coordinator* coordinator, const Values& values, const Plan& plan) {
  for (const auto& [number, servers] : plan) {
    const std::string path = "placement/" + std::to_string(number);
    const auto now = coordinator->Get(path);
    if (!now) return std::unexpected(now.error());
    const Placement wanted{values.config.cluster_id, servers};
    const auto read = DecodePlacement(now->data);
    if (read && *read == wanted) continue;
    const bool is_read = read && *read == values.placements.at(number);
    const auto written = is_read ? coordinator->Set(path, Encode(wanted), now->revision)
                                 : std::unexpected(Error{Code::kVersionMismatch, ""});
    if (written) continue;
    if (written.error().code != Code::kVersionMismatch) return std::unexpected(written.error());
    return Fail(Code::kVersionMismatch,
                fmt::format("the placement of shard {} was changed meanwhile: again", number));
  }
  return {};
}

bool IsAsPlaced(const Values& values, uint32_t shard) {
  const auto placement = values.placements.find(shard);
  const auto configuration = values.shards.find(shard);
  if (placement == values.placements.end() || configuration == values.shards.end()) return false;
  const Servers& wanted = placement->second.servers;
  const auto& in_sync = configuration->second.in_sync;
  return wanted.size() == in_sync.size() && wanted.front() == configuration->second.primary &&
         std::ranges::all_of(in_sync,
                             [&](const Member& member) { return Has(wanted, member.server); });
}

}  // namespace plov::cluster
