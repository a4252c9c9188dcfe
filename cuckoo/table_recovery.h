// TableRecovery: takes over the buckets that a former writer left, in place of Table::Format, and makes their
// directories true again.
//
// TakeOver for every bucket, Drop of what is not to stay, Relist for what is displaced, Finish; then Table::NoteStashed
// for what is in the stash, FinishNotes. A bucket that is whole and true is not rewritten. Before Finish nothing of the
// table may be called but Load and HashOf.
//
// Threads: the shard's.
#pragma once

#include <cstdint>
#include <vector>

#include "cuckoo/table.h"

namespace plov::cuckoo {

class TableRecovery {
 public:
  // table: outlives this.
  explicit TableRecovery(Table* table);

  Table& table() const { return *table_; }

  // Takes over one bucket. One that fails its seal, or whose item does not belong there, is emptied; it gets `forward`
  // if keys of it may be in the next table.
  enum class Left { kNothing, kItem, kDamage };
  Left TakeOver(uint64_t index, bool forward, verify::Bucket* bucket);
  // Empties a bucket that was taken over and is not relisted.
  void Drop(uint64_t index);
  // Finds the item of a bucket, which is displaced, in its home's directory, or lists it there. False when there is no
  // room.
  bool Relist(uint64_t hash, uint64_t index);
  // Clears what is left in directories and stands for no key.
  void Finish();
  // The same of `stashed`.
  void FinishNotes();

 private:
  bool Belongs(const verify::Bucket& bucket, uint64_t index) const;

  Table* table_;
  std::vector<uint8_t> unproved_;  // per home: what of its directory no key was found for yet
  std::vector<uint64_t> noted_;    // homes that say `stashed`
};

}  // namespace plov::cuckoo
