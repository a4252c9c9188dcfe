// Expiry: how the server counts it, as a moment in Unix seconds that a started second is added to.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>

namespace plov::door::memcached {

// The second that begins next, from which the server counts a ttl.
inline int64_t UnixSecondsUp() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec + (now.tv_nsec > 0 ? 1 : 0);
}

// About what the server makes of a ttl that it is told now; 0: never.
inline uint32_t ExpiryOf(std::chrono::seconds ttl) {
  return ttl.count() == 0 ? 0 : static_cast<uint32_t>(UnixSecondsUp() + ttl.count());
}

// The ttl that has this expiry.
inline int64_t SecondsUntil(uint32_t expiry) { return int64_t{expiry} - UnixSecondsUp(); }

}  // namespace plov::door::memcached
