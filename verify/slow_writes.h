// Slow writes: the last messages of writes that took a shard longer than its threshold, in two pages of
// its region that clients READ. Write N, from 1, is in place N - 1 modulo kSlowWritesKept.
//
//  offset size field
//       0    8 checksum     XXH3 of the rest: an entry that was READ while it was written
//       8    8 number       0: there was none yet
//      16    8 unix us      when the message was taken
//      24 6*4  spent        microseconds for each Cause
//      48    4 requests     in the message
//      52    4 value bytes  of the write that is shown: the one that the message waited with longest
//      56    1 operation
//      57    1 reserved     zero
//      58    2 key bytes
//      60   68 key          as much of it as there is room for, then zeros
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "verify/superblock.h"

namespace plov::verify {

// What a message spends its time on.
enum class Cause : uint8_t {
  kWork,      // the writes themselves
  kQueue,     // other clients' turns
  kGrowth,    // of the table, and memory of the one before
  kCleaning,  // room among records: dead ones, and items whose time is over
  kValue,     // a large value on its way from the client
  kDisk,      // the log
  kCount,
};
inline constexpr size_t kCauses = static_cast<size_t>(Cause::kCount);
std::string_view CauseName(Cause cause);

struct SlowWrite {
  uint64_t checksum;
  uint64_t number;
  uint64_t unix_us;
  std::array<uint32_t, kCauses> spent_us;
  uint32_t requests;
  uint32_t value_bytes;
  uint8_t operation;
  uint8_t reserved;
  uint16_t key_bytes;
  std::array<char, 68> key;

  uint64_t total_us() const;
  std::string_view key_shown() const;
};
static_assert(sizeof(SlowWrite) == 128);

inline constexpr size_t kSlowWritesKept = 64;
inline constexpr size_t kSlowWritesBytes = kSlowWritesKept * sizeof(SlowWrite);
static_assert(kSlowWritesOffset + kSlowWritesBytes == kRegionHeadBytes);

// Seals it and stores it in its place; `shared` is the first of the pages.
void StoreSlowWrite(uint64_t* shared, SlowWrite write);

// Those that are whole in a private copy of the pages, the oldest first. Takes every byte for hostile.
std::vector<SlowWrite> ReadSlowWrites(std::span<const std::byte> pages);

}  // namespace plov::verify
