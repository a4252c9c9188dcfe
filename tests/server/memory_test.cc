// Memory: ranges of pages under one budget.
#include "server/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "tests/server/no_memory.h"
#include "tests/server/units.h"
#include "tests/support/folder.h"

namespace plov::server {
namespace {

using End = Memory::End;

class MemoryTest : public ::testing::Test {
 protected:
  static constexpr size_t kBudget = 16 * kMiB;

  uint64_t MustTake(size_t bytes, End end = End::kLow, size_t alignment = kPageBytes) {
    const auto offset = memory.Take(bytes, alignment, end);
    EXPECT_TRUE(offset.has_value());
    return offset.value_or(0);
  }
  size_t address_bytes() { return region.memory().size(); }

  Region region = *Region::Create({.budget_bytes = kBudget});
  Memory memory{&region, kPageBytes};
};

TEST_F(MemoryTest, RecordsComeFromTheLowEndAndTablesFromTheHigh) {
  EXPECT_EQ(MustTake(kPageBytes), kPageBytes);
  EXPECT_EQ(MustTake(kMiB), 2 * kPageBytes);
  EXPECT_EQ(MustTake(kMiB, End::kHigh), address_bytes() - kMiB);
  EXPECT_EQ(MustTake(kMiB, End::kHigh), address_bytes() - 2 * kMiB);
}

TEST_F(MemoryTest, WhatIsBeforeTheBeginIsUsed) {
  EXPECT_EQ(memory.used_bytes(), kPageBytes);
  EXPECT_EQ(memory.available_bytes(), kBudget - kPageBytes);
  EXPECT_FALSE(memory.Claim(0, kPageBytes));
}

TEST_F(MemoryTest, RangesAreWholePages) {
  MustTake(1);
  EXPECT_EQ(memory.used_bytes(), 2 * kPageBytes);
  const uint64_t offset = MustTake(kPageBytes + 1);
  EXPECT_EQ(memory.used_bytes(), 4 * kPageBytes);
  memory.Give(offset, 2 * kPageBytes);
  EXPECT_EQ(memory.used_bytes(), 2 * kPageBytes);
}

TEST_F(MemoryTest, RangesAreAligned) {
  for (const End end : {End::kLow, End::kHigh}) {
    MustTake(kPageBytes, end);
    for (const size_t alignment : {kPageBytes, size_t{65536}, kMiB}) {
      EXPECT_EQ(MustTake(kMiB, end, alignment) % alignment, 0u);
    }
  }
}

TEST_F(MemoryTest, BudgetIsTheLimitWhileAddressesAreThere) {
  MustTake(kBudget / 2);
  MustTake(kBudget / 4, End::kHigh);
  EXPECT_FALSE(memory.Take(kBudget / 4, kPageBytes, End::kLow));
  MustTake(kBudget / 4 - kPageBytes);
  EXPECT_EQ(memory.available_bytes(), 0u);
  for (const End end : {End::kLow, End::kHigh}) {
    EXPECT_FALSE(memory.Take(kPageBytes, kPageBytes, end));
    EXPECT_FALSE(memory.Take(SIZE_MAX - kPageBytes, kPageBytes, end));
  }
}

TEST_F(MemoryTest, LargeRangeIsFoundHoweverScatteredTheFreeOnesAre) {
  std::vector<uint64_t> pages;
  while (const auto page = memory.Take(kPageBytes, kPageBytes, End::kLow)) pages.push_back(*page);
  for (size_t i = 0; i < pages.size(); i += 2) memory.Give(pages[i], kPageBytes);
  EXPECT_TRUE(memory.Commit(MustTake(kBudget / 2 - kMiB), kBudget / 2 - kMiB));
}

TEST_F(MemoryTest, LowestFreeRangeThatFitsIsTaken) {
  const uint64_t first = MustTake(kMiB);
  MustTake(kPageBytes);
  const uint64_t second = MustTake(2 * kMiB);
  MustTake(kPageBytes);
  memory.Give(second, 2 * kMiB);
  memory.Give(first, kMiB);
  EXPECT_EQ(MustTake(2 * kMiB), second);
  EXPECT_EQ(MustTake(kMiB), first);
}

TEST_F(MemoryTest, PartOfARangeCanBeGivenBack) {
  const uint64_t offset = MustTake(kMiB);
  memory.Give(offset + kPageBytes / 2, 2 * kPageBytes);  // only one page lies wholly inside
  EXPECT_EQ(memory.used_bytes(), kPageBytes + kMiB - kPageBytes);
  EXPECT_EQ(MustTake(kPageBytes), offset + kPageBytes);
}

TEST_F(MemoryTest, ClaimTakesThisVeryRangeOnce) {
  const uint64_t offset = 5 * kMiB + kPageBytes;
  EXPECT_TRUE(memory.Claim(offset, kMiB));
  EXPECT_EQ(memory.used_bytes(), kPageBytes + kMiB);
  EXPECT_FALSE(memory.Claim(offset, kMiB));
  EXPECT_FALSE(memory.Claim(offset + kMiB - 1, 1));
  EXPECT_FALSE(memory.Claim(offset - kPageBytes, kPageBytes + 1));
  EXPECT_TRUE(memory.Claim(offset + kMiB, 1));
  EXPECT_TRUE(memory.Claim(offset - kPageBytes, kPageBytes));
  memory.Give(offset, kMiB);
  EXPECT_TRUE(memory.Claim(offset, kMiB));
}

TEST_F(MemoryTest, ClaimOfWhatIsNoMemoryIsRefused) {
  EXPECT_FALSE(memory.Claim(address_bytes(), kPageBytes));
  EXPECT_FALSE(memory.Claim(address_bytes() - kPageBytes, 2 * kPageBytes));
  EXPECT_FALSE(memory.Claim(~uint64_t{0} - 8, kPageBytes));
  EXPECT_FALSE(memory.Claim(kMiB, 0));
  EXPECT_EQ(memory.used_bytes(), kPageBytes);
}

TEST_F(MemoryTest, ClaimGoesBeyondTheBudgetAndTakeDoesNot) {
  EXPECT_TRUE(memory.Claim(kMiB, kBudget));
  EXPECT_EQ(memory.available_bytes(), 0u);
  EXPECT_FALSE(memory.Take(kPageBytes, kPageBytes, End::kLow));
  memory.Give(kMiB, kMiB);
  EXPECT_TRUE(memory.Take(kPageBytes, kPageBytes, End::kLow));
}

TEST_F(MemoryTest, FreePagesAreReleasedForFreshOnesWhenTheBudgetWantsThem) {
  const uint64_t low = MustTake(8 * kMiB), high = MustTake(7 * kMiB, End::kHigh);
  ASSERT_TRUE(memory.Commit(low, 8 * kMiB) && memory.Commit(high, 7 * kMiB));
  memory.Give(low, 8 * kMiB);
  memory.Give(high, 7 * kMiB);
  EXPECT_EQ(region.committed_bytes(), 15 * kMiB) << "as long as nobody wants them";
  // A range between them, of fresh pages.
  MustTake(8 * kMiB);
  const uint64_t middle = MustTake(4 * kMiB);
  ASSERT_EQ(region.CommittedIn(middle, 4 * kMiB), 0u);
  EXPECT_TRUE(memory.Commit(middle, 4 * kMiB));
  EXPECT_EQ(region.committed_bytes(), kBudget);
  EXPECT_EQ(region.CommittedIn(low, 8 * kMiB), 8 * kMiB) << "taken";
  EXPECT_EQ(region.CommittedIn(high, 7 * kMiB), 4 * kMiB) << "no more than is wanted";
}

TEST_F(MemoryTest, PagesOfTakenRangesAreNeverReleased) {
  std::mt19937_64 random(1);
  std::map<uint64_t, size_t> taken;
  for (int step = 0; step < 20'000; ++step) {
    const size_t bytes = (1 + random() % 200) * kPageBytes;
    const auto offset = memory.Take(bytes, random() % 4 == 0 ? 65536 : kPageBytes,
                                    random() % 8 == 0 ? End::kHigh : End::kLow);
    if (offset) {
      ASSERT_TRUE(memory.Commit(*offset, bytes)) << "step " << step;
      region.data()[*offset] = region.data()[*offset + bytes - 1] =
          static_cast<std::byte>(1 + bytes % 251);
      ASSERT_TRUE(taken.emplace(*offset, bytes).second);
    }
    while (!taken.empty() && (!offset || random() % 3 == 0)) {
      auto it = taken.lower_bound(random() % address_bytes());
      if (it == taken.end()) it = taken.begin();
      const auto mark = static_cast<std::byte>(1 + it->second % 251);
      ASSERT_EQ(region.data()[it->first], mark);
      ASSERT_EQ(region.data()[it->first + it->second - 1], mark);
      memory.Give(it->first, it->second);
      taken.erase(it);
      if (random() % 2 == 0) break;
    }
    size_t used = kPageBytes, end = 0;
    for (const auto& [from, room] : taken) {
      ASSERT_GE(from, end) << "overlap";
      end = from + room;
      used += room;
    }
    ASSERT_EQ(memory.used_bytes(), used);
    ASSERT_LE(region.committed_bytes(), kBudget);
  }
  for (const auto& [offset, bytes] : taken) memory.Give(offset, bytes);
  EXPECT_EQ(memory.used_bytes(), kPageBytes);
  EXPECT_EQ(MustTake(kBudget - kPageBytes), kPageBytes) << "neighbours are merged";
}

// A server that is started again with less --memory.
TEST(MemoryOfAFile, WhatIsCommittedBeyondASmallerBudgetIsGivenBack) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() + "/memory";
  {
    Region before = *Region::Create({.budget_bytes = 8 * kMiB, .path = path});
    ASSERT_TRUE(before.Commit(0, 6 * kMiB));
    std::ranges::fill(before.memory().first(6 * kMiB), std::byte{1});
  }
  Region region = *Region::Create({.budget_bytes = 2 * kMiB, .path = path});
  ASSERT_EQ(region.committed_bytes(), 6 * kMiB);
  ASSERT_TRUE(region.Lengthen());
  Memory memory(&region, kPageBytes);
  ASSERT_TRUE(memory.Claim(3 * kMiB, kMiB));
  ASSERT_TRUE(memory.Settle());
  EXPECT_EQ(region.committed_bytes(), 2 * kMiB);
  EXPECT_EQ(region.CommittedIn(3 * kMiB, kMiB), kMiB);
  EXPECT_EQ(region.data()[0], std::byte{1});
}

int CommitWithoutMemory() {
  Region region = *Region::Create({.budget_bytes = kMiB});
  Memory memory(&region, 0);
  const auto offset = memory.Take(kMiB / 2, kPageBytes, End::kLow);
  if (!memory.Commit(*offset, kMiB / 2)) return 1;
  LetCommitsFail();
  if (!memory.Commit(*offset, kMiB / 2)) return 2;  // is there
  const auto other = memory.Take(kMiB / 2, kPageBytes, End::kLow);
  return memory.Commit(*other, kMiB / 2) ? 3 : 0;
}

TEST(MemoryDeathTest, CommitWithoutMemoryIsFalse) {
  EXPECT_EXIT(::_exit(CommitWithoutMemory()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace plov::server
