// Evictor: which items make room when memory is full, in cache mode (plovd --evict).
//
// The server sees no GET, so clients tell it a sample of their hits (verify/message.h). It counts them by key in
// a few bytes beside the table, which know nothing of where an item is: a move, growth and an item's return
// leave them as they are. Counts fade as items are written. An item is worth
//
//   (hits counted + those of an item without any) squared / writes since it was written, at most a window of them
//
// so one that nobody asks for goes in the order of writing, and many that are read once, a scan, go before
// those that are read again. Of some that lie next to each other in the table, which is by their hashes, those that
// are worth least go.
//
// Cost: some 50 buckets and 64 counts looked at for the four items that go; one or two bytes for each bucket.
// Thread safety: one thread, the shard's.
// Source: Blankstein et al., "Hyperbolic caching", ATC 2017; Einziger et al., "TinyLFU", 2017, for counts
// that fade and are shared by keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "cuckoo/growing_table.h"
#include "cuckoo/table_walk.h"
#include "server/hit_counts.h"
#include "server/own_items.h"
#include "verify/message.h"

namespace plov::server {

class Evictor {
 public:
  // Erases the item that is there.
  using Erase = std::function<void(const cuckoo::TableWalk::Place& place)>;

  // items, table: outlive it.
  Evictor(const OwnItems* items, cuckoo::GrowingTable* table, Erase erase)
      : items_(items), walk_(table), table_(table), erase_(std::move(erase)) {}

  // Clients found these.
  void OnHits(std::span<const verify::HitName> hits);
  // Looks at some places and evicts a few of the items there, if there are any. last_version: of the store.
  // Returns the bytes that it looked at.
  size_t Evict(uint64_t last_version);

  uint64_t hits() const { return hits_; }
  size_t heap_bytes() const { return counts_.bytes(); }

 private:
  struct Candidate {
    uint64_t position;
    uint64_t version;
    double worth;
  };

  void Fade(uint64_t last_version);
  uint64_t VersionOf(const verify::Bucket& bucket) const;
  double WorthOf(uint64_t hash, uint64_t age) const;
  uint64_t items() const;

  const OwnItems* items_;
  cuckoo::TableWalk walk_;
  cuckoo::GrowingTable* table_;
  Erase erase_;
  HitCounts counts_;
  uint64_t faded_version_ = 0;  // up to which the counts have faded
  uint64_t hits_ = 0;
};

}  // namespace plov::server
