// Sweeper: finds expired items, a few buckets at a time, round and round; the stash is behind the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "cuckoo/growing_table.h"
#include "cuckoo/table_walk.h"
#include "server/expiries.h"
#include "server/own_items.h"

namespace plov::server {

class Sweeper {
 public:
  // Erases the item of a key with this hash, which is in this slot, perhaps only later.
  using Erase = std::function<void(uint64_t hash, const cuckoo::Table::Slot& slot)>;

  // items, table: outlive it. expiring: items with an expiry that are there.
  Sweeper(const OwnItems* items, cuckoo::GrowingTable* table, uint64_t expiring, Erase erase)
      : items_(items), table_(table), walk_(table), expiries_(expiring), erase_(std::move(erase)) {}

  // An item is stored, or gone; expiry: 0 for none.
  void OnStored(uint32_t expiry) {
    if (expiry != 0) expiries_.Stored(expiry);
  }
  void OnGone(uint32_t expiry) {
    if (expiry != 0) expiries_.Gone();
  }

  // Whether some item will expire.
  bool has_any() const { return expiries_.has_any(); }
  // Whether some item can have expired.
  bool due(uint64_t now_seconds) const { return expiries_.due(now_seconds); }
  // Looks at so many buckets, at most. Returns their bytes.
  size_t Sweep(size_t buckets, uint64_t now_seconds);

 private:
  bool IsToBeErased(const verify::Bucket& bucket, uint64_t now_seconds);

  const OwnItems* items_;
  const cuckoo::GrowingTable* table_;
  cuckoo::TableWalk walk_;
  Expiries expiries_;
  Erase erase_;
};

}  // namespace plov::server
