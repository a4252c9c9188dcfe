// Clocks of the kernel, in nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace plov::bench {

inline int64_t ClockNs(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The same in all processes.
inline int64_t NowNs() { return ClockNs(CLOCK_MONOTONIC); }
// That this process, or this thread, has used: other programs on the machine do not count.
inline int64_t ProcessCpuNs() { return ClockNs(CLOCK_PROCESS_CPUTIME_ID); }
inline int64_t ThreadCpuNs() { return ClockNs(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace plov::bench
