// CounterPublisher: brings a shard's page of counters up to date, which clients READ.
//
// The CPU time of a thread that serves several shards goes to whichever of them publishes next, so
// that all shards' times together are the threads', whoever serves whom.
//
// Threads: the shard's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/counter_page.h"
#include "server/shard_counters.h"
#include "server/store.h"

namespace plov::server {

class CounterPublisher {
 public:
  // Both outlive it.
  CounterPublisher(const Store* store, CounterPage* page) : store_(store), page_(page) {}

  // Something has moved.
  void Touch() { has_moved_ = true; }
  bool has_moved() const { return has_moved_; }
  // Whether a busy shard is to Publish.
  bool IsDue(uint64_t now_us) const;
  // The CPU time is looked at by the next Publish, however soon it is.
  void LookAtCpu() { cpu_at_us_ = 0; }
  void Publish(const ShardCounters& counters, const ClientTotals& clients);

 private:
  void PublishStore();
  void PublishClients(const ShardCounters& counters, const ClientTotals& clients);

  const Store* store_;
  CounterPage* page_;
  uint64_t cpu_us_ = 0;
  bool has_moved_ = true;
  uint64_t published_at_us_ = 0;
  uint64_t cpu_at_us_ = 0;
};

}  // namespace plov::server
