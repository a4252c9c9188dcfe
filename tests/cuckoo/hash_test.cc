#include "cuckoo/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace plov::cuckoo {
namespace {

constexpr uint64_t kSeed = 0x0123456789abcdef;
constexpr uint64_t kBucketCounts[] = {
    8, 9, 10, 13, 16, 17, 1000, 1 << 20, 1ull << 32, (1ull << 33) + 5, 1ull << 57};

std::vector<uint64_t> Hashes(size_t count) {
  std::vector<uint64_t> hashes{0, 1, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1};
  for (size_t i = 0; i < count; ++i) hashes.push_back(HashKey("key" + std::to_string(i), kSeed));
  return hashes;
}

// Pearson's statistic less its mean, in standard deviations: over 6 is no accident.
double Unevenness(const std::vector<uint64_t>& counts) {
  double total = 0, square = 0;
  for (const uint64_t count : counts) total += static_cast<double>(count);
  const double expected = total / static_cast<double>(counts.size());
  for (const uint64_t count : counts) {
    const double off = static_cast<double>(count) - expected;
    square += off * off / expected;
  }
  const double freedom = static_cast<double>(counts.size() - 1);
  return (square - freedom) / std::sqrt(2 * freedom);
}

TEST(Hash, TheThreeBucketsAreAlwaysDifferentAndInTheTable) {
  const auto hashes = Hashes(50'000);
  for (const uint64_t bucket_count : kBucketCounts) {
    for (const uint64_t hash : hashes) {
      const auto [home, second, third] = WaysOf(hash, bucket_count);
      ASSERT_TRUE(home != second && home != third && second != third)
          << bucket_count << " " << hash;
      ASSERT_TRUE(home < bucket_count && second < bucket_count && third < bucket_count);
      ASSERT_EQ(home, HomeOf(hash, bucket_count));
    }
  }
}

TEST(Hash, HomeSplitsInTwoWhenTheTableDoubles) {
  const auto hashes = Hashes(50'000);
  for (const uint64_t bucket_count : kBucketCounts) {
    std::set<uint64_t> halves;
    for (const uint64_t hash : hashes) {
      const uint64_t home = HomeOf(hash, bucket_count);
      const uint64_t doubled = HomeOf(hash, 2 * bucket_count);
      ASSERT_EQ(doubled / 2, home) << bucket_count << " " << hash;
      halves.insert(doubled % 2);
    }
    EXPECT_EQ(halves.size(), 2u) << bucket_count;
  }
}

TEST(Hash, HomesKeepTheOrderOfHashes) {
  auto hashes = Hashes(10'000);
  std::ranges::sort(hashes);
  for (const uint64_t bucket_count : kBucketCounts) {
    for (size_t i = 1; i < hashes.size(); ++i) {
      ASSERT_LE(HomeOf(hashes[i - 1], bucket_count), HomeOf(hashes[i], bucket_count));
    }
    EXPECT_EQ(HomeOf(0, bucket_count), 0u);
    EXPECT_EQ(HomeOf(~uint64_t{0}, bucket_count), bucket_count - 1);
  }
}

TEST(Hash, EveryWaySpreadsEvenly) {
  for (const uint64_t bucket_count : {8u, 100u, 256u}) {
    std::array<std::vector<uint64_t>, kWays> counts;
    counts.fill(std::vector<uint64_t>(bucket_count));
    for (const uint64_t hash : Hashes(200'000)) {
      const auto ways = WaysOf(hash, bucket_count);
      for (size_t way = 0; way < kWays; ++way) ++counts[way][ways[way]];
    }
    for (const auto& way : counts) EXPECT_LT(Unevenness(way), 6) << bucket_count;
  }
}

// What a cuckoo table lives on: that the three buckets of a key are three choices, not one.
TEST(Hash, EveryTripleOfBucketsIsAsLikely) {
  constexpr uint64_t kBucketCount = 8;
  std::map<std::array<uint64_t, kWays>, uint64_t> triples;
  for (const uint64_t hash : Hashes(200'000)) ++triples[WaysOf(hash, kBucketCount)];
  EXPECT_EQ(triples.size(), kBucketCount * (kBucketCount - 1) * (kBucketCount - 2));
  std::vector<uint64_t> counts;
  for (const auto& [triple, count] : triples) counts.push_back(count);
  EXPECT_LT(Unevenness(counts), 6);
}

TEST(Hash, FingerprintsAndShardsAreEvenWithinAHome) {
  constexpr uint64_t kBucketCount = 8;
  constexpr uint32_t kShardCount = 5;
  std::vector<uint64_t> counts(kBucketCount * kShardCount * (verify::kFingerprintMask + 1));
  for (const uint64_t hash : Hashes(400'000)) {
    const uint32_t shard = ShardOf(hash, kShardCount);
    const uint32_t fingerprint = FingerprintOf(hash);
    ASSERT_LT(shard, kShardCount);
    ASSERT_LE(fingerprint, verify::kFingerprintMask);
    ++counts[(HomeOf(hash, kBucketCount) * kShardCount + shard) * (verify::kFingerprintMask + 1) +
             fingerprint];
  }
  EXPECT_LT(Unevenness(counts), 6);
}

TEST(Hash, OneShardTakesEverything) {
  for (const uint64_t hash : Hashes(1000)) ASSERT_EQ(ShardOf(hash, 1), 0u);
}

TEST(Hash, SeedAndEveryByteOfTheKeyCount) {
  std::string key(40, 'k');
  std::set<uint64_t> hashes{HashKey(key, kSeed), HashKey(key, kSeed + 1), HashKey(key, 0)};
  for (size_t i = 0; i < key.size(); ++i) {
    std::string other = key;
    other[i] = '\0';
    hashes.insert(HashKey(other, kSeed));
    hashes.insert(HashKey(key.substr(0, i), kSeed));
  }
  EXPECT_EQ(hashes.size(), 3 + 2 * key.size());
}

// Clients and servers of different builds must agree, and recovery reads tables of former builds.
TEST(Hash, GoldenPlacement) {
  struct Golden {
    const char* key;
    uint64_t hash;
    uint32_t shard_of_16, fingerprint;
    std::array<uint64_t, kWays> ways_of_8, ways_of_million;
  };
  const Golden goldens[] = {
      {"", 0x425cef84b7b192d7, 11, 87, {2, 1, 5}, {259230, 253164, 724175}},
      {"a", 0x53937773d64e3507, 13, 7, {2, 4, 3}, {326468, 589501, 401443}},
      {"pilaf", 0x9ad65fa8a1b47b47, 10, 71, {4, 7, 1}, {604833, 931314, 192868}},
      {"a key of more than 16 bytes",
       0x686668f7f98fb743,
       15,
       67,
       {3, 0, 1},
       {407812, 986780, 133833}},
      {"a key of more than 32 bytes, of those that are rare",
       0x6878d018075c004c,
       0,
       76,
       {3, 1, 2},
       {408093, 221439, 287192}},
      {"a key of more than 64 bytes, which takes two blocks: its first 64 bytes, and the rest of "
       "it",
       0x8cf5171f4eac89ff,
       4,
       127,
       {4, 3, 7},
       {550614, 421585, 994473}},
  };
  for (const Golden& golden : goldens) {
    const uint64_t hash = HashKey(golden.key, kSeed);
    EXPECT_EQ(hash, golden.hash) << golden.key;
    EXPECT_EQ(ShardOf(hash, 16), golden.shard_of_16) << golden.key;
    EXPECT_EQ(FingerprintOf(hash), golden.fingerprint) << golden.key;
    EXPECT_EQ(WaysOf(hash, 8), golden.ways_of_8) << golden.key;
    EXPECT_EQ(WaysOf(hash, 1'000'000), golden.ways_of_million) << golden.key;
  }
}

}  // namespace
}  // namespace plov::cuckoo
