// Goals: the speed to reach, as ratios to what peers do on the same machine in the same run.
//
// Source: the table of speeds in plov's design.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "bench/peers/peer.h"

namespace plov::bench {

// plov itself comes in two states.
inline constexpr std::string_view kCold = "cold";    // its client remembers nothing
inline constexpr std::string_view kKnown = "known";  // it remembers where all items are

enum class Bound : uint8_t { kAtLeast, kAtMost };

// The rate of one side is to be so many times that of the other.
struct RateGoal {
  std::string_view name;  // in JSON
  std::string_view what;
  std::string_view ours;  // kCold or kKnown
  Way way;                // of both
  std::string_view peer;  // a PeerKind's name
  double target;          // at least
};

inline constexpr auto kRateGoals = std::to_array<RateGoal>({
    {"get_memory", "GET, one at a time", kCold, Way::kGet, "memory", 0.85},
    {"get_known_memory", "GET, location known", kKnown, Way::kGet, "memory", 1.5},
    {"get_known_lmdb", "GET, location known", kKnown, Way::kGet, "lmdb", 2.2},
    {"get_known_libcuckoo", "GET, location known", kKnown, Way::kGet, "libcuckoo", 1.3},
    {"get_known_redis", "GET, location known", kKnown, Way::kGet, "redis", 100},
    {"get_known_memcached", "GET, location known", kKnown, Way::kGet, "memcached", 100},
    {"get_many_memory", "GetMany, window 32", kCold, Way::kGetMany, "memory", 0.40},
    {"get_many_redis", "GetMany, window 32", kCold, Way::kGetMany, "redis", 10},
    {"put_redis", "PUT, one at a time", kCold, Way::kPut, "redis", 40},
    {"put_many_redis", "PUT, 32 in flight", kCold, Way::kPutMany, "redis", 1.5},
});

// By how much of the target it is missed; 0: it is reached. The target is not 0.
constexpr double MissedBy(Bound bound, double target, double measured) {
  const double missing = bound == Bound::kAtLeast ? target - measured : measured - target;
  return missing > 0 ? missing / target : 0;
}

}  // namespace plov::bench
