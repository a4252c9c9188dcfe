// Regions: memory of a fixed size, and errors where touching it would end the process.
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

namespace plov::server {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;

Region MustCreate(size_t bytes) {
  auto region = Region::Create(bytes, PageKind::kNormal);
  EXPECT_TRUE(region.has_value());
  return std::move(*region);
}

size_t FileBytes(int fd) {
  struct stat status;
  EXPECT_EQ(::fstat(fd, &status), 0);
  return static_cast<size_t>(status.st_size);
}

TEST(Region, SizeIsRoundedUpToWholePages) {
  for (const size_t bytes : {size_t{1}, kPageBytes - 1, kPageBytes, kPageBytes + 1, kMiB + 17}) {
    const Region region = MustCreate(bytes);
    EXPECT_EQ(region.memory().size() % kPageBytes, 0u) << bytes;
    EXPECT_GE(region.memory().size(), bytes);
    EXPECT_LT(region.memory().size(), bytes + kPageBytes);
    EXPECT_EQ(FileBytes(region.fd()), region.memory().size());
  }
}

TEST(Region, FreshMemoryIsZero) {
  const Region region = MustCreate(kMiB);
  EXPECT_TRUE(std::ranges::all_of(region.memory(), [](std::byte b) { return b == std::byte{0}; }));
}

TEST(Region, NobodyCanResizeItNorUnsealIt) {
  const Region region = MustCreate(kMiB);
  EXPECT_NE(::ftruncate(region.fd(), static_cast<off_t>(2 * kMiB)), 0);
  EXPECT_NE(::ftruncate(region.fd(), 0), 0);
  EXPECT_EQ(FileBytes(region.fd()), kMiB);
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
  EXPECT_EQ(FileBytes(to.fd()), kMiB);
}

TEST(Region, MemoryTakesPagesOnlyWhereItIsCommitted) {
  Region region = MustCreate(64 * kMiB);
  const auto blocks = [&region] {
    struct stat status;
    EXPECT_EQ(::fstat(region.fd(), &status), 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  };
  EXPECT_EQ(blocks(), 0u);
  ASSERT_TRUE(region.Commit(10 * kMiB + 5, kMiB));
  EXPECT_GE(blocks(), kMiB);
  EXPECT_LT(blocks(), 8 * kMiB);
  EXPECT_EQ(region.committed_bytes(), kMiB);
}

TEST(Region, CommitKeepsWhatIsThere) {
  Region region = MustCreate(kMiB);
  region.data()[100] = std::byte{9};
  ASSERT_TRUE(region.Commit(0, kMiB));
  EXPECT_EQ(region.data()[100], std::byte{9});
}

TEST(Region, CommitBeyondTheEndIsRefused) {
  Region region = MustCreate(kMiB);
  EXPECT_FALSE(region.Commit(kMiB - kPageBytes, 2 * kPageBytes));
  EXPECT_EQ(region.committed_bytes(), 0u);
  EXPECT_EQ(FileBytes(region.fd()), kMiB);
}

int CommitWithoutMemory() {
  auto region = Region::Create(kMiB, PageKind::kNormal);
  if (!region) return 1;
  LetFallocateFail();
  const bool committed = region->Commit(0, kMiB);
  return committed || region->committed_bytes() != 0 ? 2 : 0;
}

TEST(RegionDeathTest, CommitWithoutMemoryIsFalseAndKillsNobody) {
  EXPECT_EXIT(::_exit(CommitWithoutMemory()), ExitedWithCode(0), "");
}

int StoreWithoutMemory() {
  LetFallocateFail();
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
  const auto region = Region::Create(2 * kMiB, PageKind::kNormal);
  if (region) return 2;
  std::fputs(region.error().message.c_str(), stderr);
  return 0;
}

TEST(RegionDeathTest, RegionOverTheFileSizeLimitIsAnError) {
  EXPECT_EXIT(::_exit(CreateOverTheFileSizeLimit()), ExitedWithCode(0), "lower --memory");
}

TEST(Region, ImpossibleSizesNameTheOptionThatMendsThem) {
  for (const size_t bytes : {size_t{1} << 62, size_t{1} << 48, SIZE_MAX, size_t{0}}) {
    const auto region = Region::Create(bytes, PageKind::kNormal);
    ASSERT_FALSE(region.has_value()) << bytes;
    EXPECT_THAT(region.error().message, HasSubstr("--memory")) << bytes;
    EXPECT_EQ(region.error().message.find('\n'), std::string::npos);
  }
}

TEST(Region, MissingHugePagesNameTheSettingThatMendsThem) {
  const auto region = Region::Create(size_t{1} << 46, PageKind::kHuge);  // nobody has so many
  ASSERT_FALSE(region.has_value());
  EXPECT_EQ(region.error().code, Code::kNoSpace);
  EXPECT_THAT(region.error().message, HasSubstr("vm.nr_hugepages"));
  EXPECT_THAT(region.error().message, HasSubstr("--hugepages"));
}

TEST(Region, HugeRegionIsWholeHugePages) {
  const auto region = Region::Create(1, PageKind::kHuge);
  if (!region) GTEST_SKIP() << "no huge pages here: " << region.error().message;
  EXPECT_EQ(region->memory().size(), kHugePageBytes);
  EXPECT_EQ(region->page_bytes(), kHugePageBytes);
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
