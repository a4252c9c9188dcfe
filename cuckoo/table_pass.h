// TablePass: meets all items of a growing table, a few buckets at a time, while it is written and grows.
//
// An item that is there when the pass begins, and is not written until it ends, is met at least once.
// The places are in an order: the buckets of the table that is searched first, those of the next one while
// keys move there, and the stash. Items go from place to place meanwhile:
//   - within a table, to make room: one that goes from a place that was not read to one that was is met as
//     it moves;
//   - to the next table or the stash as the table grows: that lies ahead, unless the old table was read;
//   - from the stash to a bucket: met as it moves.
// The pass leaves a table whose keys have all moved: they lie ahead. A table that begins to grow when the
// pass is in the stash was read, and so were its keys.
//
// Thread safety: one thread, the shard's.
#pragma once

#include <cstdint>

#include "cuckoo/growing_table.h"

namespace plov::cuckoo {

class TablePass {
 public:
  using Meet = std::move_only_function<void(const verify::Bucket&)>;

  // `meet` gets each occupied bucket, in Step or in a write, and writes nothing itself. `table` outlives
  // the pass.
  TablePass(GrowingTable* table, Meet meet);
  ~TablePass() { table_->Leave(&place_); }
  TablePass(const TablePass&) = delete;
  TablePass& operator=(const TablePass&) = delete;

  enum class Progress {
    kMore,
    kOver,
    kDamaged,  // a bucket fails its seal, and nobody knows what it held
  };
  // Reads so many places more.
  Progress Step(uint64_t places);

 private:
  Table* Place();
  Table* Enter(Table* table);
  Progress Read(const std::optional<verify::Bucket>& bucket);
  Progress StepOne();

  GrowingTable* table_;
  Table::PassPlace place_;
  uint64_t generation_ = 0;  // of the table that it is in
  bool in_stash_ = false;
  uint64_t stash_at_ = 0;
};

}  // namespace plov::cuckoo
