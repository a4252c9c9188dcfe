// Record area: where records live: a log of blocks, cleaned by moving what lives out of sparse
// ones.
//
// Thread safety: one thread, the shard's.
//
//   block  1 MiB (less in small memories), filled from its start by records, each rounded up to
//          words; freed when nothing in it lives any more, or cleaned: what lives moves to another
//          block. New records and moved ones fill different blocks, so that what lives long
//          gathers.
//   run    whole pages, for a record of more than a sixteenth of a block
//
// Readers verify, so a record can be moved like a key (rules W3, R4): the copy is whole before the
// old one's `live` turns 0, and that before the bucket names the copy. A general allocator is no
// choice here: after a restart it cannot be told what lives, and its size classes leave a fifth of
// the memory unused. Source: log-structured memory, Rumble et al., FAST 2014.
//
// Cost: a few instructions and the 40 bytes of a head per record; one fallocate per fresh block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "server/memory.h"

namespace plov::server {

class RecordArea {
 public:
  // Both outlive the area. block_bytes: a power of two, BlockBytesFor the budget unless records of
  // a former life are to be adopted, which lie in blocks of its size.
  RecordArea(Region* region, Memory* memory, size_t block_bytes = 0);

  // So many blocks at least, so that those that are open or kept free are a small part of the memory.
  static constexpr size_t kBlocksMin = 64;
  static constexpr size_t kBlocksWhenFull = 256;  // of a memory that is meant to be full
  static size_t BlockBytesFor(size_t budget_bytes, size_t blocks = kBlocksMin);

  // What a record takes of a block: whole words, and whole cache lines where that loses at most an
  // eighth of it.
  static uint32_t PlacedBytes(size_t record_bytes);

  // The region offset of a fresh record, word-aligned; nullopt when memory is full. Its head says
  // that it is dead and how long it is, so that the block can be walked.
  std::optional<uint64_t> Allocate(size_t record_bytes);
  // The same in the place of dead records, when all else has failed: what was just deleted makes
  // room for as much. Cost: a walk over the heads of the block with most dead bytes.
  std::optional<uint64_t> AllocateInHole(size_t record_bytes);
  // record_bytes: what was allocated.
  void Free(uint64_t offset, size_t record_bytes);

  // Keeps a record where it is until Unpin; nests.
  void Pin(uint64_t offset, size_t record_bytes);
  void Unpin(uint64_t offset, size_t record_bytes);

  // Asked for every record that may live in a block being cleaned. Moves it - MoveTo gives the
  // place - and frees the old one, or does nothing when it is dead.
  using Relocate = std::function<void(uint64_t offset, size_t record_bytes)>;
  std::optional<uint64_t> MoveTo(size_t record_bytes);

  // True while less memory is free than the reserve and a block may be sparse enough to be worth
  // it. Cost: a few instructions; after a search in vain the next is due when more was freed.
  bool wants_cleaning() const;
  // Moves about so many bytes of records. False when there was nothing to clean, or no place to
  // move it to. `wanted_bytes`: memory is full for a record of that size, and a block is worth it
  // that has only so much dead.
  bool Clean(size_t bytes, const Relocate& relocate, size_t wanted_bytes = SIZE_MAX);
  // What cleaning keeps free for the area itself.
  size_t reserve_bytes() const { return reserve_min_bytes_; }
  // Memory to keep free by cleaning beyond what the area itself needs: a table that wants to grow.
  void set_reserve(size_t bytes) { reserve_bytes_ = bytes; }

  // True when that many bytes are free or dead in blocks, so that cleaning may make room.
  bool MayFit(size_t record_bytes) const;

  // Recovery: takes an allocated record over; before the first Allocate, and before the memory is
  // settled (Memory::Settle). False when the bytes are not free, or no record of this area can lie
  // so. Records in blocks do not overlap: that is the caller's to see to. One that is adopted twice
  // is to be freed once before the area is used.
  bool Adopt(uint64_t offset, size_t record_bytes);

  size_t block_bytes() const { return block_bytes_; }
  size_t used_bytes() const { return block_count_ * block_bytes_ + run_bytes_; }
  // Of records, rounded to words, or to pages for runs.
  size_t allocated_bytes() const { return live_bytes_ + run_bytes_; }
  uint64_t moved_records() const { return moved_records_; }
  uint64_t moved_bytes() const { return moved_bytes_; }
  // Blocks whose records do not add up: they are not cleaned again.
  uint64_t damaged_blocks() const { return damaged_blocks_; }

 private:
  enum class State : uint8_t { kNone, kSpare, kOpen, kClosed, kDamaged };
  struct Block {
    uint32_t live_bytes = 0;
    uint32_t used_bytes = 0;  // records fill it up to here
    uint32_t pins = 0;
    State state = State::kNone;
  };
  // Indices into `blocks_`.
  using Index = std::optional<size_t>;

  size_t WorthBytes() const { return block_bytes_ / kWorthPart; }
  size_t WorthBytes(size_t wanted_bytes) const;
  bool IsRun(size_t record_bytes) const;
  bool IsIdle(const Block& block) const;
  std::optional<uint64_t> AllocateRun(size_t record_bytes);
  bool HasRoom(const Index& open, size_t record_bytes) const;
  std::optional<uint64_t> Append(Index* open, size_t record_bytes);
  bool KeepSpare();
  Index TakeBlock(State state);
  void Close(Index* open);
  void CloseSparse();
  void Drop(size_t index);
  void GiveAll();
  bool FindVictim(size_t worth_bytes);
  Index BlockWithMostDead() const;
  struct Hole {
    size_t begin;  // in the block
    size_t bytes;
  };
  std::optional<Hole> FindHole(size_t index, size_t bytes);
  static bool IsGap(size_t bytes);
  size_t WalkOne(const Relocate& relocate);
  bool AdoptRun(uint64_t offset, size_t record_bytes);

  // A record of more than this part of a block is a run; so much of a block must have been freed
  // before it is cleaned, not counting what did not fit at its end: that may not fit the next time
  // either.
  static constexpr size_t kWorthPart = 16;
  // The same when memory is full: a PUT then costs the moving of up to so many times its bytes.
  static constexpr size_t kWorthPartWhenFull = 32;

  Region* region_;
  Memory* memory_;
  size_t block_bytes_;
  size_t reserve_min_bytes_;
  size_t reserve_bytes_ = 0;

  std::vector<Block> blocks_;  // by offset / block_bytes
  size_t blocks_end_ = 0;      // none beyond was ever taken
  size_t block_count_ = 0;
  size_t live_bytes_ = 0;  // in blocks
  size_t run_bytes_ = 0;

  Index fresh_, moved_;  // the open ones
  // Never filled by new records, so that cleaning can always go on: what lives in one victim fits.
  Index spare_;

  Index victim_;
  size_t cursor_ = 0;           // in the victim
  bool no_victim_ = false;      // when last searched; what is dead in the sparsest block
  size_t most_dead_bytes_ = 0;  // was this then,
  size_t freed_bytes_ = 0;      // and so much was freed since
  bool move_failed_ = false;    // in this walk
  uint64_t moved_records_ = 0;
  uint64_t moved_bytes_ = 0;
  uint64_t damaged_blocks_ = 0;
};

}  // namespace plov::server
