// The server's clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace plov::server {

inline uint64_t ClockUs(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

// Microseconds of the host's monotonic clock, suspended time included, as the lives of items.
inline uint64_t MonotonicUs() { return ClockUs(CLOCK_BOOTTIME); }

}  // namespace plov::server
