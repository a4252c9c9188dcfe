// WriteTimes: where the time of a message of writes goes, from when it is taken to when its reply is
// sent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "verify/slow_writes.h"

namespace plov::server {

class WriteTimes {
 public:
  void Begin(uint64_t now_us) {
    begun_us_ = since_us_ = now_us;
    spent_us_ = {};
    cause_ = verify::Cause::kWork;
  }
  // Why it does not go on now. The slice that ends so counts, too.
  void Rest(verify::Cause cause) { cause_ = cause; }
  // It goes on. Returns how long the slice before and the rest behind it took.
  uint64_t GoOn(uint64_t now_us) {
    const uint64_t took_us = now_us - since_us_;
    spent_us_[static_cast<size_t>(cause_)] += took_us;
    cause_ = verify::Cause::kWork;
    since_us_ = now_us;
    return took_us;
  }

  uint64_t begun_us() const { return begun_us_; }
  // When the slice began.
  uint64_t slice_us() const { return since_us_; }
  uint64_t total_us() const { return since_us_ - begun_us_; }
  const std::array<uint64_t, verify::kCauses>& spent_us() const { return spent_us_; }

 private:
  uint64_t begun_us_ = 0;
  uint64_t since_us_ = 0;
  verify::Cause cause_ = verify::Cause::kWork;
  std::array<uint64_t, verify::kCauses> spent_us_ = {};
};

}  // namespace plov::server
