// Geometry: where one generation of the table lies and under which seeds its buckets are sealed.
#pragma once

#include <cstdint>

#include "verify/bucket.h"
#include "verify/seal.h"
#include "verify/superblock.h"

namespace plov::cuckoo {

struct Geometry {
  uint64_t generation = 0;  // 0 = there is no such table
  uint64_t offset = 0;
  uint64_t bucket_count = 0;
  uint32_t bucket_bytes = verify::kBucketBytesMin;
  uint64_t table_seed = 0;

  static Geometry Of(const verify::TableExtent& extent, uint64_t incarnation) {
    return {extent.generation, extent.offset, extent.bucket_count, extent.bucket_bytes,
            verify::TableSeed(incarnation, extent.generation)};
  }

  uint64_t BucketOffset(uint64_t index) const { return offset + index * bucket_bytes; }
  uint64_t SeedOf(uint64_t index) const { return verify::BucketSeed(table_seed, index); }
  uint64_t table_bytes() const { return bucket_count * bucket_bytes; }
};

// The stash, likewise. Its buckets hold what fits in those of any table.
struct StashGeometry {
  // Of its buckets, where those of tables have their table's.
  static constexpr uint64_t kGeneration = UINT64_MAX;

  static constexpr uint32_t bucket_bytes = verify::kBucketBytesMax;

  verify::StashMemory memory{};
  uint64_t seed = 0;

  static StashGeometry Of(const verify::Superblock& superblock) {
    return {superblock.stash, verify::TableSeed(superblock.incarnation, kGeneration)};
  }

  uint64_t bucket_count() const { return memory.bytes / bucket_bytes; }
  // Needs an index below bucket_count. A page of buckets lies in one piece.
  uint64_t BucketOffset(uint64_t index) const {
    uint64_t at = index * bucket_bytes;
    const verify::StashExtent* extent = memory.extents.data();
    for (; at >= extent->bytes; ++extent) at -= extent->bytes;
    return extent->offset + at;
  }
  uint64_t SeedOf(uint64_t index) const { return verify::BucketSeed(seed, index); }
};

// What a reader knows of a shard: a superblock, digested.
struct ShardView {
  uint64_t superblock_version = 0;
  uint64_t incarnation = 0;
  uint64_t hash_seed = 0;
  uint64_t record_seed = 0;
  uint64_t region_bytes = 0;
  uint32_t shard_count = 0;
  uint32_t value_bytes_max = 0;
  bool of_cluster = false;
  int64_t clock_offset_us = 0;
  std::array<Geometry, 2> tables;
  StashGeometry stash;

  static ShardView Of(const verify::Superblock& superblock) {
    const uint64_t incarnation = superblock.incarnation;
    return {superblock.version,
            incarnation,
            superblock.hash_seed,
            verify::RecordSeed(incarnation),
            superblock.region_bytes,
            superblock.shard_count,
            superblock.value_bytes_max,
            superblock.of_cluster != 0,
            superblock.clock_offset_us,
            {Geometry::Of(superblock.tables[0], incarnation),
             Geometry::Of(superblock.tables[1], incarnation)},
            StashGeometry::Of(superblock)};
  }
};

}  // namespace plov::cuckoo
