// SlowLog: how long messages of writes take, for clients to READ: a histogram of all, and the last that
// took long (verify/slow_writes.h).
//
// Threads: the shard's, but for Keep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "server/batch.h"
#include "server/counter_page.h"
#include "server/store.h"

namespace plov::server {

class SlowLog {
 public:
  // Both outlive it.
  SlowLog(const Store* store, CounterPage* page) : store_(store), page_(page) {}

  // Those that take so long are kept from now on. Any thread.
  void Keep(std::chrono::microseconds threshold) {
    threshold_us_.store(static_cast<uint64_t>(threshold.count()), std::memory_order_relaxed);
  }
  // The replies of a message are sent.
  void Count(const Batch& batch);

 private:
  void Add(const Batch& batch);

  const Store* store_;
  CounterPage* page_;
  std::atomic<uint64_t> threshold_us_ = UINT64_MAX;  // relaxed
  uint64_t count_ = 0;
};

}  // namespace plov::server
