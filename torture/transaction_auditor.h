// Transaction auditor: takes the transactions out of the rings and has them checked, each group of keys by itself: one of a
// shard by TransactionChecker, one over all shards by GraphChecker.
//
// Threads: the auditor's.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "torture/graph_checker.h"
#include "torture/run_memory.h"
#include "torture/transaction_checker.h"

namespace plov::torture {

// What was checked so far.
struct TransactionTally {
  uint64_t gets = 0;
  uint64_t snapshots = 0;  // of several keys, and commits that only read
  uint64_t puts = 0;
  uint64_t commits = 0;  // that were applied
  uint64_t conflicts = 0;
  uint64_t refused = 0;
  uint64_t unknown = 0;        // without an answer
  uint64_t unknown_found = 0;  // writes of these of which a value was found
  uint64_t surveyed = 0;       // keys, after kills
  uint64_t violations = 0;
  std::vector<TransactionViolation> found = {};  // the first of them
};

class TransactionAuditor {
 public:
  // It outlives this.
  TransactionAuditor(RunMemory* memory, size_t clients);

  void Open(size_t client);
  void Close(size_t client);
  // Returns how many.
  size_t Take();
  // When all are parked: what comes then is of keys that nobody has used.
  void EndHistory();
  // Likewise, where a kill may have lost something: of each group what all keys hold. With a log, which goes with groups
  // of one shard only.
  void EndLife(std::span<const TransactionRecord> found);

  const TransactionTally& tally() const { return tally_; }
  // Of writes without an answer, in this history; one that deletes counts for many.
  uint64_t unknown() const { return unknown_; }

 private:
  void Feed(const TransactionRecord& record);
  void Count(const TransactionRecord& record);
  void Finish();
  template <typename Checker>
  void CollectFrom(Checker* checker);
  void Collect();
  void BeginHistory();

  RunMemory* memory_;
  std::vector<bool> open_;                    // by client
  std::vector<TransactionChecker> checkers_;  // by group; none where the shards have one group
  std::optional<GraphChecker> over_shards_;   // there
  size_t held_ = 0;
  uint64_t unknown_ = 0;
  TransactionTally tally_;
};

}  // namespace plov::torture
