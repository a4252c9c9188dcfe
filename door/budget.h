// Limits that all workers share.
//
// Budget: the memory that all connections together may take for what they send and are sent (--memory).
//
// What is charged is what is allocated: input that is kept, keys and values of requests under way, and
// replies that wait to be read. What libplov needs for READs and messages is not in it.
//
// Admission: the connections that there may be at a time (--max-clients).
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>

namespace plov::door {

class Budget {
 public:
  explicit Budget(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // Whether so much more is within the limit; it is charged then. Each check stands alone, so relaxed is enough.
  bool Charge(size_t bytes) {
    const size_t before = used_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= limit_bytes_) return true;
    Release(bytes);
    return false;
  }
  // Charges what is there already: small parts that no check comes before.
  void Add(size_t bytes) { used_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  void Release(size_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  // Whether so much more would be within the limit.
  bool Has(size_t bytes) const { return used_bytes() + bytes <= limit_bytes_; }

  size_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  size_t limit_bytes() const { return limit_bytes_; }

 private:
  const size_t limit_bytes_;
  std::atomic<size_t> used_bytes_ = 0;
};

class Admission {
 public:
  explicit Admission(size_t limit) : limit_(limit) {}

  // Whether one more may come; it is counted then. The number stands alone, so relaxed is enough.
  bool Enter() {
    if (count_.fetch_add(1, std::memory_order_relaxed) < limit_) return true;
    Leave();
    return false;
  }
  void Leave() { count_.fetch_sub(1, std::memory_order_relaxed); }

  size_t count() const { return count_.load(std::memory_order_relaxed); }
  size_t limit() const { return limit_; }

 private:
  const size_t limit_;
  std::atomic<size_t> count_ = 0;
};

}  // namespace plov::door
