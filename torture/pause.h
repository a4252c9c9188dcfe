// Pause: an alarm that comes in the middle of a GET and makes it rest there, so that writes come
// between its READs, or between two words of one that is loads. The client knows nothing of it.
//
// Threads: one of a process; the others get no SIGALRM.
#pragma once

#include <atomic>

namespace plov::torture {

class Pause {
 public:
  // Lets alarms come, one after the other, until it ends.
  Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause();

  // Calls get(), which rests if an alarm comes in it; returns what it does.
  template <typename Get>
  auto In(Get&& get) {
    is_due_.store(true, std::memory_order_relaxed);
    auto result = get();
    has_rested_ = !is_due_.exchange(false, std::memory_order_relaxed);
    return result;
  }
  // Whether the last one rested.
  bool has_rested() const { return has_rested_; }

 private:
  static void OnAlarm(int signal);

  // Relaxed: only a signal handler of the same thread looks at it.
  static inline std::atomic<bool> is_due_ = false;
  bool has_rested_ = false;
};

}  // namespace plov::torture
