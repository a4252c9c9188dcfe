// Goals: the speed to reach, as ratios to what peers do on the same machine in the same run.
//
// Source: the table of speeds in plov's design.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "bench/peers/peer.h"

namespace plov::bench {

// plov itself comes in two states.
inline constexpr std::string_view kCold = "cold";    // its client remembers nothing
inline constexpr std::string_view kKnown = "known";  // it remembers where all items are

enum class Bound : uint8_t { kAtLeast, kAtMost };

// The rate of one side is to be at least so many times that of the other.
struct RateGoal {
  std::string_view name;  // in JSON
  std::string_view what;
  std::string_view ours;  // kCold or kKnown
  Way way;                // of both
  std::string_view peer;  // a PeerKind's name
  double target;
  std::string_view or_peer = {};  // another, whichever is faster
};

inline constexpr auto kRateGoals = std::to_array<RateGoal>({
    {"get_memory", "GET", kCold, Way::kGet, "memory", 0.85},
    {"get_known_memory", "GET, location known", kKnown, Way::kGet, "memory", 1.5},
    {"get_known_lmdb", "GET, location known", kKnown, Way::kGet, "lmdb", 2.2},
    {"get_known_libcuckoo", "GET, location known", kKnown, Way::kGet, "libcuckoo", 1.3},
    {"get_known_redis", "GET, location known", kKnown, Way::kGet, "redis", 100},
    {"get_known_memcached", "GET, location known", kKnown, Way::kGet, "memcached", 100},
    {"get_many_memory", "GETs, 32 in flight", kCold, Way::kGetMany, "memory", 0.40},
    {"get_many_redis", "GETs, 32 in flight", kCold, Way::kGetMany, "redis", 10, "redis-benchmark"},
    {"put_redis", "PUT", kCold, Way::kPut, "redis", 40},
    {"put_many_redis", "PUTs, 32 in flight", kCold, Way::kPutMany, "redis", 1.5, "redis-benchmark"},
});

// What is no ratio of rates.
struct FactGoal {
  std::string_view name = {};
  std::string_view what = {};
  std::string_view peer = {};       // what it is compared with, and
  std::string_view published = {};  // what that came to, where it was published
  Bound bound = Bound::kAtLeast;
  double target = 0;
  std::string_view unit = {};  // of target and measured
  int digits = -1;  // after the point, as many as the target is stated with: judged; -1: all
};

inline constexpr FactGoal kServerCpu{
    "server_cpu", "1,000,000 GETs", "server's CPU", "", Bound::kAtMost, 0, " s", 3};
inline constexpr FactGoal kServerStopped{
    "server_stopped", "GETs, server stopped", "of them right", "", Bound::kAtLeast, 100, " %", 2};
inline constexpr FactGoal kIdleCpu{"idle_cpu", "idle server", "CPU", "", Bound::kAtMost,
                                   0,          " %",          1};
inline constexpr FactGoal kReadsRecord{
    "reads_record", "READs per GET", "Pilaf", "2.6", Bound::kAtMost, 2.4, "", 1};
inline constexpr FactGoal kReadsRecordKnown{
    "reads_record_known", "same, known", "Pilaf", "2.6", Bound::kAtMost, 1, "", 1};
inline constexpr FactGoal kReadsInline{
    "reads_inline", "same, in the bucket", "Pilaf", "2.6", Bound::kAtMost, 1.4, "", 1};
inline constexpr FactGoal kReadsInlineKnown{
    "reads_inline_known", "same, known", "Pilaf", "2.6", Bound::kAtMost, 1, "", 1};
inline constexpr FactGoal kReadsMiss{
    "reads_miss", "READs per miss", "Pilaf", "3", Bound::kAtMost, 1.02, "", 2};
inline constexpr FactGoal kTableFill{
    "table_fill", "fill until growth", "Pilaf", "75 %", Bound::kAtLeast, 90, " %", 1};
inline constexpr FactGoal kWireRate{
    "rdma", "GETs over RDMA", "ib_read_bw", "", Bound::kAtLeast, 0.90, "x", 2};

// By how much it is missed; 0: it is reached.
constexpr double MissedBy(Bound bound, double target, double measured) {
  const double missing = bound == Bound::kAtLeast ? target - measured : measured - target;
  return missing > 0 ? missing : 0;
}

}  // namespace plov::bench
