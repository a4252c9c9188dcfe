// Kept: how much of what a replica holds its log has on disk (rule S5 of cluster/replica.h).
//
// What is given to the log is counted, from 1 on; the log tells up to which count it is durable, in that order.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <deque>

namespace plov::cluster {

class Kept {
 public:
  // Something was given to the log, after which the replica is in `epoch` and holds all entries up to `number`.
  void Give(uint64_t epoch, uint64_t number) { given_.push_back({epoch, number}); }
  // Before the Give that tells so: it is another replica from now on, and nothing is known to be durable of that one.
  void BeginAnew();
  // Before the Give that tells so: other entries are in the place of those after `number`.
  void CutAfter(uint64_t number);
  // So much of what was given is durable.
  void SetDurable(uint64_t count);

  // The epoch whose configuration is durable, and the last entry that is.
  uint64_t epoch() const { return epoch_; }
  uint64_t number() const { return number_; }

 private:
  struct Given {
    uint64_t epoch = 0;
    uint64_t number = 0;
  };

  std::deque<Given> given_;  // that is not durable yet
  uint64_t durable_ = 0;     // count
  uint64_t epoch_ = 0;
  uint64_t number_ = 0;
};

}  // namespace plov::cluster
