// Life checker: what a run's keys are when its server was killed and has been started again, with
// --commit acked and async.
//
//   LifeChecker checker(commit, shards == 1);
//   checker.Begin(now);            // all keys are absent
//   checker.Feed(operation);       // those of one life
//   checker.End(restart, survey);  // a GET of every key that was in use, before the next life's
//
// Between Feed and End all clients are at rest, so that every operation with an answer belongs to
// one life. What the survey has found is what the next life begins with.
//
// All shards are cut at one version each. Which shard has a key only the server knows, so that keys
// are checked together when there is one shard, and else each by itself.
//
// Memory: 24 bytes a key, and the operations of one life; beyond kOperationsMax no GETs are kept,
//         without which less is found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "torture/durability.h"
#include "torture/interval_checker.h"

namespace plov::torture {

class LifeChecker {
 public:
  static constexpr size_t kOperationsMax = size_t{1} << 22;  // 224 MiB
  static constexpr size_t kViolationsMax = 8;                // of one life; more say no more

  LifeChecker(Commit commit, bool is_one_shard) : commit_(commit), is_one_shard_(is_one_shard) {}

  void Begin(Instant now);
  void Feed(const Operation& operation);
  std::vector<Violation> End(Instant restart, std::span<const Operation> survey);

  // What the present life began with.
  Settled before(uint64_t key) const { return key < before_.size() ? before_[key] : Settled{}; }
  Instant begin() const { return begin_; }

  // Keys that were older after a restart than an operation had told, of all lives.
  uint64_t gone_back() const { return gone_back_; }

 private:
  uint64_t KeptVersion(std::span<const Operation> survey) const;
  std::span<const Operation> OperationsOf(uint64_t key) const;
  Violation ViolationOf(const Life& life, const Operation& get) const;

  Commit commit_;
  bool is_one_shard_;
  Instant begin_ = 0;
  std::vector<Settled> before_;        // by key
  std::vector<Operation> operations_;  // sorted by key in End
  uint64_t gone_back_ = 0;
};

// The PUT that stands for what a life began with, for people to see. Of one that is present.
Operation RestoredAs(uint64_t key, const Settled& before, Instant begin);

}  // namespace plov::torture
