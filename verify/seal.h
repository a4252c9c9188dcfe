// Seals: 64-bit XXH3 checksums under seeds that say where and when bytes belong.
//
// Bytes are *whole* if and only if their checksum word equals XXH3 of the rest under the expected
// seed. A seed makes bytes from another place or life *foreign*, which is the same verdict as torn:
//   bucket:     incarnation, table generation and bucket index
//   record:     incarnation and mask
//   superblock: the format alone (it is what tells a reader the incarnation)
//   message:    the client id
// Zeroed memory is never whole: XXH3 of zeros under these seeds is not zero (tested).
// Source: XXH3 (xxHash 0.8); 64 bits because Pilaf's 32 are too weak at tens of millions of GETs a
// second (one escape in 2^32 torn reads).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace plov::verify {

// A bijective mix of 64 bits, the finalizer of SplitMix64 (Steele, Lea, Flood 2014).
constexpr uint64_t Mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  x ^= x >> 31;
  return x;
}

inline uint64_t Checksum(const void* data, size_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

// The part of a bucket's seed that all buckets of one table share.
constexpr uint64_t TableSeed(uint64_t incarnation, uint64_t generation) {
  return Mix(incarnation ^ Mix(generation + 0x9e3779b97f4a7c15));
}

// Bijective in the index for one table, so no two buckets of a table share a seed.
constexpr uint64_t BucketSeed(uint64_t table_seed, uint64_t bucket_index) {
  return table_seed + (bucket_index + 1) * 0x9e3779b97f4a7c15;
}

constexpr uint64_t RecordSeed(uint64_t incarnation) { return Mix(incarnation ^ 0x7265636f7264); }

// Mixed, so that the mask in the seed and the mask over the bytes do not cancel each other out.
constexpr uint64_t MaskedSeed(uint64_t record_seed, uint64_t mask) {
  return Mix(record_seed ^ mask);
}

inline constexpr uint64_t kSuperblockSeed = 0x706c6f7673757065;

constexpr uint64_t MessageSeed(uint64_t client_id) { return Mix(client_id ^ 0x6d657373616765); }

}  // namespace plov::verify
