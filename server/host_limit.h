// Host limit: a host that refuses memory which --memory allows - a full tmpfs - is asked again after
// a while, not with every write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "server/clock.h"

namespace plov::server {

class HostLimit {
 public:
  // False while the last refusal is too young.
  bool MayAsk() const { return wait_us_ == 0 || MonotonicUs() >= ask_at_us_; }
  void Refused(int error, size_t bytes) {
    if (wait_us_ == 0) ++episodes_;
    refused_bytes_ = wait_us_ == 0 ? bytes : std::min(refused_bytes_, bytes);
    error_ = error;
    wait_us_ = std::clamp(2 * wait_us_, kWaitMinUs, kWaitMaxUs);
    ask_at_us_ = MonotonicUs() + wait_us_;
  }
  void Granted(size_t bytes) {
    if (bytes >= refused_bytes_) wait_us_ = 0;
  }

  // True from a refusal until as much is granted: a full host has a page left here and there.
  bool refuses() const { return wait_us_ != 0; }
  uint64_t episodes() const { return episodes_; }
  int error() const { return error_; }

 private:
  // Long against a failing fallocate (some 30 us); and what a PUT may be late to notice.
  static constexpr uint64_t kWaitMinUs = 100'000;
  static constexpr uint64_t kWaitMaxUs = 10'000'000;

  uint64_t wait_us_ = 0;
  uint64_t ask_at_us_ = 0;
  uint64_t episodes_ = 0;
  int error_ = 0;
  size_t refused_bytes_ = 0;  // the least
};

}  // namespace plov::server
