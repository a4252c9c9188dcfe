// TableWalk: looks at the items of a growing table one place after the other, round and round: the buckets of
// the table that is searched first, the stash, and the table that keys move to. What is moved or written meanwhile
// it may miss, or meet twice.
//
// Thread safety: one thread, the shard's.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "cuckoo/growing_table.h"

namespace plov::cuckoo {

class TableWalk {
 public:
  // An item's place, valid as a slot is.
  struct Place {
    uint64_t hash;
    Table::Slot slot;
  };

  // table: outlives it.
  explicit TableWalk(GrowingTable* table) : table_(table) {}

  // Goes to the begin of the table if it is another one than before; whether it was.
  bool Follow();

  // The place that Next looks at, by which At finds it again while Follow returns false.
  uint64_t position() const { return position_; }
  // Whether a round ends here, and the next one begins.
  bool is_at_begin() const { return position_ == 0; }

  // Looks at a place: the item's there, if there is one that can be replaced or erased and
  // `wants(bucket)` holds.
  template <typename Wants>
  std::optional<Place> At(uint64_t position, Wants&& wants) const {
    const Spot spot = SpotOf(position);
    const auto bucket = Load(spot);
    if (!bucket || !wants(*bucket)) return std::nullopt;
    return PlaceOf(spot, *bucket);
  }
  template <typename Wants>
  std::optional<Place> Next(Wants&& wants) {
    const uint64_t at = position_++;
    if (position_ >= end()) position_ = 0;
    return At(at, std::forward<Wants>(wants));
  }

 private:
  struct Spot {
    Table* table;  // null: of the stash
    uint64_t index;
  };

  uint64_t end() const;
  Spot SpotOf(uint64_t position) const;
  // Of an item; nullopt where there is none.
  std::optional<verify::Bucket> Load(const Spot& spot) const;
  std::optional<Place> PlaceOf(const Spot& spot, const verify::Bucket& bucket) const;

  GrowingTable* table_;
  uint64_t position_ = 0;
  uint64_t generation_ = 0;  // of the table that it is in
};

}  // namespace plov::cuckoo
