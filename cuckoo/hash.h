// The hash: from a key to its shard, its three buckets and its fingerprint.
//
// All parts come from one 64-bit hash of the key under the server's seed (cuckoo/key_hash.h), from
// bits that do not overlap much: the home from the high bits (so that a doubled table splits each
// home in two), the shard from the low 32, the fingerprint from the lowest 7, ways 1 and 2 from two
// further mixes.
//
// The seed is not secret, since every reader needs it. It is the hash that makes keys which collide hard
// to find: plov(7), "The hash".
//
// Source: 3-1 cuckoo hashing, Pilaf, USENIX ATC 2013, section 4.2.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "verify/bucket.h"
#include "verify/seal.h"

namespace plov::cuckoo {

inline constexpr size_t kWays = 3;
// Fewer buckets could not give a key three different ones.
inline constexpr uint64_t kBucketCountMin = 8;

// key: 0..verify::kKeyBytesMax bytes, any content.
// Cost: by the processor's AES some 2 ns for 16 bytes, 11 for 64; else 70 for each 16.
uint64_t HashKey(std::string_view key, uint64_t hash_seed);

// Maps a 64-bit hash to 0..range-1 without division. Source: Lemire, "Fast random integer
// generation in an interval", 2019.
constexpr uint64_t Scale(uint64_t hash, uint64_t range) {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(hash) * range >> 64);
}

constexpr uint32_t ShardOf(uint64_t hash, uint32_t shard_count) {
  return static_cast<uint32_t>((hash & 0xffffffff) * shard_count >> 32);
}

// The keys of a shard: those of the slots first..last, of so many that hashes are divided into evenly. A shard of
// a single server has one slot, as many as there are shards; one of a cluster a range of the cluster's slots.
struct SlotRange {
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t count = 1;

  constexpr bool Has(uint64_t hash) const {
    const uint32_t slot = ShardOf(hash, count);
    return slot >= first && slot <= last;
  }
  constexpr bool has_all() const { return last - first + 1 == count; }

  bool operator==(const SlotRange&) const = default;
};

constexpr uint32_t FingerprintOf(uint64_t hash) {
  return static_cast<uint32_t>(hash) & verify::kFingerprintMask;
}

constexpr uint64_t HomeOf(uint64_t hash, uint64_t bucket_count) {
  return Scale(hash, bucket_count);
}

// The three buckets of a key, [0] its home. They are always different buckets, so a bucket index
// tells the way.
constexpr std::array<uint64_t, kWays> WaysOf(uint64_t hash, uint64_t bucket_count) {
  const uint64_t home = HomeOf(hash, bucket_count);
  const uint64_t step1 = 1 + Scale(verify::Mix(hash), bucket_count - 1);
  uint64_t step2 = 1 + Scale(verify::Mix(hash + 0x9e3779b97f4a7c15), bucket_count - 2);
  if (step2 >= step1) ++step2;
  const auto wrap = [bucket_count](uint64_t index) {
    return index < bucket_count ? index : index - bucket_count;
  };
  return {home, wrap(home + step1), wrap(home + step2)};
}

// Which of the three a bucket is; kWays when it is none of them.
constexpr uint32_t WayOf(const std::array<uint64_t, kWays>& ways, uint64_t index) {
  return static_cast<uint32_t>(std::ranges::find(ways, index) - ways.begin());
}

}  // namespace plov::cuckoo
