#include "server/shard_thread.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

namespace plov::server {

using fabric::Clock;

namespace {

// Who has slept so long has nothing to do, whatever its last window was like.
constexpr std::chrono::milliseconds kLongSleep{100};
// A flash disk's write is durable after about so many times the spin of 50 us.
constexpr int kSpinsForDisk = 4;
constexpr int kEventsMax = 64;

}  // namespace

std::expected<std::unique_ptr<ShardThread>, Error> ShardThread::Create(OnWindow on_window) {
  std::unique_ptr<ShardThread> thread(new ShardThread(std::move(on_window)));
  auto bell = fabric::CreateEventFd();
  if (!bell) return std::unexpected(bell.error());
  thread->bell_ = std::move(*bell);
  auto epoll = fabric::CreateEpoll({thread->bell_.get()});
  if (!epoll) return std::unexpected(epoll.error());
  thread->epoll_ = std::move(*epoll);
  return thread;
}

void ShardThread::Stop() {
  stop_.store(true, std::memory_order_relaxed);
  fabric::Ring(bell_.get());
}

void ShardThread::Run() {
  while (!stop_.load(std::memory_order_relaxed)) {
    TakeGiven();
    Clock::time_point now;
    if (Turn()) {
      spin_.End();
      if (!std::exchange(clock_is_due_, false)) continue;
      now = Clock::now();
    } else {
      now = Wait();
    }
    if (load_.HasEnded(now)) EndWindow(now);
  }
}

bool ShardThread::Turn() {
  turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  size_t worked = 0;
  for (Served& served : shards_) {
    if (!served.shard->Turn()) continue;
    ++served.turns;
    ++worked;
  }
  if (worked > 0) clock_is_due_ = load_.CountWork(worked);
  return worked > 0;
}

// After a turn in which there was nothing to do; returns the time.
Clock::time_point ShardThread::Wait() {
  Clock::time_point now = Clock::now();
  load_.CountIdle(now);
  if (spin_.GoesOn(now, OnClientsCore(), Awaits() ? kSpinsForDisk : 1)) return now;
  Sleep();
  spin_.End();
  now = Clock::now();
  load_.CountIdle(now);
  return now;
}

bool ShardThread::IsAlive() {
  const uint64_t turns = turns_.load(std::memory_order_relaxed);
  return std::exchange(seen_turns_, turns) != turns || sleeps_.load(std::memory_order_relaxed);
}

bool ShardThread::OnClientsCore() {
  bool is_here = false;
  for (const Served& served : shards_) is_here = served.shard->OnClientsCore() || is_here;
  return is_here;
}

bool ShardThread::Awaits() const {
  return std::ranges::any_of(shards_, [](const Served& served) { return served.shard->Awaits(); });
}

void ShardThread::Sleep() {
  spin_.SetLongest(std::chrono::microseconds(spin_us_.load(std::memory_order_relaxed)));
  bool armed = true;
  int sleep_ms = -1;
  for (const Served& served : shards_) {
    armed = armed && served.shard->Arm();
    const int shard_ms = served.shard->SleepMs();
    if (shard_ms >= 0) sleep_ms = sleep_ms < 0 ? shard_ms : std::min(sleep_ms, shard_ms);
  }
  if (armed) AwaitReadable(sleep_ms);
  for (const Served& served : shards_) served.shard->Disarm(readable_);
  readable_.clear();
}

// Those that find no room among the events end the next sleep.
void ShardThread::AwaitReadable(int sleep_ms) {
  std::array<epoll_event, kEventsMax> events;
  sleeps_.store(true, std::memory_order_relaxed);
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, sleep_ms);
  sleeps_.store(false, std::memory_order_relaxed);
  for (const epoll_event& event :
       std::span(events).first(static_cast<size_t>(std::max(count, 0)))) {
    readable_.push_back(event.data.fd);
    if (event.data.fd == bell_.get()) fabric::ClearEvent(bell_.get());
  }
}

void ShardThread::EndWindow(Clock::time_point now) {
  const ThreadLoad::Window window = load_.End(now);
  busy_.store(window.busy, std::memory_order_relaxed);
  window_ended_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  if (on_window_) on_window_(window);
  for (Served& served : shards_) served.turns = 0;
}

double ShardThread::BusyAt(Clock::time_point now) const {
  const Clock::duration ended(window_ended_.load(std::memory_order_relaxed));
  const bool slept_long =
      sleeps_.load(std::memory_order_relaxed) && now.time_since_epoch() - ended > kLongSleep;
  return slept_long ? 0 : busy_.load(std::memory_order_relaxed);
}

std::expected<void, Error> ShardThread::Watch(const Shard& shard) {
  for (const int fd : shard.fds()) {
    if (auto watched = fabric::Watch(epoll_.get(), fd); !watched) {
      Unwatch(shard);
      return watched;
    }
  }
  return {};
}

void ShardThread::Unwatch(const Shard& shard) {
  for (const int fd : shard.fds()) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void ShardThread::Push(Shard* shard) {
  {
    const std::lock_guard lock(mutex_);
    given_.push_back(shard);
    has_given_.store(true, std::memory_order_release);  // pairs with TakeGiven
  }
  shard_count_.fetch_add(1, std::memory_order_relaxed);
  fabric::Ring(bell_.get());
}

void ShardThread::TakeGiven() {
  if (!has_given_.load(std::memory_order_acquire)) return;  // pairs with Push
  const std::lock_guard lock(mutex_);
  for (Shard* shard : given_) shards_.push_back({.shard = shard});
  given_.clear();
  if (unwanted_ != nullptr) RemoveUnwanted();
  has_given_.store(false, std::memory_order_relaxed);
}

// Under mutex_.
void ShardThread::RemoveUnwanted() {
  has_removed_ = std::erase_if(shards_, [this](const Served& served) {
                   return served.shard == unwanted_;
                 }) > 0;
  if (has_removed_) {
    Unwatch(*unwanted_);
    shard_count_.fetch_sub(1, std::memory_order_relaxed);
  }
  unwanted_ = nullptr;
  looked_.notify_one();
}

bool ShardThread::Remove(Shard* shard) {
  std::unique_lock lock(mutex_);
  unwanted_ = shard;
  has_given_.store(true, std::memory_order_release);  // pairs with TakeGiven
  fabric::Ring(bell_.get());
  looked_.wait(lock, [this] { return unwanted_ == nullptr; });
  return has_removed_;
}

std::expected<void, Error> ShardThread::Take(Shard* shard) {
  if (auto watched = Watch(*shard); !watched) return watched;
  Push(shard);
  return {};
}

bool ShardThread::Give(const Served& served, ShardThread* to) {
  if (!to->Watch(*served.shard)) return false;
  Unwatch(*served.shard);
  shard_count_.fetch_sub(1, std::memory_order_relaxed);
  to->Push(served.shard);
  return true;
}

void ShardThread::GiveAll(ShardThread* to) {
  std::erase_if(shards_, [&](const Served& served) { return Give(served, to); });
}

// Keeps the one that works most, and of the others as much as it gives.
void ShardThread::GiveHalf(ShardThread* to) {
  std::ranges::sort(shards_, std::greater(), &Served::turns);
  uint64_t kept = 0, given = 0;
  std::erase_if(shards_, [&](const Served& served) {
    const bool gives = given < kept && Give(served, to);
    (gives ? given : kept) += served.turns;
    return gives;
  });
}

}  // namespace plov::server
