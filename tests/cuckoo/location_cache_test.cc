#include "cuckoo/location_cache.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <vector>

namespace plov::cuckoo {
namespace {

constexpr size_t kSetBytes = 2 * sizeof(Location);

Location LocationOf(uint64_t hash, uint64_t offset = 4096) { return {hash, 7, offset, 48, 0}; }

// The n-th hash of a set; the sets are chosen by the bits from bit 7 on.
constexpr uint64_t HashInSet(uint64_t set, uint64_t n) { return n << 40 | set << 7 | 1; }

TEST(LocationCache, RemembersEveryField) {
  LocationCache cache(4096);
  EXPECT_EQ(cache.Find(99), nullptr);
  cache.Remember({99, 1, 2, 3, 4});
  const Location* found = cache.Find(99);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->hash, 99u);
  EXPECT_EQ(found->version, 1u);
  EXPECT_EQ(found->offset, 2u);
  EXPECT_EQ(found->bytes, 3u);
  EXPECT_EQ(found->generation, 4u);
  EXPECT_TRUE(found->is_record());
  cache.Prefetch(99);
  cache.Remember({99, 0, 5, 1, 4});
  ASSERT_NE(cache.Find(99), nullptr);
  EXPECT_EQ(cache.Find(99)->offset, 5u) << "the newer location counts";
  EXPECT_FALSE(cache.Find(99)->is_record());
}

// Counts what it holds: a cache of n sets cannot hold more than 2n, and holds that much.
TEST(LocationCache, HoldsWhatFitsInItsMemoryAndNoMore) {
  for (const size_t bytes : {size_t{64}, size_t{127}, size_t{128}, size_t{4096}, size_t{6000}}) {
    LocationCache cache(bytes);
    const size_t set_count = std::bit_floor(bytes / kSetBytes);
    for (uint64_t set = 0; set < 4 * set_count; ++set) {
      for (uint64_t n = 1; n <= 3; ++n) cache.Remember(LocationOf(HashInSet(set, n)));
    }
    size_t held = 0;
    for (uint64_t set = 0; set < 4 * set_count; ++set) {
      for (uint64_t n = 1; n <= 3; ++n) held += cache.Find(HashInSet(set, n)) != nullptr;
    }
    EXPECT_EQ(held, 2 * set_count) << bytes;
  }
}

TEST(LocationCache, ZeroBytesRememberNothing) {
  for (const size_t bytes : {size_t{0}, size_t{1}, kSetBytes - 1}) {
    LocationCache cache(bytes);
    cache.Prefetch(1);
    cache.Remember(LocationOf(1));
    EXPECT_EQ(cache.Find(1), nullptr);
    EXPECT_EQ(cache.Find(0), nullptr);
    cache.Forget(1);
    cache.Clear();
  }
}

TEST(LocationCache, AFullSetForgetsItsOlderEntry) {
  LocationCache cache(64 * kSetBytes);
  cache.Remember(LocationOf(HashInSet(5, 1)));
  cache.Remember(LocationOf(HashInSet(5, 2)));
  EXPECT_NE(cache.Find(HashInSet(5, 1)), nullptr);
  EXPECT_NE(cache.Find(HashInSet(5, 2)), nullptr);
  cache.Remember(LocationOf(HashInSet(5, 1)));  // now the younger
  cache.Remember(LocationOf(HashInSet(5, 3)));
  EXPECT_NE(cache.Find(HashInSet(5, 1)), nullptr);
  EXPECT_EQ(cache.Find(HashInSet(5, 2)), nullptr);
  EXPECT_NE(cache.Find(HashInSet(5, 3)), nullptr);
}

TEST(LocationCache, EvictsWithinTheSetOnly) {
  constexpr uint64_t kSets = 64;
  LocationCache cache(kSets * kSetBytes);
  for (uint64_t set = 0; set < kSets; ++set) cache.Remember(LocationOf(HashInSet(set, 1)));
  for (uint64_t n = 2; n < 100; ++n) cache.Remember(LocationOf(HashInSet(9, n)));
  for (uint64_t set = 0; set < kSets; ++set) {
    EXPECT_EQ(cache.Find(HashInSet(set, 1)) != nullptr, set != 9) << set;
  }
}

// Zero marks the free entry, so a key whose hash is 0 is looked up at its home each time.
TEST(LocationCache, HashZeroIsNeverRemembered) {
  LocationCache cache(kSetBytes);  // one set: every other hash lies beside it
  cache.Remember(LocationOf(0));
  EXPECT_EQ(cache.Find(0), nullptr);
  cache.Remember(LocationOf(1));
  EXPECT_EQ(cache.Find(0), nullptr) << "the free entry beside a used one";
  cache.Remember(LocationOf(2));
  EXPECT_EQ(cache.Find(0), nullptr);
  cache.Remember(LocationOf(0));
  EXPECT_NE(cache.Find(1), nullptr);
  EXPECT_NE(cache.Find(2), nullptr);
}

TEST(LocationCache, ForgetsOneKeyOnly) {
  LocationCache cache(kSetBytes);
  for (const uint64_t forgotten : {1u, 2u}) {
    cache.Remember(LocationOf(1));
    cache.Remember(LocationOf(2));
    cache.Forget(3);
    cache.Forget(forgotten);
    EXPECT_EQ(cache.Find(forgotten), nullptr);
    EXPECT_NE(cache.Find(3 - forgotten), nullptr);
  }
}

TEST(LocationCache, AFreeEntryIsUsedBeforeAnotherIsForgotten) {
  LocationCache cache(kSetBytes);
  cache.Remember(LocationOf(1));
  cache.Remember(LocationOf(2));
  cache.Forget(2);
  cache.Remember(LocationOf(3));
  EXPECT_NE(cache.Find(1), nullptr);
  EXPECT_NE(cache.Find(3), nullptr);
}

TEST(LocationCache, ClearForgetsEverything) {
  LocationCache cache(64 * kSetBytes);
  for (uint64_t i = 1; i <= 1000; ++i) cache.Remember(LocationOf(i * 0x9e3779b97f4a7c15));
  cache.Clear();
  for (uint64_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(cache.Find(i * 0x9e3779b97f4a7c15), nullptr);
  }
}

// A cache may forget at any time but never answers with another key's location or an old one.
TEST(LocationCache, OnlyTheLastLocationOfAKeyIsFound) {
  LocationCache cache(16 * kSetBytes);
  std::vector<uint64_t> last(100);
  std::mt19937_64 random(1);
  for (uint64_t round = 1; round < 200'000; ++round) {
    const uint64_t key = random() % last.size();
    const uint64_t hash = (key + 1) * 0x9e3779b97f4a7c15;
    switch (random() % 4) {
      case 0:
        cache.Remember(LocationOf(hash, round));
        last[key] = round;
        break;
      case 1:
        cache.Forget(hash);
        last[key] = 0;
        break;
      default:
        if (const Location* found = cache.Find(hash)) {
          ASSERT_EQ(found->hash, hash);
          ASSERT_EQ(found->offset, last[key]);
        }
    }
  }
}

}  // namespace
}  // namespace plov::cuckoo
