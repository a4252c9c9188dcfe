// Counters: what a worker has done, for metrics and memcached's stats.
//
// Threads: written by the worker's thread, read by any. Each number stands alone: relaxed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plov::door {

enum class Count : uint8_t {
  kConnections,      // now
  kConnectionsEver,  // since the start
  kBytesRead,
  kBytesWritten,
  kGets,  // keys that were looked up
  kGetHits,
  kStores,  // set, add, replace, append, prepend, cas
  kTouches,
  kTouchHits,
  kDeletes,
  kDeleteHits,
  kArithmetics,  // incr, decr
  kArithmeticHits,
  kCasHits,
  kCasMisses,
  kCasMismatches,
  kFlushes,
  kMetas,  // meta commands
  kAuthentications,
  kAuthenticationErrors,
  kOthers,       // version, stats and the like
  kBadRequests,  // that are no request, or a wrong one
  kFailures,     // requests that the server could not answer
  kOutOfMemory,  // requests that were refused for --memory
  kCount,
};

class Counters {
 public:
  uint64_t operator[](Count which) const {
    return values_[static_cast<size_t>(which)].load(std::memory_order_relaxed);
  }
  void Add(Count which, uint64_t number = 1) { Set(which, (*this)[which] + number); }
  void Subtract(Count which, uint64_t number = 1) { Set(which, (*this)[which] - number); }

 private:
  // One thread writes, so nothing is lost between the load and the store.
  void Set(Count which, uint64_t value) {
    values_[static_cast<size_t>(which)].store(value, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, static_cast<size_t>(Count::kCount)> values_{};
};

}  // namespace plov::door
