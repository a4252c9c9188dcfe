// Notices: what the client library's threads have to say - how the session is, what has changed - kept for those that
// ask or wait.
//
// Threads: any. Its mutex is held for moments, and nothing is called under it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/coordinator.h"
#include "fabric/os.h"

namespace plov::cluster::zk {

class Notices {
 public:
  using Clock = std::chrono::steady_clock;

  // event: an eventfd.
  explicit Notices(fabric::Fd event) : event_(std::move(event)) {}

  // Of a session's state. OnBegin: another session, which is not connected yet.
  void OnBegin();
  void OnState(State::Kind kind);
  void OnChange(std::string_view path);  // below the root

  void Watch(const std::string& path);
  bool IsWatched(std::string_view path) const;
  std::vector<std::string> TakeHints();

  State state() const;
  int fd() const { return event_.get(); }
  // Until the session is connected or has ended, or the deadline; what it is then.
  State::Kind Await(Clock::time_point deadline) const;

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // The rest under mutex_.
  State state_{State::Kind::kDisconnected, Clock::now(), 0};
  std::set<std::string> watched_;
  std::set<std::string> hinted_;
  const fabric::Fd event_;
};

}  // namespace plov::cluster::zk
