#include "tests/sim/virtual_host.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstring>

namespace plov::sim {

namespace {

VirtualHost* host = nullptr;

}  // namespace

VirtualHost::VirtualHost(uint64_t seed) : random_(seed) { host = this; }

VirtualHost::~VirtualHost() { host = nullptr; }

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
  const uint64_t us = plov::sim::host->now_us();
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
