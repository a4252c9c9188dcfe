// Growth: decides when a store's table grows, finds the memory, and does it a few buckets at a
// time.
//
// Thread safety: one thread, the shard's.
// Cost: a write's share is bounded (kPreparePerWrite ...): some microseconds while the table grows,
// a comparison else; an idle shard does the rest.
//
// The old table's memory goes back to the system, piece by piece, once every connected client has
// confirmed a superblock that no longer lists it (the shard counts them). Until then it is history
// that still says `retired`.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "cuckoo/growing_table.h"
#include "server/bucket_choice.h"
#include "server/memory.h"
#include "server/record_area.h"

namespace plov::server {

// Of a cache: items make room for others from this part of what records can have, and of the buckets, on, in percent.
// So cleaning what they leave stays cheap, and displacement paths short.
inline constexpr uint64_t kCacheRecordsPercent = 94, kCacheItemsPercent = 88;

class Growth {
 public:
  // Stores a superblock of the table as it is now, or as it will be (`tables`); returns its
  // version.
  using Publish = std::function<uint64_t(const cuckoo::Geometry&, const cuckoo::Geometry&)>;

  struct Options {
    uint64_t incarnation;          // of the shard's memory
    bool chooses_buckets = false;  // else they stay as wide as they are
    bool evicts = false;  // a full memory has no more items than now, and none is kept free
  };

  // All outlive it.
  Growth(cuckoo::GrowingTable* table, Memory* memory, RecordArea* records, const Options& options,
         Publish publish);

  // So much of the memory is left to others by the next tables.
  void set_kept_bytes(size_t bytes) { kept_bytes_ = bytes; }

  // A write's share of the work.
  void OnWrite();
  // A larger share. False when there is nothing to do.
  bool OnIdle();
  // True while a table is being replaced, as far as that gets on.
  bool under_way() const;
  // Phases that have ended, of all growths.
  uint64_t phases() const { return phases_; }
  // Finishes a growth that was resumed, before anybody is connected.
  void Finish();

  // True while a table that clients may still read holds memory.
  bool draining() const { return !drains_.empty(); }
  // The superblock version that all clients must have confirmed for the oldest of them to go.
  uint64_t awaited_version() const { return drains_.front().version; }
  // Clients that have confirmed less than this read memory that was given away.
  uint64_t released_version() const { return released_version_; }
  // Every connected client has confirmed at least this version.
  void OnConfirmed(uint64_t least_version);
  // True when the table would grow and waits for memory.
  bool hungry() const { return hungry_; }

  uint64_t growths() const { return growths_; }
  bool chooses_buckets() const { return options_.chooses_buckets; }
  // What was found for the last table that was to grow.
  const BucketChoice& choice() const { return choice_; }
  // Of tables: current, next, and history that holds memory.
  size_t table_bytes() const;

 private:
  // A table that is history.
  struct RetiredTable {
    uint64_t offset;
    size_t bytes;
    uint64_t version;
  };
  struct Share {
    uint64_t prepare;
    uint64_t move;
    uint64_t retire;
    size_t release_bytes;
  };

  bool Step(const Share& share);
  bool StepPhase(const Share& share);
  bool WantsGrowth() const;
  uint64_t WantedBuckets(uint32_t bucket_bytes) const;
  bool Begin();
  bool ChoosesWide();
  bool BeginWith(uint32_t bucket_bytes);
  void StopWaiting();
  bool Prepare(uint64_t buckets);
  void Move(uint64_t buckets);
  void Retire(uint64_t buckets);
  void Release(size_t bytes);

  cuckoo::GrowingTable* table_;
  Memory* memory_;
  RecordArea* records_;
  Options options_;
  Publish publish_;
  BucketChoice choice_;
  uint64_t judged_generation_ = 0;    // the table that it was made for
  cuckoo::Geometry next_;             // while there is one
  size_t committed_ = 0;              // of the next table's memory
  RetiredTable retiring_{};           // while buckets are being retired
  uint64_t move_debt_ = 0;            // writes since a pass stalled
  std::vector<RetiredTable> drains_;  // oldest first
  uint64_t released_version_ = 0;
  size_t unreleased_bytes_ = 0;  // of history that clients have confirmed, at most
  uint64_t growths_ = 0;
  uint64_t phases_ = 0;
  size_t kept_bytes_ = 0;
  bool hungry_ = false;
};

}  // namespace plov::server
