// GraphChecker: whether commits and snapshots of keys of several shards of one server are strictly serializable.
//
// Versions order the writes of each key, and those of one commit are consecutive. Versions of different shards have nothing
// to do with each other, and nobody but the server knows which key is of which shard. So there is no order of versions as
// TransactionChecker has it; but where the order of each key's writes is known, operations are strictly serializable
// if and only if their SerialGraph has no cycle (Adya's direct serialization graph, with real time):
//
//   - The writer of a version comes before who found it, or rested a commit on it, and before the key's next writer.
//   - Who found a version, or rested on it, comes before the key's next writer.
//   - What ended comes before what began afterwards.
//
// A value names the write that it is of. A write without an answer counts when one of its values is found, and then all
// of its commit does, with the versions that this one gives; it comes before all that begins after the finder's end.
// What was refused is never found, and a commit that was refused for what it rests on was refused with reason: one of these
// versions may have been overwritten before the commit's end.
//
// An absence has no version. A key may have been absent at several times that its reader may have met; what the graph
// excludes is taken away from both ends. The reader comes behind the first that is left and before the end of the last.
//
// Not seen, so that there is no false alarm:
//   - what only several such absences exclude together, or each one between the first and the last;
//   - an absence that a DELETE without an answer may explain; absences that a commit without an answer rests on;
//   - a write without an answer that nobody finds, and of one that is found late, after kKept later operations, a
//     contradiction with what was dropped meanwhile;
//   - versions that go back between two keys of one shard.
// The first violation ends it: what is wrong once is found in all that comes.
//
// When nothing more can come before an operation, and nothing that is held does, it is dropped. A contradiction with what was
// dropped is noticed by the versions, for then what comes began after that had ended.
//
// Time: linear in what comes, so many operations at once that what is held already does not count. Memory: what is under way or
// may come before that, kKept more, a write of each key, and commits without an answer.
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torture/serial_graph.h"
#include "torture/transaction_violation.h"

namespace plov::torture {

class GraphChecker {
 public:
  // Some tens of milliseconds of a run. What is found later was delayed by much more than a message is.
  static constexpr size_t kKept = 2048;

  // kept: so many operations stay that could be dropped, and half as many more at least are checked at once.
  explicit GraphChecker(size_t kept = kKept) : kept_(kept) {}

  // In any order, but before Advance goes beyond its end.
  void Feed(const TransactionRecord& record);
  // No record that comes starts before this.
  void Advance(Instant horizon);
  // No more comes.
  void Finish();

  std::vector<TransactionViolation> TakeViolations() { return std::exchange(violations_, {}); }
  size_t held() const { return placed_.size() + ending_.size(); }
  // Commits and PUTs without an answer that were found, since the last call.
  uint64_t TakeUnknownFound() { return std::exchange(unknown_found_, 0); }

 private:
  // An operation, of which the graph has those that are placed.
  struct Node {
    SharedRecord record;
    Instant end = kForever;  // without an answer: of the first that has shown that it was applied
    SharedRecord shown_by = nullptr;  // that one
    uint64_t first = 0;      // its first write's version; 0: it is not known, or there is none
    bool is_placed = false;  // and not dropped
    uint32_t number = 0;     // in the graph that is being made
  };
  using SharedNode = std::shared_ptr<Node>;
  struct Write {
    ValueId value = kForeign;  // kForeign: the key is absent from then on
    SharedNode by = nullptr;   // nullptr: it was so at first
    std::vector<SharedNode> readers = {};

    bool is_absence() const { return value == kForeign; }
    bool is_dropped() const { return by == nullptr || !by->is_placed; }
  };
  using Writes = std::map<uint64_t, Write>;
  // The key was absent: not before version `first`, which made it so, and not any more at the first PUT behind `last`.
  struct Absence {
    SharedNode reader;
    uint64_t first = 0;
    uint64_t last = 0;
  };
  struct Key {
    Writes writes{{0, Write{}}};
    std::vector<Absence> absences;
    // Commits without an answer that write it and were not found.
    uint32_t unknown_puts = 0;
    uint32_t unknown_deletes = 0;
  };
  // DELETEs of a key with no PUT between them, and the PUT that follows.
  struct Run {
    Writes::const_iterator first, last, next;
  };
  using Wrong = std::optional<Contradiction>;

  // graph_checker.cc
  bool IsTime(Instant horizon) const;
  void End(const SharedNode& node);
  void NoteUnanswered(const TransactionRecord& record, int by);
  Wrong Place(const SharedNode& node, uint64_t first);
  Wrong Resolve(const TransactionItem& found, const SharedNode& by);
  static void Show(Node* applied, const Node& by);
  void RestOn(const SharedNode& found);
  void Take(Contradiction wrong, const SharedRecord& impossible);

  // graph_rules.cc: each finds what is wrong by itself, or enters what a node has found.
  Wrong CheckItems(const SharedNode& node);
  Wrong CheckFound(const TransactionItem& item, const SharedNode& node);
  Wrong CheckAbsence(const TransactionItem& item, const SharedNode& node);
  Wrong CheckConflict(const TransactionRecord& record) const;
  bool MayBeOverwritten(const TransactionItem& read, const TransactionRecord& record) const;
  static Wrong CheckBackwards(uint32_t key, const Writes::value_type& lower,
                              const Writes::value_type& higher);
  static std::vector<Run> Absences(const Key& key, uint64_t first, uint64_t last);

  // graph_order.cc: what the graph says.
  void Check(Instant settled);
  SerialGraph Graph();
  void AddEdges(uint32_t key, SerialGraph* graph) const;
  // Returns whether there is less than before.
  bool Narrow(const SerialGraph& graph, Key* key);
  void Drop(const SerialGraph& graph, Instant settled);
  void DropWrites(Key* key);
  void TakeCycle(const std::vector<SerialGraph::Edge>& cycle);

  size_t kept_;
  std::array<Key, kTransactionKeys> keys_;
  std::unordered_map<ValueId, SharedNode> writers_;
  std::deque<SharedNode> placed_;
  std::vector<SharedNode> ending_;  // a heap, the first in time on top
  RefusedRecords refused_;
  size_t checked_ = 0;      // of those placed, how many the last check has left
  Instant newest_ = 0;      // when the last of these ended
  bool is_broken_ = false;  // there was a violation
  uint64_t unknown_found_ = 0;
  std::vector<TransactionViolation> violations_;
};

}  // namespace plov::torture
