// Repairer: places what servers had that have not run for a while (Config::repair_after) on others, by itself.
//
// Each server has one, and any of them does it. An ephemeral node, "repairing", keeps two of them apart, and who has it
// plans with what it reads then, so that no server is given more than it has room for.
//
// Nothing is done while more than half of the servers that shards are placed on are away: that is a network in parts, or a
// power cut, and the rest would be given what they have no memory for. Nor for a shard of which no member runs, as nobody
// could copy it, nor in the place of a server that is in sync: it has only lost the coordinator.
//
// Threads: one.
#pragma once

#include <chrono>
#include <expected>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/coordinator.h"
#include "cluster/planner.h"
#include "cluster/values.h"

namespace plov::cluster {

class Repairer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // coordinator: outlives it. self: this server's ID.
  Repairer(Coordinator* coordinator, std::string self)
      : coordinator_(coordinator), self_(std::move(self)) {}

  struct Done {
    Plan plan;                      // that was written
    std::vector<std::string> away;  // whose part it was
  };
  // Often, with what was read last. Errors: of the coordinator, kVersionMismatch: a placement has changed meanwhile, all of
  // them until the next Look; kNoSpace: there is no server for one of the replicas, those of others are placed;
  // kUnavailable: too many are away.
  std::expected<Done, Error> Look(const Values& values, Time now);
  // It was not seen for a while who runs: times are counted anew.
  void Forget() { since_.clear(); }

 private:
  void Note(const Values& values, Time now);
  // Those that have not run for so long; none for 0.
  std::set<std::string> Due(std::chrono::milliseconds after, Time now) const;
  std::expected<Done, Error> Place(const std::set<std::string>& away);
  // False: another has it.
  std::expected<bool, Error> Claim();
  void Release();

  Coordinator* coordinator_;
  const std::string self_;
  std::map<std::string, Time> since_;  // of those that shards are placed on and that do not run
};

}  // namespace plov::cluster
