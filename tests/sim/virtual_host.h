// Virtual host: the clock and the random numbers that the product asks the kernel for, replaced by
// ones that a run owns, so that the run can be repeated.
//
// clock_gettime(2) and getrandom(2) are defined by this program and found by the linker before the
// C library's. While no VirtualHost lives they are the kernel's.
#pragma once

#include <cstdint>

#include "tests/sim/random.h"

namespace plov::sim {

class VirtualHost {
 public:
  explicit VirtualHost(uint64_t seed);
  VirtualHost(const VirtualHost&) = delete;
  VirtualHost& operator=(const VirtualHost&) = delete;
  ~VirtualHost();

  // Of every clock, in microseconds.
  uint64_t now_us() const { return now_us_; }
  void Pass(uint64_t us) { now_us_ += us; }

  Random* random() { return &random_; }

 private:
  uint64_t now_us_ = 1'000'000'000;
  Random random_;
};

// Seconds of the real clock.
double RealSeconds();

}  // namespace plov::sim
