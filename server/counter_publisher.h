// CounterPublisher: brings a shard's page of counters up to date, which clients READ.
//
// Threads: the shard's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/counter_page.h"
#include "server/shard_counters.h"
#include "server/shard_log.h"
#include "server/store.h"

namespace plov::server {

class CounterPublisher {
 public:
  // Both outlive it.
  CounterPublisher(const Store* store, CounterPage* page) : store_(store), page_(page) {}

  // How many shards the thread serves; before the first Publish that counts.
  void ShareThread(size_t shards) { thread_shards_ = shards; }

  // Something has moved.
  void Touch() { has_moved_ = true; }
  bool has_moved() const { return has_moved_; }
  // Whether a busy shard is to Publish.
  bool IsDue(uint64_t now_us) const;
  // The CPU time is looked at by the next Publish, however soon it is.
  void LookAtCpu() { cpu_at_us_ = 0; }
  // log: null where there is none.
  void Publish(const ShardCounters& counters, const ClientTotals& clients, const ShardLog* log);

 private:
  void PublishStore();
  void PublishClients(const ShardCounters& counters, const ClientTotals& clients);
  void PublishLog(const ShardLog& shard_log);

  const Store* store_;
  CounterPage* page_;
  size_t thread_shards_ = 1;
  bool has_moved_ = true;
  uint64_t published_at_us_ = 0;
  uint64_t cpu_at_us_ = 0;
  uint64_t published_commits_us_ = UINT64_MAX;
};

}  // namespace plov::server
