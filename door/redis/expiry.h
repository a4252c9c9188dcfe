// Expiry: Redis counts milliseconds, plov whole Unix seconds. An item of plov ends with the second in which Redis's
// would, so at most a second later, and one whose second has begun already at the end of that second.
#pragma once

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace plov::door::redis {

inline constexpr int64_t kMsPerSecond = 1000;

inline int64_t UnixMs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kMsPerSecond + now.tv_nsec / 1'000'000;
}

// The second that begins next, from which the server counts a ttl.
inline int64_t NextUnixSecond() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec + (now.tv_nsec > 0 ? 1 : 0);
}

// The ttl of an item that is to end at a moment that has not come yet.
inline std::chrono::seconds TtlUntil(int64_t unix_ms) {
  const int64_t second = unix_ms / kMsPerSecond + (unix_ms % kMsPerSecond > 0 ? 1 : 0);
  return std::chrono::seconds(std::max<int64_t>(second - NextUnixSecond(), 1));
}

// Of what replaces an item with this expiry, 0: never.
inline std::chrono::seconds TtlOf(uint32_t expiry) {
  return expiry == 0 ? std::chrono::seconds(0) : TtlUntil(int64_t{expiry} * kMsPerSecond);
}

}  // namespace plov::door::redis
