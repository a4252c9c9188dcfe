// All that a coordinator holds of a cluster (cluster/configuration.h), and how a cluster begins.
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

#include "cluster/configuration.h"
#include "cluster/coordinator.h"

namespace plov::cluster {

// Each value by itself is as its decoder accepts it.
struct Values {
  Config config;
  std::map<std::string, Server> servers;  // by ID
  std::set<std::string> running;
  std::map<uint32_t, Placement> placements;  // by number of shards, as the next
  std::map<uint32_t, Shard> shards;
  std::map<uint32_t, EmptyStart> empty_starts;

  bool operator==(const Values&) const = default;
};

// Errors: of the coordinator, and kProtocol: a value makes no sense or is another cluster's, a name of a shard is no number.
std::expected<Values, Error> ReadValues(Coordinator* coordinator);

// Reads again only what has changed: of a cluster with many shards all values take as many calls as those have.
class ValuesFollower {
 public:
  // coordinator: outlives it, and shows its hints, which are this one's, to nobody else.
  explicit ValuesFollower(Coordinator* coordinator) : coordinator_(coordinator) {}

  // What it holds now, as far as hints have come; stays until the next Look. Errors: as of ReadValues; then the next Look
  // reads what is missing.
  std::expected<const Values*, Error> Look();

 private:
  std::expected<void, Error> Begin();
  std::expected<void, Error> Read(const std::string& path);

  Coordinator* coordinator_;
  std::optional<Values> values_;
  std::set<std::string> due_;  // paths
};

// The servers that a shard is placed on when its cluster begins, of those that there are: config.replicas at least. Shards
// that follow each other have the same first server, so that a short READ has all oaths that it shows; their other replicas are
// on several of the servers after it, which share its repair when it is lost. So servers that follow each other should not fail together.
std::vector<std::string> FirstPlacement(uint32_t shard, const Config& config,
                                        const std::vector<std::string>& servers);

// A cluster whose shards hold nothing, placed by FirstPlacement: each is begun by the first of its servers. cluster_id, hash_seed and session_key are drawn here; returns the config.
//
// kInvalidArgument: no such cluster is possible; with replicas it has 2 shards at least. kExists: there is one, or what is left of one. Else as of
// Coordinator::Create; what there is then has to be deleted by other means.
std::expected<Config, Error> CreateCluster(Coordinator* coordinator, Config config,
                                           const std::vector<std::string>& servers);

}  // namespace plov::cluster
