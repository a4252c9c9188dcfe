#include "cluster/zk/notices.h"

#include "cluster/paths.h"

namespace plov::cluster::zk {

void Notices::OnBegin() {
  const std::scoped_lock lock(mutex_);
  state_ = {State::Kind::kDisconnected, Clock::now(), state_.session + 1};
}

void Notices::OnState(State::Kind kind) {
  {
    const std::scoped_lock lock(mutex_);
    if (kind == state_.kind) return;
    state_.kind = kind;
    state_.since = Clock::now();
    if (kind != State::Kind::kDisconnected) hinted_ = watched_;
    fabric::Ring(event_.get());
  }
  changed_.notify_all();
}

void Notices::OnChange(std::string_view path) {
  const std::scoped_lock lock(mutex_);
  hinted_.merge(WatchedAbove(watched_, path));
  fabric::Ring(event_.get());
}

void Notices::Watch(const std::string& path) {
  const std::scoped_lock lock(mutex_);
  watched_.insert(path);
}

bool Notices::IsWatched(std::string_view path) const {
  const std::scoped_lock lock(mutex_);
  return !WatchedAbove(watched_, path).empty();
}

std::vector<std::string> Notices::TakeHints() {
  const std::scoped_lock lock(mutex_);
  fabric::ClearEvent(event_.get());
  const std::set<std::string> hinted = std::exchange(hinted_, {});
  return {hinted.begin(), hinted.end()};
}

State Notices::state() const {
  const std::scoped_lock lock(mutex_);
  return state_;
}

State::Kind Notices::Await(Clock::time_point deadline) const {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return state_.kind != State::Kind::kDisconnected; });
  return state_.kind;
}

}  // namespace plov::cluster::zk
