// KeyIndex: the names of the items that one walk of the table has met, in the order of their positions.
//
// A position is a hash of the name, the same in every door and for ever. So a cursor of SCAN, which is the position
// that comes next, means the same in every index, however the server's table has changed in between.
//
// Where memory does not suffice for all of them it has the names from one position up to another.
//
// Threads: built by one, then only read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "door/budget.h"

namespace plov::door::redis {

class KeyIndex {
 public:
  // Positions have 48 bits: a cursor is a number that every client can hold.
  static constexpr uint64_t kEnd = uint64_t{1} << 48;

  static uint64_t PositionOf(std::string_view name);

  class Entry {
   public:
    Entry() = default;
    // Needs at most 65535 bytes.
    Entry(uint64_t position, const char* text, size_t bytes)
        : position_and_bytes_(position << 16 | bytes), text_(text) {}
    uint64_t position() const { return position_and_bytes_ >> 16; }
    std::string_view name() const { return {text_, position_and_bytes_ & 0xffff}; }

   private:
    uint64_t position_and_bytes_ = 0;
    const char* text_ = nullptr;
  };

  // Of names from this position on.
  KeyIndex(uint64_t from, Budget* budget) : from_(from), budget_(budget) {}
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;
  ~KeyIndex() { budget_->Release(charged_bytes_); }

  // A name may come several times. False: there is no memory for any.
  bool Add(std::string_view name);
  // To be called once all have come.
  void Finish();

  // It has every name that came, from the one position up to but not with the other.
  uint64_t from() const { return from_; }
  uint64_t to() const { return to_; }
  bool Has(uint64_t position) const { return from_ <= position && position < to_; }
  bool has_all() const { return from_ == 0 && to_ == kEnd; }
  std::span<const Entry> entries() const { return entries_; }
  // The first that is not before the position.
  size_t Find(uint64_t position) const;

 private:
  struct Chunk {
    std::unique_ptr<char[]> memory;
    size_t bytes = 0;
    size_t used_bytes = 0;
  };

  bool NeedsChunk(size_t name_bytes) const;
  size_t NextChunkBytes() const;
  bool HasRoom(size_t name_bytes);
  bool Take(size_t bytes);
  bool Shrink();
  void Copy(std::span<const Entry> entries);
  const char* Store(std::string_view name);

  const uint64_t from_;
  uint64_t to_ = kEnd;
  Budget* const budget_;
  size_t charged_bytes_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<Entry> entries_;
};

}  // namespace plov::door::redis
