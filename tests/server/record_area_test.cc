// Record areas: a jemalloc arena that lives in one region and nowhere else.
#include "server/record_area.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/server/no_memory.h"
#include "verify/record.h"

namespace plov::server {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kRecordBytesMin = verify::RecordBytes(1, 0);

// A region and an area that leaves its first `begin` bytes alone.
class World {
 public:
  explicit World(size_t bytes, size_t begin = 64 * kPageBytes)
      : begin_(begin), region_(*Region::Create(bytes, PageKind::kNormal)) {
    auto area = RecordArea::Create(&region_, begin);
    EXPECT_TRUE(area.has_value());
    area_ = std::move(*area);
  }

  RecordArea& area() { return *area_; }
  Region& region() { return region_; }
  size_t begin() const { return begin_; }

  // Allocates until memory is full.
  std::vector<uint64_t> Fill(size_t record_bytes) {
    std::vector<uint64_t> offsets;
    while (const auto offset = area_->Allocate(record_bytes)) offsets.push_back(*offset);
    return offsets;
  }

  void FreeAll(const std::vector<uint64_t>& offsets) {
    for (const uint64_t offset : offsets) area_->Free(offset);
  }

 private:
  size_t begin_;
  Region region_;
  std::unique_ptr<RecordArea> area_;
};

// Live allocations by offset; says what is wrong with another one.
class Layout {
 public:
  Layout(size_t begin, size_t end) : begin_(begin), end_(end) {}

  ::testing::AssertionResult Add(uint64_t offset, size_t bytes) {
    if (offset % verify::kWordBytes != 0) return ::testing::AssertionFailure() << "not aligned";
    if (offset < begin_ || offset + bytes > end_) {
      return ::testing::AssertionFailure() << "outside the area: " << offset << " + " << bytes;
    }
    const auto next = taken_.lower_bound(offset);
    if (next != taken_.end() && next->first < offset + bytes) {
      return ::testing::AssertionFailure() << "overlaps the next";
    }
    if (next != taken_.begin() && std::prev(next)->first + std::prev(next)->second > offset) {
      return ::testing::AssertionFailure() << "overlaps the one before";
    }
    taken_[offset] = bytes;
    return ::testing::AssertionSuccess();
  }
  void Remove(uint64_t offset) { taken_.erase(offset); }

 private:
  size_t begin_, end_;
  std::map<uint64_t, size_t> taken_;
};

std::vector<size_t> SizesOfRecords() {
  std::vector<size_t> sizes;
  for (size_t bytes = kRecordBytesMin; bytes < verify::kRecordBytesMax; bytes = bytes * 5 / 4 + 1) {
    sizes.push_back(bytes);
  }
  sizes.push_back(verify::kRecordBytesMax);
  return sizes;
}

TEST(RecordArea, EverySizeOfRecordIsInsideAlignedAndDisjoint) {
  World world(256 * kMiB);
  Layout layout(world.begin(), world.region().memory().size());
  for (const size_t bytes : SizesOfRecords()) {
    const auto offset = world.area().Allocate(bytes);
    ASSERT_TRUE(offset.has_value()) << bytes;
    EXPECT_TRUE(layout.Add(*offset, bytes)) << bytes;
    world.region().data()[*offset] = world.region().data()[*offset + bytes - 1] = std::byte{1};
  }
}

TEST(RecordArea, AllocationsStayDisjointUnderRandomChurn) {
  World world(64 * kMiB);
  Layout layout(world.begin(), world.region().memory().size());
  std::mt19937_64 random(1);
  const std::vector<size_t> sizes = SizesOfRecords();
  std::vector<uint64_t> live;
  uint64_t refused = 0;
  for (int step = 0; step < 40'000; ++step) {
    if (!live.empty() && random() % 100 < 48) {
      std::swap(live[random() % live.size()], live.back());
      layout.Remove(live.back());
      world.area().Free(live.back());
      live.pop_back();
      continue;
    }
    // Small sizes more often, or a few large ones would take all.
    const size_t bytes = sizes[std::min(random() % sizes.size(), random() % sizes.size())];
    const auto offset = world.area().Allocate(bytes);
    refused += offset ? 0 : 1;
    if (!offset) continue;
    ASSERT_TRUE(layout.Add(*offset, bytes)) << "step " << step;
    live.push_back(*offset);
  }
  EXPECT_GT(refused, 0u) << "never full: the test is too small";
  world.FreeAll(live);
  EXPECT_EQ(world.area().allocated_bytes(), 0u);
}

TEST(RecordArea, BytesBeforeTheAreaAreNeverTouched) {
  World world(32 * kMiB, 17 * kMiB);
  world.FreeAll(world.Fill(1000));
  const auto before = world.region().memory().first(world.begin());
  EXPECT_TRUE(std::ranges::all_of(before, [](std::byte b) { return b == std::byte{0}; }));
}

TEST(RecordArea, EveryRecordLiesInCommittedMemory) {
  World world(16 * kMiB);
  world.Fill(1000);
  EXPECT_GE(world.region().committed_bytes(), world.area().allocated_bytes());
}

// 0 when the area refuses once the machine has no more memory, and goes on with what it has.
int AllocateWithoutMemory() {
  World world(64 * kMiB);
  const uint64_t offset = world.area().Allocate(1000).value();
  LetFallocateFail();
  world.Fill(1000);
  if (world.area().allocated_bytes() > 32 * kMiB) return 1;
  world.area().Free(offset);
  return world.area().Allocate(1000) ? 0 : 2;
}

TEST(RecordAreaDeathTest, AllocationWithoutMemoryIsRefused) {
  EXPECT_EXIT(::_exit(AllocateWithoutMemory()), ::testing::ExitedWithCode(0), "");
}

class RecordAreaOfSize : public ::testing::TestWithParam<size_t> {};

TEST_P(RecordAreaOfSize, MostOfTheAreaIsPayloadBeforeItIsFull) {
  World world(64 * kMiB, kPageBytes);
  const size_t payload = world.Fill(GetParam()).size() * GetParam();
  EXPECT_GE(static_cast<double>(payload), 0.85 * static_cast<double>(world.area().area_bytes()))
      << payload;
}

TEST_P(RecordAreaOfSize, WhatWasFreedCanBeAllocatedAgain) {
  World world(64 * kMiB);
  const std::vector<uint64_t> first = world.Fill(GetParam());
  for (int round = 0; round < 3; ++round) {
    world.FreeAll(round == 0 ? first : world.Fill(GetParam()));
    EXPECT_EQ(world.area().allocated_bytes(), 0u);
  }
  EXPECT_EQ(world.Fill(GetParam()).size(), first.size());
}

// Sizes of jemalloc's classes, as a store of one kind of item would have after a good choice.
INSTANTIATE_TEST_SUITE_P(RecordArea, RecordAreaOfSize,
                         ::testing::Values(48, 128, 320, 1024, 4096, 12288));

TEST(RecordArea, FullAreaSaysSoAndGoesOnServing) {
  World world(16 * kMiB);
  const std::vector<uint64_t> offsets = world.Fill(1024);
  ASSERT_FALSE(offsets.empty());
  EXPECT_FALSE(world.area().Allocate(1024).has_value());
  EXPECT_FALSE(world.area().Allocate(verify::kRecordBytesMax).has_value());
  world.area().Free(offsets.back());
  EXPECT_TRUE(world.area().Allocate(1024).has_value());
}

TEST(RecordArea, MemoryOfSmallRecordsServesLargeOnes) {
  World world(64 * kMiB);
  world.FreeAll(world.Fill(64));
  const std::vector<uint64_t> large = world.Fill(kMiB);
  EXPECT_GE(large.size() * kMiB, world.area().area_bytes() / 2);
}

// The cache of freed records must not keep the last memory from a record of another size.
TEST(RecordArea, LastFreedMemoryServesOtherSizesToo) {
  World world(16 * kMiB);
  const std::vector<uint64_t> offsets = world.Fill(4096);
  world.Fill(10'240);
  for (size_t i = 0; i < 16; ++i) world.area().Free(offsets[offsets.size() / 2 + i]);
  EXPECT_TRUE(world.area().Allocate(10'240).has_value());
}

TEST(RecordArea, AccountCoversWhatWasAskedFor) {
  World world(64 * kMiB);
  size_t asked = 0;
  std::vector<uint64_t> offsets;
  for (const size_t bytes : {41u, 100u, 1000u, 5000u, 100'000u, 3'000'000u}) {
    offsets.push_back(world.area().Allocate(bytes).value());
    asked += bytes;
    EXPECT_GE(world.area().allocated_bytes(), asked);
    EXPECT_LE(world.area().allocated_bytes(), asked * 5 / 4 + 4096);
  }
  world.FreeAll(offsets);
  EXPECT_EQ(world.area().allocated_bytes(), 0u);
}

TEST(RecordArea, TwoAreasDoNotMix) {
  World one(32 * kMiB), two(32 * kMiB);
  Layout first(one.begin(), one.region().memory().size());
  Layout second(two.begin(), two.region().memory().size());
  std::vector<uint64_t> of_one, of_two;
  for (int i = 0; i < 5000; ++i) {
    of_one.push_back(one.area().Allocate(700).value());
    of_two.push_back(two.area().Allocate(700).value());
    ASSERT_TRUE(first.Add(of_one.back(), 700));
    ASSERT_TRUE(second.Add(of_two.back(), 700));
  }
  one.FreeAll(of_one);
  EXPECT_EQ(one.area().allocated_bytes(), 0u);
  EXPECT_GE(two.area().allocated_bytes(), 5000u * 700);
  // What the one freed must not serve the other.
  for (const uint64_t offset : two.Fill(700)) ASSERT_TRUE(second.Add(offset, 700));
}

unsigned ArenasUsed() {
  uint64_t epoch = 1;
  mallctl("epoch", nullptr, nullptr, &epoch, sizeof(epoch));
  unsigned count = 0;
  size_t bytes = sizeof(count);
  mallctl("arenas.narenas", &count, &bytes, nullptr, 0);
  return count;
}

size_t MappedBytes() {
  std::ifstream status("/proc/self/statm");
  size_t pages = 0;
  status >> pages;
  return pages * kPageBytes;
}

TEST(RecordArea, DestroyedAreasLeaveNothingBehind) {
  const auto live_and_die = [] {
    World world(16 * kMiB);
    world.Fill(3000);  // not freed: the area goes with all that is in it
  };
  for (int i = 0; i < 10; ++i) live_and_die();
  const unsigned arenas = ArenasUsed();
  const size_t mapped = MappedBytes();
  for (int i = 0; i < 300; ++i) live_and_die();
  EXPECT_EQ(ArenasUsed(), arenas) << "arenas are not destroyed";
  EXPECT_LT(MappedBytes(), mapped + 64 * kMiB) << "regions are not unmapped";
}

TEST(RecordArea, AreaWithoutRoomForAnythingIsAnError) {
  Region region = *Region::Create(2 * kPageBytes, PageKind::kNormal);
  const auto area = RecordArea::Create(&region, kPageBytes);
  ASSERT_FALSE(area.has_value());
  EXPECT_EQ(area.error().code, Code::kNoSpace);
  EXPECT_NE(area.error().message.find("--memory"), std::string::npos);
}

}  // namespace
}  // namespace plov::server
