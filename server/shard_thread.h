// ShardThread: serves some shards in turn, and sleeps when none of them has anything to do.
//
// Which ones changes (server/shard_threads.h): who gives shards away does so between two turns, and
// who gets some finds them before its next. A shard has one thread at any time; what the former has
// done to it is seen by the next one.
//
// Threads: its own, unless a function says another.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/os.h"
#include "fabric/spin.h"
#include "server/shard.h"
#include "server/thread_load.h"

namespace plov::server {

class ShardThread {
 public:
  using OnWindow = std::function<void(const ThreadLoad::Window&)>;

  // on_window: called by Run between two turns when a window of its load ends; may be null. kSystem.
  static std::expected<std::unique_ptr<ShardThread>, Error> Create(OnWindow on_window = {});

  // Serves until Stop.
  void Run();
  // Any thread.
  void Stop();
  // How long it polls before it sleeps, from its next sleep on; 0 until it is said. Any thread.
  void SetSpin(uint32_t spin_us) { spin_us_.store(spin_us, std::memory_order_relaxed); }
  // Whether it sleeps, or has begun a turn since this was asked last. A thread that is stuck in one turn
  // does neither. One other thread.
  bool IsAlive();

  // A shard that nobody serves, which outlives it and has all its ports. kSystem: it is not taken. Any
  // thread.
  std::expected<void, Error> Take(Shard* shard);
  // Whether it was among its shards; it has no turns any more then. Waits for a turn of the thread, which runs. One
  // other thread.
  bool Remove(Shard* shard);
  // Its shards, or half of its work, to another thread; each that this one cannot take stays.
  void GiveAll(ShardThread* to);
  void GiveHalf(ShardThread* to);

  // Those that it serves, and is to serve. Any thread.
  size_t shard_count() const { return shard_count_.load(std::memory_order_relaxed); }
  // How busy it was in its last window, or is expected to be; 0 after a long sleep. Any thread.
  double BusyAt(fabric::Clock::time_point now) const;
  void Expect(double busy) { busy_.store(busy, std::memory_order_relaxed); }

 private:
  struct Served {
    Shard* shard = nullptr;
    uint64_t turns = 0;  // in which it had something to do, in this window
  };

  explicit ShardThread(OnWindow on_window) : on_window_(std::move(on_window)) {}

  bool Turn();
  fabric::Clock::time_point Wait();
  bool OnClientsCore();
  bool Awaits() const;
  void Sleep();
  void AwaitReadable(int sleep_ms);
  void EndWindow(fabric::Clock::time_point now);
  std::expected<void, Error> Watch(const Shard& shard);
  void Unwatch(const Shard& shard);
  void Push(Shard* shard);
  void TakeGiven();
  void RemoveUnwanted();
  bool Give(const Served& served, ShardThread* to);

  OnWindow on_window_;
  std::vector<Served> shards_;
  ThreadLoad load_{fabric::Clock::now()};
  bool clock_is_due_ = false;  // a window of a busy thread may have ended
  fabric::Spin spin_{std::chrono::microseconds{0}};
  std::atomic<uint32_t> spin_us_ =
      0;                             // relaxed, as the next five: nothing is read on their account
  std::atomic<uint64_t> turns_ = 1;  // begun, stored by its thread alone
  std::atomic<bool> sleeps_ = false;
  std::atomic<double> busy_ = 0;
  std::atomic<fabric::Clock::rep> window_ended_ = 0;
  std::atomic<size_t> shard_count_ = 0;
  uint64_t seen_turns_ = 0;  // of who asks IsAlive
  fabric::Fd bell_;
  fabric::Fd epoll_;
  std::vector<int> readable_;       // that ended this sleep
  std::atomic<bool> stop_ = false;  // relaxed; the bell is what is waited for

  std::mutex mutex_;
  std::vector<Shard*> given_;  // under mutex_, as the next three
  Shard* unwanted_ = nullptr;  // that Remove waits for
  bool has_removed_ = false;
  std::condition_variable looked_;  // for unwanted_
  std::atomic<bool> has_given_ =
      false;  // something of these; set under the mutex, read without: acquire and release
};

}  // namespace plov::server
