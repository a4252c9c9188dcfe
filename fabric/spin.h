// Spin: how long a thread that waits for a peer on this host polls before it sleeps.
//
// Polling answers in a fraction of the time that a sleep takes, as long as the peer runs at the same
// time. On the peer's core it keeps the peer from answering, so the core is yielded there between
// two polls. On a host with more threads than processors polling uses up the thread's share of its
// processor, and the scheduler takes that away for milliseconds, where it lets a thread that has
// slept go first. So polls get fewer when the thread was interrupted between two of them, and
// yields that come back late stop for a while. A thread that says when it has slept polls in fewer
// waits when that is in vain.
//
// Threads: one.
#pragma once

#include <sched.h>

#include <algorithm>
#include <cstdint>

#include "fabric/fabric.h"

namespace plov::fabric {

class Spin {
 public:
  // yield: lets others have the core.
  explicit Spin(
      Clock::duration longest, void (*yield)() = [] { ::sched_yield(); })
      : yield_(yield), longest_(longest), allowed_(longest) {}

  void SetLongest(Clock::duration longest) {
    if (longest != longest_) longest_ = allowed_ = longest;
  }

  // Something came, or the thread has slept.
  void End() {
    if (began_ != Clock::time_point{}) next_unpolled_ = 1;
    began_ = {};
  }
  // In place of End, of a thread that leaves out polls that are in vain: it has slept.
  void Slept() {
    began_ = {};
    if (unpolled_ > 0) {
      --unpolled_;
    } else {
      unpolled_ = next_unpolled_;
      next_unpolled_ = std::min(2 * next_unpolled_, kUnpolledMax);
    }
  }

  // Nothing came: whether to poll again. on_peers_core: see Connection::OnPeersCore. times: of
  // `longest`, for what is known to take longer.
  bool GoesOn(Clock::time_point now, bool on_peers_core, int times = 1) {
    if (unpolled_ > 0) return false;
    if (began_ == Clock::time_point{}) {
      began_ = polled_ = now;
      allowed_ = std::min(longest_, allowed_ + longest_ / kWaitsToRecover);
    }
    if (now - polled_ > kInterrupted) allowed_ /= 2;
    polled_ = now;
    if (now - began_ >= allowed_ * times) return false;
    return !on_peers_core || Yields(now);
  }

 private:
  // Between two polls, each of which takes less than a microsecond.
  static constexpr Clock::duration kInterrupted = std::chrono::microseconds(100);
  static constexpr int kWaitsToRecover = 64;
  static constexpr int kUnpolledMax = 64;
  static constexpr uint32_t kWaitsWithoutYieldsMax = 4096;

  bool Yields(Clock::time_point now) {
    if (waits_without_yields_ > 0) {
      --waits_without_yields_;
      return false;
    }
    yield_();
    polled_ = Clock::now();
    if (polled_ - now > kInterrupted) {
      next_waits_ = std::min(next_waits_ * 2, kWaitsWithoutYieldsMax);
      waits_without_yields_ = next_waits_;
    } else if (next_waits_ > kWaitsToRecover) {
      --next_waits_;
    }
    return true;
  }

  void (*yield_)();
  Clock::duration longest_;
  Clock::duration allowed_;
  Clock::time_point began_{};  // of this wait; none: not waiting
  Clock::time_point polled_{};
  int unpolled_ = 0;  // waits to come, without polls
  int next_unpolled_ = 1;
  uint32_t waits_without_yields_ = 0;
  uint32_t next_waits_ = kWaitsToRecover;
};

}  // namespace plov::fabric
