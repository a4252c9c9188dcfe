// ClusterStudy: how long a cluster serves nothing when one of its servers is harmed, what it loses of what it had
// acknowledged, and what replicas cost while nothing happens.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cluster/subject.h"
#include "bench/compare/study.h"
#include "bench/page/page.h"
#include "bench/peers/peer.h"
#include "bench/shared/options.h"
#include "bench/shared/sample.h"

namespace plov::bench {

struct ClusterSettings : StudySettings {
  ClusterSettings() : StudySettings(5, std::chrono::milliseconds(500)) {}

  std::string log = {};  // on the disk of the servers' logs; empty: they have none
};

inline constexpr std::string_view kPlovCluster = "plov";
inline constexpr std::string_view kRedisCluster = "Redis Cluster";

// The longest PUT and GET between the harm and when all keys had had one; and what was there then.
struct HarmRow {
  Harm harm;
  std::string_view who;
  Sample puts_ms = {};
  Sample gets_ms = {};
  uint64_t acknowledged = 0;  // PUTs
  uint64_t lost = 0;          // of these
  uint64_t failed = 0;        // calls that ended with an error
};

// Operations a second of a server alone, and of a cluster in which each item has two replicas.
struct CostRow {
  Way way;
  Sample alone;
  Sample replicated;
};

struct ClusterStudy {
  ClusterSettings settings;
  std::string skipped;  // why there is no Redis
  std::vector<HarmRow> harms;
  std::vector<CostRow> costs;

  const HarmRow* Find(Harm harm, std::string_view who) const;
};

// Errors: those of plov's servers and clients, that there is no ZooKeeper; of Redis, but not that it is not installed.
std::expected<ClusterStudy, Error> StudyCluster(const ClusterSettings& settings);

std::vector<GoalRow> GoalsOf(const ClusterStudy& study);
Page PageOf(const ClusterStudy& study);
program::Json JsonOf(const ClusterStudy& study);

}  // namespace plov::bench
