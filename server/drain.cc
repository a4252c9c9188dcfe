#include "server/drain.h"

#include <fmt/format.h>

#include <algorithm>

namespace plov::server {

namespace {

// Who drains asks every 200 ms (client/cli/drain.cc), and stays to see the server's end.
constexpr std::chrono::milliseconds kAskedWithin{1000};

}  // namespace

void Drain::Begin(std::chrono::milliseconds limit, Clock::time_point now) {
  if (state_ == State::kDrained) return;
  state_ = State::kDraining;
  end_ = now + limit;
}

Drain::State Drain::Look(uint64_t clients, Clock::time_point now) {
  if (state_ == State::kDraining && (clients == 0 || now >= end_)) {
    state_ = State::kDrained;
    drained_at_ = now;
  }
  return state_;
}

std::string Drain::Tell(uint64_t clients, Clock::time_point now) const {
  static constexpr const char* kNames[] = {"serving", "draining", "drained"};
  const auto left =
      state_ == State::kDraining ? std::max(end_ - now, Clock::duration()) : Clock::duration();
  return fmt::format("state {}\nclients {}\nleft_ms {}\n", kNames[static_cast<size_t>(state_)],
                     clients, std::chrono::duration_cast<std::chrono::milliseconds>(left).count());
}

bool Drain::IsOver(uint64_t administrators, Clock::time_point now) const {
  return state_ == State::kDrained && (administrators == 0 || now >= drained_at_ + kAskedWithin);
}

}  // namespace plov::server
