// FailOverSimulation: the replicas of a large cluster, as they decide (cluster/replica.h), with a clock, a network and a
// coordinator that are simulated: how long shards cannot be written when many servers fall silent at once.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/replica.h"
#include "cluster/values.h"

namespace plov::bench {

// What a coordinator and a network take, in microseconds; a coordinator does one write after the other.
struct SimulatedTimes {
  uint64_t write_us = 303;  // 3,300 a second
  uint64_t read_us = 125;   // 8,000
  uint64_t to_coordinator_us = 500;
  uint64_t to_server_us = 20;
  uint64_t tick_us = 5000;  // how often a server looks at its clock
};

class FailOverSimulation {
 public:
  // values: outlive it; of each shard the placement is what is in sync.
  FailOverSimulation(const cluster::Values& values, const SimulatedTimes& times);
  ~FailOverSimulation();

  // Until all shards are served, and all their replicas are in sync. False: they are not within a simulated minute.
  bool Begin();

  struct Result {
    std::vector<double>
        primary_ms;  // of each shard whose primary fell silent: until another one serves it
    std::vector<double> backup_ms;  // of each where another did: until writes do not wait for it
    uint64_t lost = 0;              // shards that nobody serves any more
    uint64_t proposals = 0;         // to the coordinator
  };
  // These servers fall silent; until all shards that have one left are served without them. Once.
  Result Silence(const std::set<std::string>& servers);
  // Messages between servers, a second.
  double BeatsPerSecond(uint64_t seconds);

 private:
  class Node;
  void At(uint64_t at_us, std::function<void()> run);
  void RunUntil(uint64_t us);
  void AtCoordinator(uint64_t takes_us, std::function<void()> run);
  void TickServer(const std::string& server);
  void Check(uint32_t shard);
  bool IsServed(uint32_t shard) const;

  SimulatedTimes times_;
  std::mt19937_64 random_{1};
  uint64_t now_us_ = 1'000'000;
  uint64_t events_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, std::function<void()>> queue_;  // by time, and in order
  uint64_t coordinator_free_us_ = 0;
  std::map<uint32_t, cluster::Held> registers_;                   // by shard
  std::map<uint32_t, std::vector<std::unique_ptr<Node>>> nodes_;  // by shard
  std::map<std::string, std::vector<Node*>> of_server_;
  std::set<std::string> silent_;
  std::map<uint32_t, bool>
      pending_;  // shards that wait for who is silent; whether that was the primary
  uint64_t silent_since_us_ = 0;
  uint64_t messages_ = 0;
  Result result_;
};

}  // namespace plov::bench
