#include "verify/superblock.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/verify/tears.h"
#include "verify/seal.h"

namespace plov::verify {
namespace {

using Words = std::array<uint64_t, sizeof(Superblock) / kWordBytes>;

Superblock Small() {
  Superblock superblock{};
  superblock.version = 7;
  superblock.incarnation = 0x1122334455667788;
  superblock.hash_seed = 0x99aabbccddeeff00;
  superblock.region_bytes = 1 << 24;
  superblock.shard = 1;
  superblock.shard_count = 4;
  superblock.value_bytes_max = 1 << 20;
  superblock.clock_offset_us = -1'700'000'000'000'000;
  superblock.version_limit = 0x0123456789abcdef;
  superblock.tables[0] = {3, 4096, 1024, 64, 0};
  superblock.tables[1] = {4, 1 << 20, 2048, 128, 0};
  superblock.stash.bytes = 3 * 4096;
  superblock.stash.extents[0] = {5 << 20, 4096};
  superblock.stash.extents[1] = {3 << 20, 4 * 4096};
  SealSuperblock(&superblock);
  return superblock;
}

// Two versions that differ wherever a superblock may, so that no splice amounts to a version.
Superblock Full(uint64_t version) {
  Superblock superblock = Small();
  superblock.version = version;
  superblock.hash_seed = version;
  superblock.region_bytes = (1 << 24) + 8 * version;
  superblock.stash.bytes = 4096 * version;
  for (StashExtent& extent : superblock.stash.extents) extent = {4096 * version, 4096 * version};
  SealSuperblock(&superblock);
  return superblock;
}

Superblock FromImage(std::span<const std::byte> image) {
  Superblock superblock{};
  std::memcpy(&superblock, image.data(), std::min(image.size(), sizeof(superblock)));
  return superblock;
}

bool IsWhole(std::span<const std::byte> image) {
  return CheckSuperblock(FromImage(image)) == SuperblockState::kWhole;
}

// The verdict on Small() with a change that whoever wrote it also sealed.
template <typename Change>
SuperblockState Sealed(Change change) {
  Superblock superblock = Small();
  change(&superblock);
  SealSuperblock(&superblock);
  return CheckSuperblock(superblock);
}

TEST(Superblock, Golden) {
  const Superblock superblock = Small();
  const Image image = ImageOf(&superblock, sizeof(superblock));
  constexpr size_t kHead = 200;
  EXPECT_EQ(ToHex(std::span(image).first(kHead)),
            "58c0f5c15d5b474b 706c6f7673620001 0a00000000100000 0700000000000000 "
            "8877665544332211 00ffeeddccbbaa99 0000000100000000 0100000004000000 "
            "0000100000000000 00c0e1e7dbf5f9ff efcdab8967452301 0000000000000000 "
            "0300000000000000 0010000000000000 0004000000000000 4000000000000000 "
            "0400000000000000 0000100000000000 0008000000000000 8000000000000000 "
            "0030000000000000 0000500000000000 0010000000000000 "
            "0000300000000000 0040000000000000");
  const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
  EXPECT_TRUE(std::all_of(image.begin() + kHead, image.end(), is_zero));
}

TEST(Superblock, MagicReadsAsTextInMemory) {
  EXPECT_EQ(std::memcmp(&kSuperblockMagic, "plovsb\0\1", 8), 0);
}

TEST(Superblock, StoreAndCopyRoundTrip) {
  for (const Superblock& superblock : {Small(), Full(1)}) {
    std::vector<uint64_t> shared(2 * kPageBytes / kWordBytes, 0xeeeeeeeeeeeeeeee);
    StoreSuperblock(shared.data(), superblock);
    for (const size_t offset : {size_t{0}, kMirrorOffset}) {
      Superblock copy;
      CopyFromShared(&copy, shared.data() + offset / kWordBytes, sizeof(copy));
      EXPECT_EQ(CheckSuperblock(copy), SuperblockState::kWhole);
      EXPECT_EQ(std::memcmp(&copy, &superblock, sizeof(copy)), 0);
      EXPECT_EQ(shared[(offset + sizeof(copy)) / kWordBytes], 0xeeeeeeeeeeeeeeee)
          << "wrote past its end";
    }
  }
}

TEST(Superblock, ZeroMemoryIsTorn) {
  EXPECT_EQ(CheckSuperblock(Superblock{}), SuperblockState::kTorn);
}

TEST(Superblock, EveryByteChangeIsRejected) {
  const Superblock superblock = Full(1);
  EXPECT_TRUE(RejectsEveryByteChange(ImageOf(&superblock, sizeof(superblock)), IsWhole,
                                     {.every_value = false}));
}

TEST(Superblock, EverySpliceIsRejected) {
  const Superblock before = Full(1), after = Full(2);
  EXPECT_TRUE(RejectsEverySplice(ImageOf(&before, sizeof(before)), ImageOf(&after, sizeof(after)),
                                 IsWhole));
}

// "Read it again" is the only right answer to a tear: the others end the connection.
TEST(Superblock, EverySpliceIsTorn) {
  const Superblock before = Full(1), after = Full(2);
  const Image old_image = ImageOf(&before, sizeof(before));
  const Image new_image = ImageOf(&after, sizeof(after));
  for (size_t at = kWordBytes; at < sizeof(Superblock); at += kWordBytes) {
    for (const auto& [head, tail] : {std::pair(old_image, new_image), {new_image, old_image}}) {
      Image spliced = tail;
      std::copy_n(head.begin(), at, spliced.begin());
      EXPECT_EQ(CheckSuperblock(FromImage(spliced)), SuperblockState::kTorn) << at;
    }
  }
}

TEST(Superblock, AShortenedOneIsRejected) {
  const Superblock superblock = Full(1);
  const Image image = ImageOf(&superblock, sizeof(superblock));
  for (size_t bytes = 0; bytes < image.size(); bytes += kWordBytes) {
    EXPECT_FALSE(IsWhole(std::span(image).first(bytes))) << bytes;
  }
}

// The first superblock goes into zeroed memory while clients may already look at it; its words
// become visible in any order, and the seal need not be the last that a network card reads.
TEST(Superblock, AFirstOneStillBeingWrittenIsTorn) {
  const Superblock superblock = Small();
  Words words;
  std::memcpy(words.data(), &superblock, sizeof(superblock));
  constexpr size_t kHead = 10;  // checksum, magic, format and what precedes the tables
  for (uint32_t seen = 0; seen < 1u << kHead; ++seen) {
    Words partial{};
    for (size_t i = 0; i < kHead; ++i) {
      if ((seen >> i & 1) != 0) partial[i] = words[i];
    }
    Superblock copy;
    std::memcpy(&copy, partial.data(), sizeof(copy));
    ASSERT_EQ(CheckSuperblock(copy), SuperblockState::kTorn) << "words of mask " << seen;
  }
}

TEST(Superblock, AnotherFormatIsToldFromATear) {
  Superblock superblock = Small();
  superblock.format = kFormatVersion + 1;  // its seal is the other format's business
  EXPECT_EQ(CheckSuperblock(superblock), SuperblockState::kOtherFormat);
}

TEST(Superblock, OtherPagesAreNotPlov) {
  Superblock superblock = Small();
  superblock.magic ^= 1;
  const auto bytes = std::as_bytes(std::span(&superblock, 1)).subspan(kWordBytes);
  superblock.checksum = Checksum(bytes.data(), bytes.size(), kSuperblockSeed);
  EXPECT_EQ(CheckSuperblock(superblock), SuperblockState::kNotPlov);
}

TEST(Superblock, NumbersOfNoShardAreNotPlov) {
  EXPECT_EQ(Sealed([](Superblock*) {}), SuperblockState::kWhole);
  EXPECT_EQ(Sealed([](Superblock* s) { s->incarnation = 0; }), SuperblockState::kNotPlov);
  EXPECT_EQ(Sealed([](Superblock* s) { s->shard = 4; }), SuperblockState::kNotPlov);
  EXPECT_EQ(Sealed([](Superblock* s) { s->shard_count = 0; }), SuperblockState::kNotPlov);
  EXPECT_EQ(Sealed([](Superblock* s) { s->shard_count = 16384; }), SuperblockState::kWhole);
  EXPECT_EQ(Sealed([](Superblock* s) { s->shard_count = 16385; }), SuperblockState::kNotPlov);
  EXPECT_EQ(Sealed([](Superblock* s) { s->tables[0].generation = 0; }), SuperblockState::kNotPlov);
}

TEST(Superblock, ATableOutsideTheRegionIsNotPlov) {
  constexpr uint64_t kRegion = 1 << 24;
  for (const size_t i : {0u, 1u}) {
    const auto with = [i](TableExtent table) {
      return Sealed([&](Superblock* s) {
        s->tables[1].generation = 0;
        s->tables[i] = table;
      });
    };
    EXPECT_EQ(with({5, 0, kRegion / 64, 64, 0}), SuperblockState::kWhole);
    EXPECT_EQ(with({5, 0, kRegion / 128, 128, 0}), SuperblockState::kWhole);
    EXPECT_EQ(with({5, 0, kRegion / 64 + 1, 64, 0}), SuperblockState::kNotPlov);
    EXPECT_EQ(with({5, 8, kRegion / 64, 64, 0}), SuperblockState::kNotPlov);
    EXPECT_EQ(with({5, kRegion - 64 * 8, 8, 64, 0}), SuperblockState::kWhole);
    EXPECT_EQ(with({5, kRegion + 8, 8, 64, 0}), SuperblockState::kNotPlov);
    EXPECT_EQ(with({5, ~uint64_t{7}, 8, 64, 0}), SuperblockState::kNotPlov);
    EXPECT_EQ(with({5, 0, uint64_t{1} << 58, 64, 0}), SuperblockState::kNotPlov);  // wraps to 0
    EXPECT_EQ(with({5, 0, uint64_t{1} << 57, 128, 0}), SuperblockState::kNotPlov);
    EXPECT_EQ(with({5, 4097, 8, 64, 0}), SuperblockState::kNotPlov);
    EXPECT_EQ(with({5, 4096, 7, 64, 0}), SuperblockState::kNotPlov);
    EXPECT_EQ(with({5, 4096, 8, 0, 0}), SuperblockState::kNotPlov);
    EXPECT_EQ(with({5, 4096, 8, 96, 0}), SuperblockState::kNotPlov);
  }
}

TEST(Superblock, ANextTableThatIsNotLaterIsNotPlov) {
  for (const uint64_t generation : {4u, 5u, 6u}) {
    const auto verdict = Sealed([generation](Superblock* s) {
      s->tables[0] = {5, 4096, 8, 64, 0};
      s->tables[1] = {generation, 8192, 16, 64, 0};
    });
    EXPECT_EQ(verdict, generation > 5 ? SuperblockState::kWhole : SuperblockState::kNotPlov);
  }
}

// What is stored in a table has to fit in the next.
TEST(Superblock, TheNextTableHasNoNarrowerBuckets) {
  for (const uint32_t first : {64u, 128u}) {
    for (const uint32_t next : {64u, 128u}) {
      const auto verdict = Sealed([&](Superblock* s) {
        s->tables[0] = {3, 4096 * 4, 16, first, 0};
        s->tables[1] = {4, 4096 * 5, 16, next, 0};
      });
      EXPECT_EQ(verdict, next >= first ? SuperblockState::kWhole : SuperblockState::kNotPlov);
    }
  }
}

TEST(Superblock, NoNextTableIsNoMatter) {
  EXPECT_EQ(Sealed([](Superblock* s) {
              s->tables[1] = {0, ~uint64_t{0}, 1, 1, 0};
            }),
            SuperblockState::kWhole);
}

TEST(Superblock, AStashThatIsNotThereIsNotPlov) {
  constexpr uint64_t kRegion = 1 << 24;
  const auto with = [](uint64_t bytes, StashExtent first, StashExtent last) {
    return Sealed([&](Superblock* s) {
      s->stash = {};
      s->stash.bytes = bytes;
      s->stash.extents.front() = first;
      s->stash.extents.back() = last;
    });
  };
  const auto kWhole = SuperblockState::kWhole, kNotPlov = SuperblockState::kNotPlov;
  EXPECT_EQ(with(0, {}, {}), kWhole);
  EXPECT_EQ(with(4096, {}, {}), kNotPlov);
  EXPECT_EQ(with(8192, {4096, 4096}, {kRegion - 4096, 4096}), kWhole);
  EXPECT_EQ(with(kRegion, {0, kRegion}, {}), kWhole);
  EXPECT_EQ(with(8192, {4096, 4096}, {kRegion, 4096}), kNotPlov);
  EXPECT_EQ(with(12288, {4096, 4096}, {8192, 4096}), kNotPlov);
  EXPECT_EQ(with(4104, {4096, 8192}, {}), kNotPlov);
  EXPECT_EQ(with(4096, {4104, 8192}, {}), kNotPlov);
  EXPECT_EQ(with(4096, {4096, 8200}, {}), kNotPlov);
  EXPECT_EQ(with(4096, {~uint64_t{4095}, 4096}, {}), kNotPlov);
  EXPECT_EQ(with(4096, {4096, ~uint64_t{4095}}, {}), kNotPlov);
  EXPECT_EQ(with(4096, {0, kRegion}, {0, 4096}), kNotPlov);
}

}  // namespace
}  // namespace plov::verify
