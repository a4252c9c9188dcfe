#include "cuckoo/location_cache.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

namespace plov::cuckoo {
namespace {

constexpr size_t kSetBytes = 64;
constexpr uint64_t kSetLocations = 4;

Location LocationAt(uint64_t offset = 4096) { return Location::Record(offset, 48, 7); }

// The n-th hash of a set; the sets are chosen by the bits from bit 7 on.
constexpr uint64_t HashInSet(uint64_t set, uint64_t n) { return n << 40 | set << 7 | 1; }

// Hashes that differ where the cache looks.
constexpr uint64_t HashOf(uint64_t n) { return n * 0x9e3779b97f4a7c15; }

bool Holds(const LocationCache& cache, uint64_t hash) { return cache.Find(hash).has_value(); }

TEST(LocationCache, RemembersEveryField) {
  LocationCache cache(4096);
  EXPECT_FALSE(Holds(cache, 99));
  constexpr uint64_t kOffset = (uint64_t{1} << 42) - 8;  // the last word of 4 TiB
  const Location record = Location::Record(kOffset, (16u << 20) + 1064, 0x1'2345'6789);
  cache.Remember(99, record);
  EXPECT_EQ(cache.Find(99), record);
  EXPECT_TRUE(cache.Find(99)->is_record);
  EXPECT_EQ(cache.Find(99)->offset, kOffset);
  EXPECT_EQ(cache.Find(99)->bytes, (16u << 20) + 1064);
  EXPECT_EQ(cache.Find(99)->stamp, 0x2345'6789u) << "the low bits of the version";
  cache.Prefetch(99);
  for (uint8_t way = 0; way < 3; ++way) {
    const Location bucket = Location::Bucket(way, 0x7'0000'0004);
    cache.Remember(99, bucket);
    EXPECT_EQ(cache.Find(99), bucket) << "the newer location counts";
    EXPECT_FALSE(cache.Find(99)->is_record);
    EXPECT_EQ(cache.Find(99)->way, way);
    EXPECT_EQ(cache.Find(99)->stamp, 4u);
  }
}

TEST(LocationCache, WhatDoesNotFitIsNotRemembered) {
  LocationCache cache(4096);
  cache.Remember(1, LocationAt(uint64_t{1} << 42));
  EXPECT_FALSE(Holds(cache, 1));
  cache.Remember(1, Location::Record(8, 1u << 25, 7));
  EXPECT_FALSE(Holds(cache, 1));
}

// Counts what it holds: a cache of n sets cannot hold more than 4n, and holds that much.
TEST(LocationCache, HoldsWhatFitsInItsMemoryAndNoMore) {
  for (const size_t bytes : {size_t{64}, size_t{127}, size_t{128}, size_t{4096}, size_t{6000}}) {
    LocationCache cache(bytes);
    const size_t set_count = std::bit_floor(bytes / kSetBytes);
    for (uint64_t set = 0; set < 4 * set_count; ++set) {
      for (uint64_t n = 1; n <= 6; ++n) {
        cache.Remember(HashInSet(set, (set << 3) + n), LocationAt());
      }
    }
    size_t held = 0;
    for (uint64_t set = 0; set < 4 * set_count; ++set) {
      for (uint64_t n = 1; n <= 6; ++n) held += Holds(cache, HashInSet(set, (set << 3) + n));
    }
    EXPECT_EQ(held, kSetLocations * set_count) << bytes;
  }
}

// Large enough for advice on huge pages, which changes nothing but its speed.
TEST(LocationCache, ALargeOneHoldsAsMuch) {
  LocationCache cache(size_t{64} << 20);
  for (uint64_t n = 1; n <= 100'000; ++n) cache.Remember(HashOf(n), LocationAt(n * 8));
  for (uint64_t n = 1; n <= 100'000; ++n) ASSERT_EQ(cache.Find(HashOf(n)), LocationAt(n * 8));
}

TEST(LocationCache, ZeroBytesRememberNothing) {
  for (const size_t bytes : {size_t{0}, size_t{1}, kSetBytes - 1}) {
    LocationCache cache(bytes);
    cache.Prefetch(1);
    cache.Remember(1, LocationAt());
    EXPECT_FALSE(Holds(cache, 1));
    EXPECT_FALSE(Holds(cache, 0));
    cache.Forget(1);
    cache.Clear();
  }
}

TEST(LocationCache, AFullSetForgetsItsOldestEntry) {
  LocationCache cache(64 * kSetBytes);
  for (uint64_t n = 1; n <= 4; ++n) cache.Remember(HashInSet(5, n), LocationAt());
  for (uint64_t n = 1; n <= 4; ++n) EXPECT_TRUE(Holds(cache, HashInSet(5, n))) << n;
  cache.Remember(HashInSet(5, 1), LocationAt());  // now the youngest
  cache.Remember(HashInSet(5, 5), LocationAt());
  EXPECT_FALSE(Holds(cache, HashInSet(5, 2)));
  for (const uint64_t n : {1u, 3u, 4u, 5u}) EXPECT_TRUE(Holds(cache, HashInSet(5, n))) << n;
}

TEST(LocationCache, EvictsWithinTheSetOnly) {
  constexpr uint64_t kSets = 64;
  LocationCache cache(kSets * kSetBytes);
  for (uint64_t set = 0; set < kSets; ++set) cache.Remember(HashInSet(set, 1), LocationAt());
  for (uint64_t n = 2; n < 100; ++n) cache.Remember(HashInSet(9, n), LocationAt());
  for (uint64_t set = 0; set < kSets; ++set) {
    EXPECT_EQ(Holds(cache, HashInSet(set, 1)), set != 9) << set;
  }
}

// Zero is a hash like any other, and free entries are not taken for it.
TEST(LocationCache, HashZeroIsRememberedWhenItIsThere) {
  LocationCache cache(kSetBytes);  // one set: every other hash lies beside it
  EXPECT_FALSE(Holds(cache, 0));
  cache.Remember(HashInSet(0, 1), LocationAt(8));
  EXPECT_FALSE(Holds(cache, 0)) << "the free entries beside a used one";
  cache.Remember(0, LocationAt(16));
  EXPECT_EQ(cache.Find(0), LocationAt(16));
  EXPECT_EQ(cache.Find(HashInSet(0, 1)), LocationAt(8));
  cache.Forget(0);
  EXPECT_FALSE(Holds(cache, 0));
}

TEST(LocationCache, ForgetsOneKeyOnly) {
  LocationCache cache(kSetBytes);
  for (const uint64_t forgotten : {1u, 2u}) {
    cache.Remember(HashOf(1), LocationAt());
    cache.Remember(HashOf(2), LocationAt());
    cache.Forget(HashOf(3));
    cache.Forget(HashOf(forgotten));
    EXPECT_FALSE(Holds(cache, HashOf(forgotten)));
    EXPECT_TRUE(Holds(cache, HashOf(3 - forgotten)));
  }
}

TEST(LocationCache, AFreeEntryIsUsedBeforeAnotherIsForgotten) {
  LocationCache cache(kSetBytes);
  for (uint64_t n = 1; n <= 4; ++n) cache.Remember(HashOf(n), LocationAt());
  cache.Forget(HashOf(2));
  cache.Remember(HashOf(5), LocationAt());
  for (const uint64_t n : {1u, 3u, 4u, 5u}) EXPECT_TRUE(Holds(cache, HashOf(n))) << n;
}

TEST(LocationCache, ClearForgetsEverything) {
  LocationCache cache(64 * kSetBytes);
  for (uint64_t n = 1; n <= 1000; ++n) cache.Remember(HashOf(n), LocationAt());
  cache.Clear();
  for (uint64_t n = 1; n <= 1000; ++n) ASSERT_FALSE(Holds(cache, HashOf(n)));
}

// A cache may forget at any time but never answers with another key's location or an old one.
TEST(LocationCache, OnlyTheLastLocationOfAKeyIsFound) {
  LocationCache cache(16 * kSetBytes);
  std::vector<uint64_t> last(200);
  std::mt19937_64 random(1);
  for (uint64_t round = 1; round < 200'000; ++round) {
    const uint64_t key = random() % last.size();
    const uint64_t hash = HashOf(key + 1);
    switch (random() % 4) {
      case 0:
        cache.Remember(hash, LocationAt(round * 8));
        last[key] = round * 8;
        break;
      case 1:
        cache.Forget(hash);
        last[key] = 0;
        break;
      default:
        if (const auto found = cache.Find(hash)) {
          ASSERT_EQ(found->offset, last[key]);
        }
    }
  }
}

}  // namespace
}  // namespace plov::cuckoo
