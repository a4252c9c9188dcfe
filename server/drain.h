// Drain: a server that is to end once its clients have gone, or after a time.
//
// Threads: the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace plov::server {

class Drain {
 public:
  using Clock = std::chrono::steady_clock;

  enum class State { kServing, kDraining, kDrained };

  // Another Begin changes the time.
  void Begin(std::chrono::milliseconds limit, Clock::time_point now);
  void Cancel() { state_ = State::kServing; }

  // What is so by now, with so many clients left. kDrained stays, whoever comes.
  State Look(uint64_t clients, Clock::time_point now);
  State state() const { return state_; }

  // Lines of "name value" for `plov drain`. Of one that is drained they are the last that it needs.
  std::string Tell(uint64_t clients, Clock::time_point now) const;
  // Whether the server may end: whoever asks has gone, or has had the time to hear of it.
  bool IsOver(uint64_t administrators, Clock::time_point now) const;

 private:
  State state_ = State::kServing;
  Clock::time_point end_;         // of kDraining
  Clock::time_point drained_at_;  // of kDrained
};

}  // namespace plov::server
