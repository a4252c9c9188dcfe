#include "tests/sim/virtual_host.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace plov::sim {

namespace {

constexpr HostClock kTheTime;
constexpr uint64_t kYearSeconds = 365 * 86'400;
constexpr uint64_t kEarliestUnixSeconds = 1'500'000'000;
constexpr int32_t kDriftPpmMax = 499;

VirtualHost* host = nullptr;
const HostClock* clock_here = &kTheTime;

}  // namespace

HostClock HostClock::Draw(Random* random) {
  const uint64_t boot_us =
      random->Below(kYearSeconds) * uint64_t{1'000'000} + random->Below(1'000'000);
  const uint64_t unix_us = (kEarliestUnixSeconds + random->Below(10 * kYearSeconds)) * 1'000'000 +
                           random->Below(1'000'000);
  return {.boot_us = boot_us,
          .unix_us = static_cast<int64_t>(unix_us - boot_us),
          .drift_ppm = static_cast<int32_t>(random->Below(2 * kDriftPpmMax + 1)) - kDriftPpmMax};
}

VirtualHost::VirtualHost(uint64_t seed) : random_(seed) { host = this; }

VirtualHost::~VirtualHost() { host = nullptr; }

OnHost::OnHost(const HostClock* clock) : former_(std::exchange(clock_here, clock)) {}

OnHost::~OnHost() { clock_here = former_; }

double RealSeconds() {
  timespec now;
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

}  // namespace plov::sim

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  if (plov::sim::host == nullptr) {
    return static_cast<int>(::syscall(SYS_clock_gettime, clock, now));
  }
  const plov::sim::HostClock& here = *plov::sim::clock_here;
  const uint64_t time_us = plov::sim::host->now_us();
  const bool is_unix = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  const uint64_t us = is_unix ? here.UnixUs(time_us) : here.BootUs(time_us);
  now->tv_sec = static_cast<time_t>(us / 1'000'000);
  now->tv_nsec = static_cast<long>(us % 1'000'000 * 1000);
  return 0;
}

ssize_t getrandom(void* buffer, size_t bytes, unsigned flags) {
  if (plov::sim::host == nullptr) {
    return static_cast<ssize_t>(::syscall(SYS_getrandom, buffer, bytes, flags));
  }
  auto* to = static_cast<unsigned char*>(buffer);
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = plov::sim::host->random()->Next();
    std::memcpy(to + at, &word, bytes - at < sizeof(word) ? bytes - at : sizeof(word));
  }
  return static_cast<ssize_t>(bytes);
}
}
