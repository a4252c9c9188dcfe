// Superblock: the beginning of a shard's region; says what the region is and where things lie.
//
//  offset size field           guards against
//       0    8 checksum        a superblock read while it was written: XXH3 of bytes 8..664
//       8    8 magic           a region that is no plov shard's ("plovsb\0\1")
//      16    4 format          a server of another format version; these 24 bytes never move
//      20    4 page bytes      4096
//      24    8 version         +1 on every rewrite
//      32    8 incarnation     bytes of a former life; random, not 0
//      40    8 hash seed       (the same in all shards of a server)
//      48    8 region bytes
//      56    4 shard           this shard's number
//      60    4 shard count
//      64    4 value bytes max
//      68    4 reserved        zero
//      72    8 clock offset    microseconds: the server's Unix time minus its monotonic clock
//      80    8 version limit   versions beyond every one that was ever given out: where a warm
//                              restart goes on
//      88    8 block bytes     records up to a sixteenth of this lie in blocks of it
//      96   64 tables          two of {generation, offset, bucket count, bucket bytes (4),
//                              reserved (4)}; generation 0 = no table; [1] is the next generation,
//                              whose buckets are as wide or wider
//     160    8 stash bytes     sealed buckets of the stash, of 128 bytes, over its extents in their order;
//                              whole pages
//     168  496 stash extents   31 of {offset, bytes}; bytes 0 = none
//
// Records lie anywhere behind the head where no table and no stash does. At 4032 of the page is a word of its own,
// outside the checksum: of a replica in a cluster its safe time (cluster/safe_time.h), Unix microseconds of the server's
// clock; all that was acknowledged before is in the table, or was, when the word is READ. 0: it is not known. The rest of
// the page is nothing.
//
// Whole if and only if the checksum matches. Read at connection and whenever a bucket says
// `retired`, or `forward` to a generation that the reader does not know.
//
// The next page is a mirror, written before the first: a server killed in the middle of one leaves
// the other whole. Readers look at the first only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include "verify/error.h"

namespace plov::verify {

inline constexpr uint32_t kFormatVersion = 10;
inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kSafeTimeOffset = kPageBytes - 64;
inline constexpr size_t kMirrorOffset = kPageBytes;
inline constexpr size_t kJournalOffset = 2 * kPageBytes;     // verify/journal.h
inline constexpr size_t kCountersOffset = 3 * kPageBytes;    // verify/counters.h
inline constexpr size_t kSlowWritesOffset = 4 * kPageBytes;  // verify/slow_writes.h
// What a region begins with, before tables and records.
inline constexpr size_t kRegionHeadBytes = 6 * kPageBytes;
inline constexpr uint64_t kSuperblockMagic = 0x0100627376'6f6c70;  // "plovsb\0\1"

struct TableExtent {
  uint64_t generation;
  uint64_t offset;
  uint64_t bucket_count;
  uint32_t bucket_bytes;
  uint32_t reserved;

  bool operator==(const TableExtent&) const = default;
};
static_assert(sizeof(TableExtent) == 32);

struct StashExtent {
  uint64_t offset;
  uint64_t bytes;

  bool operator==(const StashExtent&) const = default;
};

// Buckets that no key hashes to, for keys that find none of theirs free.
inline constexpr size_t kStashExtentsMax = 31;
struct StashMemory {
  uint64_t bytes;
  std::array<StashExtent, kStashExtentsMax> extents;

  bool operator==(const StashMemory&) const = default;
};
// A cluster has as many slots, and each of its shards one at least.
inline constexpr uint32_t kShardsMax = 16384;

struct Superblock {
  uint64_t checksum;
  uint64_t magic;
  uint32_t format;
  uint32_t page_bytes;
  uint64_t version;
  uint64_t incarnation;
  uint64_t hash_seed;
  uint64_t region_bytes;
  uint32_t shard;
  uint32_t shard_count;
  uint32_t value_bytes_max;
  uint32_t of_cluster;  // 1, or 0: of a server of its own
  int64_t clock_offset_us;
  uint64_t version_limit;
  uint64_t block_bytes;
  std::array<TableExtent, 2> tables;
  StashMemory stash;
};
static_assert(sizeof(Superblock) == 664 && offsetof(Superblock, format) == 16 &&
              offsetof(Superblock, version) == 24 && offsetof(Superblock, incarnation) == 32 &&
              offsetof(Superblock, shard) == 56 && offsetof(Superblock, clock_offset_us) == 72 &&
              offsetof(Superblock, version_limit) == 80 && offsetof(Superblock, tables) == 96 &&
              offsetof(Superblock, stash) == 160);

// Fills in magic, format and checksum.
void SealSuperblock(Superblock* superblock);

// Stores a sealed superblock at the start of the region: the mirror, then the page that readers
// see, the checksum of each last. Needs a first page that is whole, unless there never was one.
void StoreSuperblock(uint64_t* shared, const Superblock& superblock);
// One of the two.
void StoreSuperblockPage(uint64_t* page, const Superblock& superblock);

enum class SuperblockState {
  kWhole,
  kTorn,         // read it again
  kOtherFormat,  // whole by its own format, perhaps, but not one that this code reads
  kNotPlov,      // no superblock at all
};

// Judges a private copy: seal first, then that the numbers describe memory inside the region.
SuperblockState CheckSuperblock(const Superblock& copy);

}  // namespace plov::verify
