// TurnLock: whose turn it is in a shard: its thread's, or that of another shard's COMMIT, which writes its store too. Who
// waits comes next, however soon whoever has it wants it again.
//
// Thread safety: any.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace plov::server {

class TurnLock {
 public:
  void lock() {
    if (waiting_.load(std::memory_order_relaxed) == 0 && turn_.try_lock()) return;
    waiting_.fetch_add(1, std::memory_order_relaxed);
    {
      const std::lock_guard next(next_);
      turn_.lock();
    }
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  void unlock() { turn_.unlock(); }

 private:
  std::atomic<uint32_t> waiting_ = 0;  // relaxed: it only says who comes first
  std::mutex next_;                    // of who comes next
  std::mutex turn_;
};

}  // namespace plov::server
