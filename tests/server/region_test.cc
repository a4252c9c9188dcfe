// Regions: sparse memory under a budget, and errors where touching it would end the process. Named
// ones: region_file_test.cc.
#include "server/region.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "server/store.h"
#include "tests/server/no_memory.h"
#include "tests/server/units.h"

namespace plov::server {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;

Region MustCreate(size_t bytes) {
  auto region = Region::Create({.budget_bytes = bytes});
  EXPECT_TRUE(region.has_value());
  return std::move(*region);
}

size_t FileBytes(int fd) {
  struct stat status;
  EXPECT_EQ(::fstat(fd, &status), 0);
  return static_cast<size_t>(status.st_size);
}

size_t BlocksOf(int fd) {
  struct stat status;
  EXPECT_EQ(::fstat(fd, &status), 0);
  return static_cast<size_t>(status.st_blocks) * 512;
}

TEST(Region, BudgetIsRoundedUpToWholePagesAndAddressesAreThreeTimesIt) {
  for (const size_t bytes : {size_t{1}, kPageBytes - 1, kPageBytes, kPageBytes + 1, kMiB + 17}) {
    const Region region = MustCreate(bytes);
    EXPECT_EQ(region.budget_bytes() % kPageBytes, 0u) << bytes;
    EXPECT_GE(region.budget_bytes(), bytes);
    EXPECT_LT(region.budget_bytes(), bytes + kPageBytes);
    EXPECT_EQ(region.memory().size(), kSparseness * region.budget_bytes());
    EXPECT_EQ(FileBytes(region.fd()), region.memory().size());
    EXPECT_FALSE(region.found());
  }
}

TEST(Region, FreshMemoryIsZero) {
  const Region region = MustCreate(kMiB);
  EXPECT_TRUE(std::ranges::all_of(region.memory(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Region, NobodyCanResizeItNorUnsealIt) {
  const Region region = MustCreate(kMiB);
  EXPECT_NE(::ftruncate(region.fd(), static_cast<off_t>(4 * kMiB)), 0);
  EXPECT_NE(::ftruncate(region.fd(), 0), 0);
  EXPECT_EQ(FileBytes(region.fd()), 3 * kMiB);
  EXPECT_NE(::fcntl(region.fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(Region, OtherUsersCannotOpenIt) {
  const Region region = MustCreate(kMiB);
  struct stat status;
  ASSERT_EQ(::fstat(region.fd(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST(Region, WhatTheFileHoldsIsWhatTheMemoryHolds) {
  const Region region = MustCreate(kMiB);
  region.data()[12345] = std::byte{42};
  void* other = ::mmap(nullptr, kMiB, PROT_READ, MAP_SHARED, region.fd(), 0);
  ASSERT_NE(other, MAP_FAILED);
  EXPECT_EQ(static_cast<const std::byte*>(other)[12345], std::byte{42});
  ::munmap(other, kMiB);
}

TEST(Region, MovedRegionKeepsItsMemory) {
  Region from = MustCreate(kMiB);
  std::byte* const data = from.data();
  data[0] = std::byte{7};
  const Region to(std::move(from));
  EXPECT_EQ(to.data(), data);
  EXPECT_EQ(to.data()[0], std::byte{7});
  EXPECT_EQ(FileBytes(to.fd()), 3 * kMiB);
}

TEST(Region, MemoryTakesPagesOnlyWhereItIsCommitted) {
  Region region = MustCreate(64 * kMiB);
  EXPECT_EQ(BlocksOf(region.fd()), 0u);
  ASSERT_TRUE(region.Commit(10 * kMiB + 5, kMiB));
  EXPECT_EQ(region.committed_bytes(), kMiB + kPageBytes);
  EXPECT_EQ(BlocksOf(region.fd()), kMiB + kPageBytes);
  EXPECT_EQ(region.CommittedIn(0, 64 * kMiB), kMiB + kPageBytes);
  EXPECT_EQ(region.CommittedIn(0, 10 * kMiB), 0u);
  EXPECT_EQ(region.CommittedIn(10 * kMiB + kPageBytes - 1, 2), 2 * kPageBytes);
}

TEST(Region, CommitKeepsWhatIsThere) {
  Region region = MustCreate(kMiB);
  ASSERT_TRUE(region.Commit(0, kPageBytes));
  region.data()[100] = std::byte{9};
  ASSERT_TRUE(region.Commit(0, kMiB));
  EXPECT_EQ(region.data()[100], std::byte{9});
}

TEST(Region, PagesCountOnceHoweverOftenTheyAreCommitted) {
  Region region = MustCreate(kMiB);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(region.Commit(kMiB, kMiB / 2));
  ASSERT_TRUE(region.Commit(kMiB + kMiB / 4, kMiB / 2));
  EXPECT_EQ(region.committed_bytes(), kMiB * 3 / 4);
}

TEST(Region, CommitBeyondTheEndIsRefused) {
  Region region = MustCreate(kMiB);
  EXPECT_FALSE(region.Commit(3 * kMiB - kPageBytes, 2 * kPageBytes));
  EXPECT_FALSE(region.Commit(SIZE_MAX - 5, 10));
  EXPECT_FALSE(region.Commit(5, SIZE_MAX - 2));
  EXPECT_EQ(region.committed_bytes(), 0u);
  EXPECT_EQ(FileBytes(region.fd()), 3 * kMiB);
}

TEST(Region, CommitBeyondTheBudgetIsRefusedAndChangesNothing) {
  Region region = MustCreate(kMiB);
  ASSERT_TRUE(region.Commit(2 * kMiB, kMiB - kPageBytes));
  EXPECT_FALSE(region.Commit(0, 2 * kPageBytes));
  EXPECT_EQ(region.committed_bytes(), kMiB - kPageBytes);
  EXPECT_EQ(BlocksOf(region.fd()), kMiB - kPageBytes);
  EXPECT_TRUE(region.Commit(2 * kMiB, kMiB)) << "one page of it is fresh";
  EXPECT_TRUE(region.Commit(2 * kMiB + 17, 1000)) << "and none of this";
}

TEST(Region, ReleasedPagesAreZeroAndGoBackToTheKernel) {
  Region region = MustCreate(kMiB);
  ASSERT_TRUE(region.Commit(0, kMiB));
  std::ranges::fill(region.memory().first(kMiB), std::byte{7});
  region.Release(kPageBytes - 1, 3 * kPageBytes);  // two pages lie wholly inside
  EXPECT_EQ(region.committed_bytes(), kMiB - 2 * kPageBytes);
  EXPECT_EQ(BlocksOf(region.fd()), kMiB - 2 * kPageBytes);
  EXPECT_EQ(region.data()[kPageBytes - 1], std::byte{7});
  EXPECT_EQ(region.data()[3 * kPageBytes], std::byte{7});
  for (size_t i = kPageBytes; i < 3 * kPageBytes; ++i) ASSERT_EQ(region.data()[i], std::byte{0});
  region.Release(0, 100);
  region.Release(0, 0);
  EXPECT_EQ(region.committed_bytes(), kMiB - 2 * kPageBytes);
  EXPECT_TRUE(region.Commit(2 * kMiB, 2 * kPageBytes)) << "the budget has room again";
}

TEST(Region, ReleaseLastTakesTheEndOfWhatIsCommitted) {
  Region region = MustCreate(kMiB);
  ASSERT_TRUE(region.Commit(0, kMiB / 2));
  ASSERT_TRUE(region.Commit(kMiB, kMiB / 4));
  region.ReleaseLast(kPageBytes, 2 * kMiB, kMiB / 4 + 1);
  EXPECT_EQ(region.CommittedIn(kMiB, kMiB), 0u);
  EXPECT_EQ(region.CommittedIn(0, kMiB), kMiB / 2 - kPageBytes);
  region.ReleaseLast(kPageBytes, 2 * kMiB, 10 * kMiB);
  EXPECT_EQ(region.committed_bytes(), kPageBytes) << "what is outside the range stays";
}

int CommitWithoutMemory() {
  auto region = Region::Create({.budget_bytes = kMiB});
  if (!region) return 1;
  LetCommitsFail();
  const bool committed = region->Commit(0, kMiB);
  return committed || region->committed_bytes() != 0 ? 2 : 0;
}

TEST(RegionDeathTest, CommitWithoutMemoryIsFalseAndKillsNobody) {
  EXPECT_EXIT(::_exit(CommitWithoutMemory()), ExitedWithCode(0), "");
}

int StoreWithoutMemory() {
  LetCommitsFail();
  const auto store = Store::Create({.memory_bytes = 16 * kMiB});
  if (store || store.error().code != Code::kNoSpace) return 1;
  std::fputs(store.error().message.c_str(), stderr);
  return 0;
}

TEST(RegionDeathTest, StoreWithoutMemorySaysWhichOptionToLower) {
  EXPECT_EXIT(::_exit(StoreWithoutMemory()), ExitedWithCode(0), "lower --memory");
}

int CreateOverTheFileSizeLimit() {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{kMiB, kMiB};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  const auto region = Region::Create({.budget_bytes = 2 * kMiB});
  if (region) return 2;
  std::fputs(region.error().message.c_str(), stderr);
  return 0;
}

TEST(RegionDeathTest, RegionOverTheFileSizeLimitIsAnError) {
  EXPECT_EXIT(::_exit(CreateOverTheFileSizeLimit()), ExitedWithCode(0), "lower --memory");
}

TEST(Region, ImpossibleSizesNameTheOptionThatMendsThem) {
  for (const size_t bytes : {size_t{1} << 62, size_t{1} << 48, SIZE_MAX, size_t{0}}) {
    const auto region = Region::Create({.budget_bytes = bytes});
    ASSERT_FALSE(region.has_value()) << bytes;
    EXPECT_THAT(region.error().message, HasSubstr("--memory")) << bytes;
    EXPECT_EQ(region.error().message.find('\n'), std::string::npos);
  }
}

TEST(Region, MissingHugePagesNameTheSettingThatMendsThem) {
  const auto region =
      Region::Create({.budget_bytes = size_t{1} << 46, .huge_pages = HugePages::kYes});
  ASSERT_FALSE(region.has_value());
  EXPECT_EQ(region.error().code, Code::kNoSpace);
  EXPECT_THAT(region.error().message, HasSubstr("vm.nr_hugepages"));
  EXPECT_THAT(region.error().message, HasSubstr("--hugepages"));
}

// A card pins what it may read: nothing is left to commit, and nothing can be given back.
TEST(Region, WholeRegionIsItsBudgetCommittedAtTheStartAndForGood) {
  auto region = Region::Create({.budget_bytes = kMiB, .extent = Extent::kWhole});
  ASSERT_TRUE(region.has_value());
  EXPECT_EQ(region->memory().size(), kMiB);
  EXPECT_EQ(region->committed_bytes(), kMiB);
  struct stat status;
  ASSERT_EQ(::fstat(region->fd(), &status), 0);
  EXPECT_EQ(static_cast<size_t>(status.st_blocks) * 512, kMiB);
  region->Release(0, kMiB);
  region->ReleaseLast(0, kMiB, kMiB);
  ASSERT_EQ(::fstat(region->fd(), &status), 0);
  EXPECT_EQ(static_cast<size_t>(status.st_blocks) * 512, kMiB) << "a card would miss it";
  EXPECT_EQ(region->committed_bytes(), kMiB);
  EXPECT_TRUE(region->Commit(0, kMiB));
  EXPECT_FALSE(region->Commit(kMiB, 1));
}

TEST(Region, HugeRegionIsWholeHugePages) {
  auto region = Region::Create({.budget_bytes = 1, .huge_pages = HugePages::kYes});
  if (!region) GTEST_SKIP() << "no huge pages here: " << region.error().message;
  EXPECT_EQ(region->memory().size(), kHugePageBytes);
  EXPECT_EQ(region->page_bytes(), kHugePageBytes);
  EXPECT_EQ(region->committed_bytes(), kHugePageBytes);
  region->Release(0, kHugePageBytes);
  EXPECT_EQ(region->committed_bytes(), kHugePageBytes) << "a reader would miss it";
  EXPECT_TRUE(region->Commit(0, kHugePageBytes));
}

TEST(Region, DestroyedRegionGivesItsDescriptorBack) {
  int fd = -1;
  {
    const Region region = MustCreate(kMiB);
    fd = region.fd();
  }
  EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

}  // namespace
}  // namespace plov::server
