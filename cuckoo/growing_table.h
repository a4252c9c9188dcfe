// Growing table: one shard's table through its generations, in service all the while.
//
// Thread safety: one thread, the shard's. Nothing here blocks; every step is as long as the caller
// says, so that no PUT waits for more than it has asked for.
//
//   kSteady ─Prepare─► kPreparing ─PrepareSome...─► StartMoving ─► kMoving ─MoveSome...─► Switch
//      ▲                 the next table is sealed                   keys travel              │
//      └──────────────────────────── RetireSome... ◄──────────── kRetiring ◄─────────────────┘
//                                    old buckets say `retired`
//
// The caller publishes the superblock at two points: with both tables before StartMoving, and with
// the next one alone before Switch's table is retired.
//
// Invariants that rule R5 rests on:
//   1. A key is in the next table only when its home in the old one says `forward`.
//   2. Keys travel only from the old table to the next: copied there, then erased here. While both
//      hold a key neither copy is changed.
//   3. After Switch every bucket of the old table says `forward` or `retired`.
// So a reader that missed in the old table, and then in the next, missed a key that was absent at
// some instant in between.
//
// What finds no bucket goes to the stash, which all generations share: so growth always comes to its
// end, and only memory can be full. A stashed key stays there as the table grows: before Switch its
// new home says so.
//
// The next table's buckets may be wider. An item that moves there from a record, and fits, is stored
// inline: the copy comes first, then the record's `live` is cleared, then the reference is erased
// (W3). What is inserted meanwhile fits in the current table's buckets and so in both; if it went
// to a record for that, the growth after this one stores it inline.
//
// Buckets are moved in their order, and not home by home: a home cannot name its displaced keys.
// Homes keep their order from one generation to the next (cuckoo/hash.h), so both tables are walked
// from end to end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cuckoo/stash.h"
#include "cuckoo/table.h"

namespace plov::cuckoo {

class GrowingTable {
 public:
  enum class Phase { kSteady, kPreparing, kMoving, kRetiring };

  // Makes sure that the stash has room for one more item, whose key has so many bytes, and publishes
  // what that takes; false when there is no memory. `grows`: for a key that growth moves, and not for
  // a new one.
  using StashRoom = std::move_only_function<bool(size_t key_bytes, bool grows)>;

  // Whoever owns the records of items. May be null: then all that are in records stay there.
  class Records {
   public:
    virtual ~Records() = default;
    // Makes an inline item of one in a record that is whole, if it fits in buckets of so many bytes.
    virtual bool MakeInline(verify::Bucket* item, uint32_t bucket_bytes) = 0;
    // Its record is history; then its memory is free.
    virtual void Retract(const verify::Reference& reference) = 0;
    virtual void Free(const verify::Reference& reference) = 0;
  };

  // The caller formats the first generation, or takes it over (recovery). `records` outlives it.
  explicit GrowingTable(Table first, const StashGeometry& stash = {}, StashRoom stash_room = {},
                        Records* records = nullptr);

  // As Table's; a slot is valid until the next call of anything that writes. An item that is given
  // fits in buckets of item_bytes() and was made for the widest. Insert: false when the stash is full
  // as well, or the home fails its seal.
  Table::FindResult Find(uint64_t hash, std::string_view key, Table::Slot* slot);
  bool Insert(uint64_t hash, const verify::Bucket& item);
  // As Table's, of the table that is searched first, and of where new keys go the homes.
  void PrefetchItems(std::span<const uint64_t> hashes) const {
    if (phase_ == Phase::kMoving) {
      for (const uint64_t hash : hashes) {
        other_->Prefetch(HomeOf(hash, other_->geometry().bucket_count));
      }
    }
    current_->PrefetchItems(hashes);
  }
  // Whether `test` holds for any whole bucket that a key of this hash can be in.
  template <typename Test>
  bool AnyOf(uint64_t hash, Test&& test) {
    for (Table* table : {current_.get(), phase_ == Phase::kMoving ? other_.get() : nullptr}) {
      if (table == nullptr) continue;
      for (const uint64_t index : WaysOf(hash, table->geometry().bucket_count)) {
        const auto bucket = table->Load(index);
        if (bucket && test(*bucket)) return true;
      }
    }
    return false;
  }
  void Replace(const Table::Slot& slot, const verify::Bucket& item);
  void Erase(uint64_t hash, const Table::Slot& slot);
  uint32_t item_bytes() const { return current_->geometry().bucket_bytes; }

  // Moves stashed items to buckets of theirs that have become free; looks at so many. False when
  // there was nothing to look at: nothing was erased since all were looked at.
  bool Unstash(uint64_t count);

  Stash& stash() { return stash_; }
  const Stash& stash() const { return stash_; }
  // Where the stash holds an item.
  Table::Slot SlotOf(const Stash::Entry& entry, const verify::Bucket& bucket) const {
    return {nullptr, entry.index, Table::kStashed, bucket};
  }
  // Recovery: an item stays at an index of the stash; and once all are known.
  void KeepStashed(uint64_t index, const verify::Bucket& item);
  void FinishStash();

  // A pass reads all tables one after the other, and is in this one now; until Leave.
  void Enter(Table::PassPlace* pass, Table* table);
  void Leave(Table::PassPlace* pass);

  Phase phase() const { return phase_; }

  // Growth, step by step; each needs the phase before it. `geometry`: the next generation's, whose
  // memory need not be committed yet. False, and nothing is prepared: memory ran out.
  bool Prepare(const Geometry& geometry);
  // Buckets of the next table that are sealed so far.
  uint64_t prepared() const { return cursor_; }
  // Seals so many more, whose memory is committed; true when all are.
  bool PrepareSome(uint64_t buckets);
  // Gives the preparation up; nobody has seen it.
  void Abandon();
  void StartMoving();
  // Recovery: the next table was taken over as well, growth goes on where it was. False as
  // Prepare.
  bool Resume(const Geometry& geometry);
  // Visits so many buckets of the old table, then so many keys of the stash; true when all its keys
  // have moved. Buckets that are damaged, or whose keys neither the next table nor the stash can take,
  // stay, and the pass over them begins again.
  bool MoveSome(uint64_t buckets);
  // Makes the next table the current one; the geometry of the old.
  Geometry Switch();
  // Retires so many buckets of the old table; true when all are, and only its memory is left.
  bool RetireSome(uint64_t buckets);

  // True when a whole pass has just left keys in the old table; the next MoveSome begins another.
  bool stalled() const { return stalled_; }

  Table& current() { return *current_; }
  const Table& current() const { return *current_; }
  Table& moving_to() { return *other_; }
  // The table that keys move to, or null.
  const Table* next() const { return phase_ == Phase::kMoving ? other_.get() : nullptr; }
  // Buckets that new keys can go to, and what fills them.
  uint64_t capacity() const;
  // Of all generations together; displacements and damage since the start.
  TableStats stats() const;

 private:
  Table& filled() { return phase_ == Phase::kMoving ? *other_ : *current_; }
  Table::FindResult FindStashed(uint64_t hash, std::string_view key, Table::Slot* slot);
  bool InsertInStash(Table* table, uint64_t hash, const verify::Bucket& item, bool grows);
  void UnstashOne(uint64_t index);
  uint64_t move_end() const { return current_->geometry().bucket_count + stash_.end(); }
  bool MoveOne(uint64_t index);
  bool MakeInline(verify::Bucket* item);
  bool NoteInNext(uint64_t index);

  Stash stash_;
  StashRoom stash_room_;
  Records* records_;
  std::vector<Table::PassPlace*> passes_;
  uint64_t unstash_at_ = 0;    // the next of the stash to look at
  uint64_t unstash_left_ = 0;  // so many of them since a bucket became free
  Phase phase_ = Phase::kSteady;
  std::unique_ptr<Table> current_;
  std::unique_ptr<Table> other_;  // the next one, or in kRetiring the old one
  uint64_t cursor_ = 0;           // of the pass under way
  uint64_t left_ = 0;             // buckets that this pass could not move
  bool stalled_ = false;
  TableStats past_;  // displacements and damage of generations that are gone
};

}  // namespace plov::cuckoo
