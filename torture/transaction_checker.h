// TransactionChecker: whether commits and snapshots of one shard's keys are strictly serializable.
//
// Versions of a shard are unique and increase, and the writes of a commit have consecutive ones. So the order of versions is
// the only serial order that there can be, and is checked, not searched for:
//
//   - A commit comes behind all that had ended before it began. Each version that it rests on was its key's last one below the
//     commit's first version; 0 that the key was absent there.
//   - A GET or a snapshot has a point in that order, not within a commit, at which all that it found was its key's last
//     version. The point lies behind all that had ended before it began, and nothing that begins after it ended comes before
//     it. The first such point is taken, which allows most to those that come later.
//   - A commit that was refused for what it rests on was refused with reason: one of these versions was overwritten.
//   - A value names the write that it is of. A write without an answer counts when one of its values is found, and then all
//     of its commit does, with the versions that this one gives. What was refused is never found.
//
// An absence that a DELETE without an answer may explain is not checked, for nothing says which version that had.
//
// Time: a logarithm of what is held for each item. Memory: what is under way, writes not yet overwritten in every key, and
// commits without an answer.
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torture/transaction_violation.h"
#include "torture/write_order.h"

namespace plov::torture {

class TransactionChecker {
 public:
  TransactionChecker() = default;

  // In any order, but before Advance goes beyond its end.
  void Feed(const TransactionRecord& record);
  // No record that comes starts before this.
  void Advance(Instant horizon);
  // No more comes.
  void Finish() { Advance(kForever); }

  // After Finish, where a kill may have lost what had no answer: `found` is what all keys hold, read at one instant
  // in the next life. All answered writes are there, and of the others all up to some version. What comes then is
  // checked from there.
  void EndLife(const TransactionRecord& found);

  std::vector<TransactionViolation> TakeViolations();
  size_t held() const { return starting_.size() + ending_.size() + order_.size(); }
  // Commits and PUTs without an answer that were found, since the last call.
  uint64_t TakeUnknownFound() { return std::exchange(unknown_found_, 0); }

 private:
  struct Open {
    SharedRecord record;
    uint64_t floor = 0;  // it comes behind this version
    SharedRecord floor_by = nullptr;
  };
  // Who wrote a value.
  struct Writer {
    SharedRecord record;
    uint64_t first = 0;  // its commit's first version; 0: it is not known, or there is none
    uint64_t floor = 0;
    SharedRecord floor_by = nullptr;
  };
  using Wrong = std::optional<Contradiction>;

  // transaction_checker.cc
  void Start(Open open);
  void End(const Open& open);
  void NoteUnanswered(const TransactionRecord& record, int by);
  Wrong Place(const Open& commit, uint64_t first);
  Wrong Resolve(const TransactionItem& found);
  void Retire();
  void Take(Contradiction wrong, const SharedRecord& impossible);

  // transaction_rules.cc: each finds what is wrong, or makes *point that of the operation.
  Wrong CheckReads(const Open& open, uint64_t* point);
  Wrong CheckFound(const Open& open, uint64_t point, const SharedRecord& point_by);
  Wrong CheckCommit(const Open& open, uint64_t* point);
  Wrong CheckBase(const TransactionItem& read, const SharedRecord& commit);
  Wrong CheckConflict(const Open& open);
  bool IsOverwritten(const TransactionItem& read, const Open& open);
  Wrong FindAbsences(const TransactionRecord& record, uint64_t* point, SharedRecord* point_by);

  WriteOrder order_;
  std::unordered_map<ValueId, std::shared_ptr<Writer>> writers_;
  // Heaps, the first in time on top.
  std::vector<SharedRecord> starting_;
  std::vector<Open> ending_;
  RefusedRecords refused_;
  // Of each key, commits without an answer that write it and were not found.
  std::array<uint32_t, kTransactionKeys> unknown_puts_{};
  std::array<uint32_t, kTransactionKeys> unknown_deletes_{};
  uint64_t level_ = 0;  // what has ended comes up to here
  SharedRecord level_by_;
  uint64_t answered_ = 0;  // likewise of commits with an answer
  uint64_t unknown_found_ = 0;
  std::vector<TransactionViolation> violations_;
};

}  // namespace plov::torture
