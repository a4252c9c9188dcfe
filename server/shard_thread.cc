#include "server/shard_thread.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace plov::server {

std::expected<std::unique_ptr<ShardThread>, Error> ShardThread::Create(std::vector<Shard*> shards,
                                                                       uint32_t spin_us) {
  std::unique_ptr<ShardThread> thread(new ShardThread(std::move(shards), spin_us));
  thread->epoll_ = fabric::Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!thread->epoll_) return FailErrno("cannot create an epoll", errno);
  for (Shard* shard : thread->shards_) {
    shard->ShareThread(thread->shards_.size());
    for (const int fd : shard->fds()) {
      epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
      if (::epoll_ctl(thread->epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
        return FailErrno("cannot watch a port", errno);
      }
    }
  }
  return thread;
}

void ShardThread::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  for (Shard* shard : shards_) shard->Wake();
}

void ShardThread::Run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    if (!Turn()) {
      if (spin_.GoesOn(fabric::Clock::now(), OnClientsCore())) continue;
      Sleep();
    }
    spin_.End();
  }
}

bool ShardThread::Turn() {
  turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  bool worked = false;
  for (Shard* shard : shards_) worked = shard->Turn() || worked;
  return worked;
}

bool ShardThread::IsAlive() {
  const uint64_t turns = turns_.load(std::memory_order_relaxed);
  return std::exchange(seen_turns_, turns) != turns || sleeps_.load(std::memory_order_relaxed);
}

bool ShardThread::OnClientsCore() {
  bool is_here = false;
  for (Shard* shard : shards_) is_here = shard->OnClientsCore() || is_here;
  return is_here;
}

void ShardThread::Sleep() {
  if (const uint32_t spin_us = spin_us_.load(std::memory_order_relaxed); spin_us != spin_us_now_) {
    spin_us_now_ = spin_us;
    spin_ = fabric::Spin(std::chrono::microseconds(spin_us));
  }
  bool armed = true;
  int sleep_ms = -1;
  for (Shard* shard : shards_) {
    armed = armed && shard->Arm();
    const int shard_ms = shard->SleepMs();
    if (shard_ms >= 0) sleep_ms = sleep_ms < 0 ? shard_ms : std::min(sleep_ms, shard_ms);
  }
  if (armed) {
    epoll_event event;
    sleeps_.store(true, std::memory_order_relaxed);
    ::epoll_wait(epoll_.get(), &event, 1, sleep_ms);
    sleeps_.store(false, std::memory_order_relaxed);
  }
  for (Shard* shard : shards_) shard->Disarm();
}

}  // namespace plov::server
