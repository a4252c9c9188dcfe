// Recovery: takes over the memory that a former server left, stopped or killed (--warm).
//
// What a killed server can leave behind, and what becomes of it:
//   a rewrite of a bucket under way    redone from the journal (verify/journal.h)
//   those of a COMMIT                  all redone, or none had begun; of several shards, as one of them decides
//   of the superblock                  the other page is whole, and replaces it
//   a record nobody refers to          free memory; its write was never acknowledged
//   `live` 0 under a reference (W3)    the reference is the truth: `live` is set again
//   a key in two buckets (W5, growth)  the copy of the greater version stays, of equals either
//   a listing without its key (W4)     directories are made true: they list what lives
//   a key in the stash and a bucket    the bucket's stays: they are equal
// Anything else that fails its seal is damage: dropped and counted.
//
// Every step only turns such states into whole ones, so a recovery that is killed can begin again.
// Cost: every bucket and record is verified once; some 0.2 us per item.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <vector>

#include "cuckoo/growing_table.h"
#include "cuckoo/table_recovery.h"
#include "server/record_area.h"
#include "server/region.h"
#include "verify/superblock.h"

namespace plov::server {

struct RecoveryReport {
  bool warm = false;  // there was something to recover
  uint64_t items = 0;
  uint64_t damaged = 0;     // buckets and records that failed their seals: items lost
  uint64_t duplicates = 0;  // second copies of moves under way
  uint64_t expiring = 0;    // of the items, with an expiry
  uint64_t foreign = 0;     // of another shard's slots
  uint64_t payload_bytes = 0;
  uint64_t microseconds = 0;
  bool redid_commit = false;  // as RedoJournal
};

// The superblock that a former server left, from whichever of its two pages is whole. kCorrupt,
// kProtocol (another format).
std::expected<verify::Superblock, Error> FormerSuperblock(const Region& region);

// Makes the first page whole where only the mirror is: before the mirror is written again.
void RedoSuperblock(const Region& region);

// Redoes the bucket rewrite that may have been under way, or those of a COMMIT. decided: Store::decided of the shards before
// this one. Whether the last COMMIT was redone, by this restart or one before.
bool RedoJournal(const Region& region, const verify::Superblock& superblock,
                 std::span<const uint64_t> decided);

// Takes over table and records. `table` is in kSteady, or in kMoving when there are two.
class Recovery {
 public:
  // slots: the shard's.
  Recovery(const Region* region, cuckoo::GrowingTable* table, RecordArea* records,
           const verify::Superblock& superblock, const cuckoo::SlotRange& slots);

  RecoveryReport Run();

 private:
  // A bucket whose item is not at home.
  struct Displaced {
    uint64_t index;
    uint64_t hash;
  };

  void TakeOver(cuckoo::TableRecovery* recovery, bool forward);
  void TakeOverStash();
  void TakeOverSome(cuckoo::TableRecovery* recovery, bool forward, uint64_t first, uint64_t count);
  bool Check(const verify::Bucket& bucket);
  bool CheckRecord(const verify::Reference& reference);
  bool IsInside(const verify::Reference& reference) const;
  verify::MaskedItem ItemOf(const verify::Bucket& bucket) const;
  void DropSecondCopies(cuckoo::TableRecovery* recovery);
  void DropSecondCopyOf(cuckoo::TableRecovery* recovery, const Displaced& displaced);
  void Relist(cuckoo::TableRecovery* recovery);
  void DropMoved();
  void Forget(const verify::Bucket& bucket);

  const Region* region_;
  cuckoo::GrowingTable* table_;
  RecordArea* records_;
  uint64_t hash_seed_;
  cuckoo::SlotRange slots_;
  uint64_t record_seed_;
  std::vector<Displaced> displaced_;  // of the table being taken over
  RecoveryReport report_;
};

}  // namespace plov::server
