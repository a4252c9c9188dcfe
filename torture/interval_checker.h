// Interval checker: decides the histories of all keys while they are being made, in bounded memory.
//
//   IntervalChecker checker({.initial = Initial::kAbsent});
//   checker.Feed(operation);      // every operation once, in any order, when it has ended
//   checker.Advance(horizon);     // often: no later operation starts before `horizon`
//   checker.Finish();
//
// The horizon of a running test is the earliest start of the operations that have not been fed; an
// operation whose process was killed is fed as kUnknown before the horizon passes its start.
//
// Exact within the limits of torture/key_sweep.h, which has the argument: a violation is reported
// if and only if no order of the key's operations explains what they came to, at the first horizon
// that shows it. A key with a violation is not looked at any more.
//
// Memory:  24 bytes a key; in addition, per key that is busy, its operations since the last
//          horizon, and its unknown operations for ever. size() counts them.
// Cost:    see bench/checker.cc.
// Threads: one. Several checkers can share the work, each with its own keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "torture/durability.h"
#include "torture/key_sweep.h"
#include "torture/search_checker.h"

namespace plov::torture {

struct IntervalOptions {
  Initial initial = Initial::kAbsent;
  // How many operations are remembered, of all keys together, for the window around a violation.
  size_t recent_count = size_t{1} << 16;
  // A GET, but for the tool's own, may find what was the newest so long before it began. It is taken
  // for one that began so much earlier, also in the window around a violation: that is the same.
  Instant max_age = 0;
};

// kNoOrder and the like are violations; kTooAmbiguous is a key left undecided.
struct Violation {
  uint64_t key = 0;
  Reason reason = Reason::kNoOrder;
  Instant instant = 0;
  // The key's operations that are still remembered, in the order in which they were fed, and
  // whether they are all that there ever were.
  std::vector<Operation> window = {};
  bool window_is_whole = false;
  // The lives of the server that the window reaches over.
  std::vector<Restart> restarts = {};
  Commit commit = Commit::kStrict;
};

class IntervalChecker {
 public:
  explicit IntervalChecker(const IntervalOptions& options = {});

  // Before its first operation: what the key is.
  void Restore(uint64_t key, const Settled& state);

  void Feed(const Operation& ended);
  void Advance(Instant horizon);
  void Finish() { Advance(kForever); }

  // Those found since the last call; undecided keys come here too.
  std::vector<Violation> TakeViolations();

  uint64_t fed() const { return fed_; }
  uint64_t violations() const { return violations_; }  // so far
  uint64_t undecided() const { return undecided_; }

  // What is held beyond 24 bytes a key: operations, eras, configs.
  size_t size() const;

 private:
  static constexpr uint32_t kNoSweep = ~uint32_t{0};
  // Keys below are found by index, the others by hash.
  static constexpr uint64_t kDenseKeys = uint64_t{1} << 24;
  static constexpr size_t kWaitingMax = 1024;  // 56 KiB, for the second-level cache

  struct Key {
    uint64_t version = 0;
    ValueId value = kForeign;
    uint32_t sweep = kNoSweep;
    Settled::Form form = Settled::Form::kAbsent;
    bool is_broken = false;
  };
  static_assert(sizeof(Key) == 24);

  // A key's sweep: idle (no key has it), busy (something may end), or quiet (kept for the unknown
  // operations that may take effect yet).
  struct Held {
    uint64_t key = 0;
    bool is_idle = true;
    bool is_busy = false;
    KeySweep sweep = {};
  };

  Operation Widened(Operation operation) const;
  void Distribute();
  void FeedKey(const Operation& operation);
  Key& KeyOf(uint64_t number);
  uint32_t Hold(uint64_t number, const Key& key);
  bool Settle(uint32_t index);
  void Report(uint64_t number, const Problem& problem);
  void Remember(const Operation& operation);
  void CollectWindow(Violation* violation) const;

  IntervalOptions options_;
  Key fresh_key_;
  std::vector<Operation> waiting_;  // fed, and not yet given to their keys
  std::vector<Key> dense_;
  std::unordered_map<uint64_t, Key> sparse_;
  std::vector<std::unique_ptr<Held>> sweeps_;
  std::vector<uint32_t> busy_;  // indices into sweeps_
  std::vector<uint32_t> idle_;
  std::vector<Operation> recent_;  // a ring
  std::vector<Violation> found_;
  Instant next_advance_ = 0;
  uint64_t fed_ = 0;
  uint64_t violations_ = 0;
  uint64_t undecided_ = 0;
};

// The whole history of one key at once.
SearchResult CheckIntervals(std::span<const Operation> history, Initial initial = Initial::kAbsent);
SearchResult CheckIntervals(std::span<const Operation> history, const Settled& before);

std::string_view ReasonText(Reason reason);

}  // namespace plov::torture
