// ShardThread: serves some shards in turn, and sleeps when none of them has anything to do.
//
// Threads: everything but Stop belongs to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <vector>

#include "fabric/os.h"
#include "fabric/spin.h"
#include "server/shard.h"

namespace plov::server {

class ShardThread {
 public:
  // The shards outlive it and have all their ports. kSystem.
  static std::expected<std::unique_ptr<ShardThread>, Error> Create(std::vector<Shard*> shards,
                                                                   uint32_t spin_us);

  // Serves until Stop.
  void Run();
  // Any thread.
  void Stop();
  // How long it polls before it sleeps, from its next sleep on. Any thread.
  void SetSpin(uint32_t spin_us) { spin_us_.store(spin_us, std::memory_order_relaxed); }
  // Whether it sleeps, or has begun a turn since this was asked last. A thread that is stuck in one turn
  // does neither. One other thread.
  bool IsAlive();

 private:
  ShardThread(std::vector<Shard*> shards, uint32_t spin_us)
      : shards_(std::move(shards)),
        spin_(std::chrono::microseconds(spin_us)),
        spin_us_now_(spin_us),
        spin_us_(spin_us) {}

  bool Turn();
  bool OnClientsCore();
  void Sleep();

  std::vector<Shard*> shards_;
  fabric::Spin spin_;
  uint32_t spin_us_now_;             // of spin_
  std::atomic<uint32_t> spin_us_;    // relaxed, as the next two: nothing is read on their account
  std::atomic<uint64_t> turns_ = 1;  // begun, stored by its thread alone
  std::atomic<bool> sleeps_ = false;
  uint64_t seen_turns_ = 0;  // of who asks IsAlive
  fabric::Fd epoll_;
  std::atomic<bool> stop_ = false;  // relaxed; the shards' Wake is what is waited for
};

}  // namespace plov::server
