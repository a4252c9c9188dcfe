// ThreadLoad: how busy a thread that serves shards is, window by window.
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "fabric/fabric.h"

namespace plov::server {

class ThreadLoad {
 public:
  using Clock = fabric::Clock;

  struct Window {
    double busy = 0;            // part of the time, 0 to 1
    double shards_at_once = 0;  // that had something to do, in a turn in which one had
  };

  explicit ThreadLoad(Clock::time_point now) : began_(now) {}

  // A turn in which so many shards had something to do. True: the clock is to be asked whether the
  // window has ended.
  bool CountWork(size_t shards) {
    worked_ += shards;
    idle_since_ = {};
    return ++turns_ % kTurnsPerClock == 0;
  }
  // Nothing is to do, and nothing was since the last call unless CountWork came between.
  void CountIdle(Clock::time_point now) {
    if (idle_since_ != Clock::time_point{}) idle_ += now - idle_since_;
    idle_since_ = now;
  }

  bool HasEnded(Clock::time_point now) const { return now - began_ >= kWindow; }
  // Ends the window, and begins the next.
  Window End(Clock::time_point now) {
    using Seconds = std::chrono::duration<double>;
    Window window{.busy = 1 - Seconds(idle_) / Seconds(now - began_)};
    if (turns_ > 0)
      window.shards_at_once = static_cast<double>(worked_) / static_cast<double>(turns_);
    const Clock::time_point idle_since = idle_since_;
    *this = ThreadLoad(now);
    idle_since_ = idle_since;
    return window;
  }

 private:
  static constexpr Clock::duration kWindow = std::chrono::milliseconds(2);
  static constexpr uint64_t kTurnsPerClock = 64;

  Clock::time_point began_;
  Clock::time_point idle_since_{};  // none: the last turn worked
  Clock::duration idle_{};
  uint64_t turns_ = 0;  // that worked
  uint64_t worked_ = 0;
};

}  // namespace plov::server
