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

 private:
  ShardThread(std::vector<Shard*> shards, uint32_t spin_us)
      : shards_(std::move(shards)), spin_(std::chrono::microseconds(spin_us)) {}

  bool Turn();
  bool OnClientsCore();
  void Sleep();

  std::vector<Shard*> shards_;
  fabric::Spin spin_;
  fabric::Fd epoll_;
  std::atomic<bool> stop_ = false;  // relaxed; the shards' Wake is what is waited for
};

}  // namespace plov::server
