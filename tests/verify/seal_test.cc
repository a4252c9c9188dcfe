#include "verify/seal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

namespace plov::verify {
namespace {

constexpr uint64_t kIncarnation = 0x1122334455667788;

// Both ends of a connection may be built from different versions, so the numbers are pinned. They
// were computed outside this code: the seeds in Python, the checksums by the system's libxxhash.
TEST(Seal, SeedsArePinned) {
  EXPECT_EQ(Mix(1), 0x5692161d100b05e5u);
  EXPECT_EQ(Mix(0x9e3779b97f4a7c15), 0xe220a8397b1dcdafu);
  EXPECT_EQ(TableSeed(kIncarnation, 3), 0xdd5a2b26028d5125u);
  EXPECT_EQ(BucketSeed(TableSeed(kIncarnation, 3), 41), 0xd2742394e4c5ac97u);
  EXPECT_EQ(RecordSeed(kIncarnation), 0xdb6d184b1d00a229u);
  EXPECT_EQ(MessageSeed(77), 0xc12f0e19f11a6b92u);
  EXPECT_EQ(kSuperblockSeed, 0x706c6f7673757065u);
}

TEST(Seal, ChecksumIsSeededXxh3) {
  std::array<unsigned char, 300> bytes;
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i);
  // One length for each of XXH3's paths.
  EXPECT_EQ(Checksum(bytes.data(), 0, 7), 0x913ae0873e9b7eb8u);
  EXPECT_EQ(Checksum(bytes.data(), 8, 7), 0xdb86d781f5b8bd4au);
  EXPECT_EQ(Checksum(bytes.data(), 56, 7), 0x7f3a0587178f3617u);
  EXPECT_EQ(Checksum(bytes.data(), 120, 7), 0xb071ba5705831beau);
  EXPECT_EQ(Checksum(bytes.data(), 200, 7), 0x68decbfb306ebdf2u);
  EXPECT_EQ(Checksum(bytes.data(), 300, 7), 0xb863d8c6eef5bca4u);
}

TEST(Seal, BucketSeedsOfOneTableAreDistinct) {
  const uint64_t table = TableSeed(kIncarnation, 1);
  std::vector<uint64_t> seeds;
  for (uint64_t index = 0; index < 1'000'000; ++index) seeds.push_back(BucketSeed(table, index));
  for (int power = 20; power < 64; ++power) {
    seeds.push_back(BucketSeed(table, uint64_t{1} << power));
  }
  std::ranges::sort(seeds);
  EXPECT_EQ(std::ranges::adjacent_find(seeds), seeds.end());
}

// Small numbers are the likely ones: generations count from 1, and neighbours differ in one bit.
TEST(Seal, SeedsOfTablesAndLivesAreDistinct) {
  std::set<uint64_t> seeds;
  size_t expected = 0;
  for (uint64_t life = 0; life < 10; ++life) {
    seeds.insert(RecordSeed(kIncarnation ^ life));
    ++expected;
    for (uint64_t generation = 0; generation < 10; ++generation) {
      for (uint64_t index = 0; index < 100; ++index, ++expected) {
        seeds.insert(BucketSeed(TableSeed(kIncarnation ^ life, generation), index));
      }
    }
  }
  EXPECT_EQ(seeds.size(), expected);
}

TEST(Seal, MessageSeedsOfClientsAreDistinct) {
  std::set<uint64_t> seeds;
  for (uint64_t client = 0; client < 10'000; ++client) seeds.insert(MessageSeed(client));
  EXPECT_EQ(seeds.size(), 10'000u);
}

TEST(Seal, ZerosNeverHaveAZeroChecksum) {
  const std::array<std::byte, 4088> zeros{};
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t seed = i == 0 ? 0 : random();
    for (const size_t bytes : {size_t{24}, size_t{32}, size_t{56}, size_t{120}}) {
      ASSERT_NE(Checksum(zeros.data(), bytes, seed), 0u) << "seed " << seed;
    }
  }
  EXPECT_NE(Checksum(zeros.data(), zeros.size(), kSuperblockSeed), 0u);
}

}  // namespace
}  // namespace plov::verify
