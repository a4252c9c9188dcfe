// Virtual host: the clocks and the random numbers that the product asks the kernel for, replaced by
// ones that a run owns, so that the run can be repeated.
//
// There is one time, which the schedule passes, and a clock per host that shows it with an offset
// and a drift of its own; whoever runs the product's code says on which host that is (OnHost).
// clock_gettime(2) and getrandom(2) are defined by this program and found by the linker before the
// C library's. While no VirtualHost lives they are the kernel's.
#pragma once

#include <cstdint>

#include "tests/sim/random.h"

namespace plov::sim {

// One host's clocks, in microseconds.
struct HostClock {
  uint64_t boot_us = 0;  // what the monotonic clocks show at time 0
  int64_t unix_us = 0;   // Unix time minus these
  int32_t drift_ppm = 0;

  uint64_t BootUs(uint64_t time_us) const {
    return boot_us + time_us +
           static_cast<uint64_t>(static_cast<int64_t>(time_us) * drift_ppm / 1'000'000);
  }
  uint64_t UnixUs(uint64_t time_us) const {
    return BootUs(time_us) + static_cast<uint64_t>(unix_us);
  }
  // Any of an uptime of up to a year and a wrong date. Two of them drift apart by no more than the
  // manual takes for granted.
  static HostClock Draw(Random* random);
};

class VirtualHost {
 public:
  explicit VirtualHost(uint64_t seed);
  VirtualHost(const VirtualHost&) = delete;
  VirtualHost& operator=(const VirtualHost&) = delete;
  ~VirtualHost();

  // The time, in microseconds, which no host knows.
  uint64_t now_us() const { return now_us_; }
  void Pass(uint64_t us) { now_us_ += us; }

  Random* random() { return &random_; }

 private:
  uint64_t now_us_ = 1'000'000'000;
  Random random_;
};

// While it lives, what runs is on that host; else on one whose clocks show the time itself.
class OnHost {
 public:
  explicit OnHost(const HostClock* clock);
  OnHost(const OnHost&) = delete;
  OnHost& operator=(const OnHost&) = delete;
  ~OnHost();

 private:
  const HostClock* former_;
};

// Seconds of the real clock.
double RealSeconds();

}  // namespace plov::sim
