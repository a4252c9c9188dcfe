// Start progress: how much of what a start has to read - warm memory, the log - it has read. Of this process.
//
// Threads: any. Relaxed: nothing is read on its account.
#pragma once

#include <atomic>
#include <cstdint>

namespace plov::server {

class StartProgress {
 public:
  static StartProgress& Get() {
    static StartProgress progress;
    return progress;
  }

  // There are so many bytes more to read.
  void Expect(uint64_t bytes) { total_.fetch_add(bytes, std::memory_order_relaxed); }
  void Advance(uint64_t bytes) { done_.fetch_add(bytes, std::memory_order_relaxed); }

  uint64_t done_bytes() const { return done_.load(std::memory_order_relaxed); }
  uint64_t total_bytes() const { return total_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> done_ = 0;
  std::atomic<uint64_t> total_ = 0;
};

}  // namespace plov::server
