// Record areas: blocks and runs, what they hold and give back. Cleaning: record_clean_test.cc.
#include "server/record_area.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/server/area_world.h"
#include "tests/server/no_memory.h"

namespace plov::server {
namespace {

constexpr size_t kRecordBytesMin = verify::RecordBytes(1, 0);

std::vector<size_t> SizesOfRecords() {
  std::vector<size_t> sizes;
  for (size_t bytes = kRecordBytesMin; bytes < verify::kRecordBytesMax; bytes = bytes * 5 / 4 + 1) {
    sizes.push_back(bytes);
  }
  sizes.push_back(verify::kRecordBytesMax);
  return sizes;
}

TEST(RecordArea, EverySizeOfRecordIsAlignedDisjointAndWritable) {
  AreaWorld world(256 * kMiB);
  for (const size_t bytes : SizesOfRecords()) {
    const auto version = world.Put(bytes);
    ASSERT_TRUE(version.has_value()) << bytes;
    EXPECT_EQ(world.owned().at(*version).offset % verify::kWordBytes, 0u);
  }
  EXPECT_TRUE(world.IsSound());
}

TEST(RecordArea, BlocksAreAPartOfTheBudgetWithinLimits) {
  EXPECT_EQ(RecordArea::BlockBytesFor(kMiB), size_t{128} << 10);
  EXPECT_EQ(RecordArea::BlockBytesFor(16 * kMiB), size_t{256} << 10);
  EXPECT_EQ(RecordArea::BlockBytesFor(63 * kMiB), size_t{512} << 10);
  EXPECT_EQ(RecordArea::BlockBytesFor(1024 * kMiB), kMiB);
}

TEST(RecordArea, RecordsStaySoundUnderRandomChurn) {
  AreaWorld world(64 * kMiB);
  std::mt19937_64 random(1);
  const std::vector<size_t> sizes = SizesOfRecords();
  uint64_t refused = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (!world.owned().empty() && random() % 100 < 48) {
      auto any = world.owned().lower_bound(random() % static_cast<uint64_t>(step + 1));
      world.Remove(any == world.owned().end() ? world.owned().begin()->first : any->first);
      continue;
    }
    // Small sizes more often, or a few large ones would take all.
    const size_t bytes = sizes[std::min(random() % sizes.size(), random() % sizes.size())];
    refused += world.Put(bytes) ? 0 : 1;
    if (step % 1000 == 0) {
      ASSERT_TRUE(world.IsSound()) << "step " << step;
    }
    if (step % 10 == 0) world.Clean(10'000);
  }
  EXPECT_GT(refused, 0u) << "never full: the test is too small";
  EXPECT_TRUE(world.IsSound());
  world.RemoveAll();
  EXPECT_EQ(world.area().allocated_bytes(), 0u);
  EXPECT_EQ(world.area().used_bytes(), 0u);
  EXPECT_EQ(world.memory().used_bytes(), kPageBytes);
}

TEST(RecordArea, BytesBeforeTheMemoryAreNeverTouched) {
  AreaWorld world(32 * kMiB, 17 * kMiB);
  world.Fill(1000);
  world.RemoveAll();
  EXPECT_EQ(world.region().CommittedIn(0, 17 * kMiB), 0u);
}

// Until its owner has written it, memory reads as a record that is neither whole nor live and has
// the right length, whatever was there.
TEST(RecordArea, FreshRecordHasADeadHead) {
  for (const size_t bytes : {size_t{41}, size_t{1000}, size_t{100'000}}) {
    AreaWorld world;
    uint64_t offset = 0;
    for (int round = 0; round < 2; ++round) {
      const auto version = world.Put(bytes);
      const uint64_t former = std::exchange(offset, world.owned().at(*version).offset);
      if (round == 1) {
        ASSERT_EQ(offset, former) << "the test needs the same place";
      }
      world.Remove(*version);
    }
    const auto fresh = world.area().Allocate(bytes);
    ASSERT_EQ(fresh, offset);
    const verify::OwnHead head = verify::OwnRecordHead(world.region().data(), offset);
    EXPECT_FALSE(head.live);
    EXPECT_EQ(head.version, 0u);
    EXPECT_EQ(head.record_bytes, bytes);
    EXPECT_FALSE(verify::CheckRecord({world.region().data() + offset, bytes}, kAreaSeed));
  }
}

// 0 when the area refuses once the machine has no more memory, and goes on with what it has.
int AllocateWithoutMemory() {
  AreaWorld world(64 * kMiB);
  const uint64_t version = world.Put(1000).value();
  LetCommitsFail();
  const size_t count = world.Fill(1000).size();
  if (count > 2000) return 1;
  if (world.Put(kMiB)) return 2;
  world.RemoveAll();
  if (world.area().used_bytes() != 0) return 3;
  return version != 0 && world.Put(1000) ? 0 : 4;
}

TEST(RecordAreaDeathTest, AllocationWithoutMemoryIsRefused) {
  EXPECT_EXIT(::_exit(AllocateWithoutMemory()), ::testing::ExitedWithCode(0), "");
}

class RecordAreaOfSize : public ::testing::TestWithParam<size_t> {};

TEST_P(RecordAreaOfSize, MostOfTheMemoryIsRecordsBeforeItIsFull) {
  AreaWorld world(64 * kMiB);
  world.Fill(GetParam());
  EXPECT_GE(world.area().allocated_bytes(), 64 * kMiB * 94 / 100);
}

TEST_P(RecordAreaOfSize, WhatWasFreedCanBeAllocatedAgain) {
  AreaWorld world(32 * kMiB);
  const size_t first = world.Fill(GetParam()).size();
  for (int round = 0; round < 3; ++round) {
    world.RemoveAll();
    EXPECT_EQ(world.area().allocated_bytes(), 0u);
    EXPECT_EQ(world.memory().used_bytes(), kPageBytes);
    EXPECT_EQ(world.Fill(GetParam()).size(), first);
  }
}

INSTANTIATE_TEST_SUITE_P(RecordArea, RecordAreaOfSize,
                         ::testing::Values(48, 129, 321, 1025, 4096, 12'288, 33'000, 70'000,
                                           1'000'000));

TEST(RecordArea, FullAreaSaysSoAndGoesOnServing) {
  AreaWorld world;
  const std::vector<uint64_t> versions = world.Fill(100'000);
  ASSERT_FALSE(versions.empty());
  EXPECT_FALSE(world.Put(100'000));
  EXPECT_FALSE(world.Put(verify::kRecordBytesMax));
  world.Remove(versions[3]);
  EXPECT_TRUE(world.Put(100'000));
  EXPECT_TRUE(world.IsSound());
}

TEST(RecordArea, MemoryOfSmallRecordsServesLargeOnes) {
  AreaWorld world(64 * kMiB);
  world.Fill(64);
  world.RemoveAll();
  EXPECT_GE(world.Fill(kMiB).size(), 60u);
}

TEST(RecordArea, ClosedBlockIsGivenBackAsSoonAsNothingLivesInIt) {
  AreaWorld world;
  const size_t block = world.area().block_bytes();
  std::vector<uint64_t> versions;
  while (world.area().used_bytes() < 4 * block) versions.push_back(world.Put(1000).value());
  // Spare, two closed ones, an open one.
  const size_t per_block = block / RecordArea::PlacedBytes(1000);
  for (size_t i = 0; i + 1 < per_block; ++i) world.Remove(versions[i]);
  EXPECT_EQ(world.area().used_bytes(), 4 * block);
  world.Remove(versions[per_block - 1]);
  EXPECT_EQ(world.area().used_bytes(), 3 * block);
  EXPECT_TRUE(world.IsSound());
}

// One item that is written over and over needs no second block.
TEST(RecordArea, OpenBlockBeginsAnewWhenNothingLivesInIt) {
  AreaWorld world;
  const uint64_t kept = world.Put(70'000).value();  // a run, so that the area is not empty
  for (int i = 0; i < 10'000; ++i) world.Remove(world.Put(1000).value());
  EXPECT_LE(world.area().used_bytes(), 2 * world.area().block_bytes() + 72 * 1024);
  world.Remove(kept);
  EXPECT_EQ(world.area().used_bytes(), 0u);
}

TEST(RecordArea, NewRecordsLeaveASpareBlock) {
  for (const size_t bytes : {size_t{1000}, size_t{70'000}}) {
    AreaWorld world;
    world.Fill(bytes);
    EXPECT_TRUE(world.area().MoveTo(1000).has_value())
        << "a moved record has a place, with " << bytes;
    EXPECT_FALSE(world.area().Allocate(world.area().block_bytes() / 16).has_value());
  }
}

TEST(RecordArea, AccountCoversWhatWasAskedFor) {
  AreaWorld world(64 * kMiB);
  size_t asked = 0;
  for (const size_t bytes : {41u, 100u, 1000u, 5000u, 100'000u, 3'000'000u}) {
    world.Put(bytes).value();
    asked += bytes;
    EXPECT_GE(world.area().allocated_bytes(), asked);
    EXPECT_LE(world.area().allocated_bytes(), asked + 2 * kPageBytes);
  }
  EXPECT_TRUE(world.IsSound());
}

// What recovery does: a second area over memory in which the records of a first one lie.
class Adoption : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const size_t bytes : {100u, 3000u, 15'000u, 70'000u, 1'000'000u}) {
      for (int i = 0; i < 50 && former.area().used_bytes() < 12 * kMiB; ++i) former.Put(bytes);
    }
    uint64_t count = 0;
    for (const auto& [version, owned] : former.owned()) {
      if (++count % 3 == 0) kept.push_back(owned);
    }
  }

  AreaWorld former;
  Memory memory{&former.region(), kPageBytes};
  RecordArea area{&former.region(), &memory};
  std::vector<AreaWorld::Owned> kept;
};

TEST_F(Adoption, AdoptedRecordsAreAllocatedAndCanBeFreed) {
  size_t bytes = 0;
  for (const auto& record : kept) {
    ASSERT_TRUE(area.Adopt(record.offset, record.bytes)) << record.bytes;
    bytes += record.bytes;
  }
  EXPECT_GE(area.allocated_bytes(), bytes);
  EXPECT_EQ(memory.used_bytes(), kPageBytes + area.used_bytes());
  for (const auto& record : kept) area.Free(record.offset, record.bytes);
  EXPECT_EQ(area.allocated_bytes(), 0u);
  EXPECT_EQ(memory.used_bytes(), kPageBytes);
}

TEST_F(Adoption, NewRecordsStayClearOfAdoptedOnes) {
  for (const auto& record : kept) ASSERT_TRUE(area.Adopt(record.offset, record.bytes));
  while (const auto offset = area.Allocate(1000)) {
    for (const auto& record : kept) {
      ASSERT_TRUE(*offset >= record.offset + record.bytes || *offset + 1000 <= record.offset);
    }
  }
}

TEST_F(Adoption, WhatCannotBeARecordOfTheAreaIsRefused) {
  const size_t block = area.block_bytes();
  const uint64_t end = former.region().memory().size();
  EXPECT_FALSE(area.Adopt(block + 4, 100)) << "not aligned";
  EXPECT_FALSE(area.Adopt(block + 8, 39)) << "shorter than a head";
  EXPECT_FALSE(area.Adopt(block, verify::kRecordBytesMax + 1));
  EXPECT_FALSE(area.Adopt(2 * block - 96, 100)) << "over the end of a block";
  EXPECT_FALSE(area.Adopt(block + 8, 70'000)) << "a run that begins within a page";
  EXPECT_FALSE(area.Adopt(8, 100)) << "in the superblock's block, which is not free";
  for (const size_t bytes : {size_t{100}, size_t{70'000}}) {
    EXPECT_FALSE(area.Adopt(end, bytes));
    EXPECT_FALSE(area.Adopt(~uint64_t{7}, bytes));
    EXPECT_FALSE(area.Adopt(~uint64_t{kPageBytes - 1}, bytes));
  }
  EXPECT_EQ(area.allocated_bytes(), 0u);
  EXPECT_EQ(memory.used_bytes(), kPageBytes);
  ASSERT_TRUE(area.Adopt(4 * block, 70'000));
  EXPECT_FALSE(area.Adopt(4 * block, 70'000)) << "twice";
  EXPECT_FALSE(area.Adopt(4 * block + 72 * 1024, 100)) << "in a block that a run has begun";
}

}  // namespace
}  // namespace plov::server
