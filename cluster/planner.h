// Where the replicas of shards are to be: which placements have to change, so that a shard is moved, a server has none, those
// that are lost are replaced, or all servers have their part.
//
// A placement is a wish: servers follow it by themselves, and a change of mind is another placement. Plans are made of what
// was read, which may be old; one that is not true any more when it is written is refused.
//
// Threads: one at a time.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/coordinator.h"
#include "cluster/values.h"

namespace plov::cluster {

// By shard: the servers that it is to be placed on, the first of them the primary. Only what changes.
using Plan = std::map<uint32_t, std::vector<std::string>>;

// "a1,b1".
std::string Joined(const std::vector<std::string>& servers);

// Errors of all: kInvalidArgument, there is no such shard or server; kNoSpace, no server that runs may have one more of the
// shards: it has as many as its --max-shards, or a replica already.
//
// Servers are chosen that run, in a zone that has no replica of the shard yet where there is one, and that have the smallest
// part of what they may have.

// One replica: from where it is to where there is none. `from` empty: the only one. Where `to` has one, it becomes the primary.
std::expected<Plan, Error> PlanMove(const Values& values, uint32_t shard, const std::string& from,
                                    const std::string& to);
// All replicas of a server go to others.
std::expected<Plan, Error> PlanDrain(const Values& values, const std::string& server);
// Replicas of servers that do not run, but for those that may come back, and those that are missing.
struct Repair {
  Plan plan;                     // of all shards for which there are servers
  std::optional<Error> trouble;  // of the first for which there are not: kNoSpace
};
Repair PlanRepair(const Values& values, const std::set<std::string>& awaited = {});
// No server has two replicas more than another that could have one of them, nor is it the first of two shards more; and
// replicas of a shard are in different zones where there are servers for it.
Plan PlanBalance(const Values& values);

// Writes the placements. kVersionMismatch: one has changed since `values` were read; else as of the coordinator. What was
// written before stays.
std::expected<void, Error> Apply(Coordinator* coordinator, const Values& values, const Plan& plan);

// Whether a shard's replicas are where it is placed, and nowhere else.
bool IsAsPlaced(const Values& values, uint32_t shard);

}  // namespace plov::cluster
