// Regions in the pages that the host gives: transparent huge ones, and small ones where it gives others.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "server/region.h"
#include "server/transparent_pages.h"
#include "tests/server/units.h"
#include "tests/support/folder.h"

namespace plov::server {
namespace {

constexpr size_t kSixtyFourMib = 64 * kMiB;
constexpr auto kShmemEnabled = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

// On a host whose kernel says what the test wants: what plov does with its pages is the same whether it then
// gives huge ones.
class RegionPages : public ::testing::Test {
 protected:
  void SetMode(const std::string& text) {
    const std::filesystem::path file = folder_.path() + kShmemEnabled;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  Region Create(HugePages huge_pages, size_t budget_bytes = kSixtyFourMib,
                Extent extent = Extent::kSparse) {
    auto region = Region::Create({.budget_bytes = budget_bytes,
                                  .huge_pages = huge_pages,
                                  .extent = extent,
                                  .root = folder_.path()});
    EXPECT_TRUE(region.has_value());
    return std::move(*region);
  }
  static size_t BlocksOf(const Region& region) {
    struct stat status;
    EXPECT_EQ(::fstat(region.fd(), &status), 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  }

  test::TemporaryFolder folder_;
};

TEST_F(RegionPages, TheHostsModeDecides) {
  const Region region = Create(HugePages::kNo);
  using enum TransparentPages;
  const auto given = [&] { return TransparentPagesOf(region.fd(), folder_.path()); };
  EXPECT_EQ(given(), kNever) << "no such file";
  SetMode("always within_size [advise] never deny force\n");
  EXPECT_EQ(given(), kAdvised);
  for (const char* mode : {"[always] never", "always [within_size]", "never [force]"}) {
    SetMode(mode);
    EXPECT_EQ(given(), kAlways) << mode;
  }
  for (const char* mode : {"always [never]", "always [deny]", "", "odd"}) {
    SetMode(mode);
    EXPECT_EQ(given(), kNever) << mode;
  }
}

TEST_F(RegionPages, AutoTakesTransparentOnesAndNoDoesNot) {
  SetMode("always within_size [advise] never");
  const Region region = Create(HugePages::kAuto);
  EXPECT_EQ(region.page_kind(), PageKind::kTransparent);
  EXPECT_FALSE(region.is_whole());
  EXPECT_EQ(Create(HugePages::kNo).page_kind(), PageKind::kSmall);
  EXPECT_EQ(Create(HugePages::kAuto, kSixtyFourMib / 2).page_kind(), PageKind::kSmall)
      << "too small";
  const Region whole = Create(HugePages::kAuto, kMiB, Extent::kWhole);
  EXPECT_EQ(whole.page_kind(), PageKind::kTransparent);
  EXPECT_EQ(BlocksOf(whole), kHugePageBytes);
  SetMode("always within_size advise [never]");
  EXPECT_EQ(Create(HugePages::kAuto).page_kind(), PageKind::kSmall);
}

TEST_F(RegionPages, TransparentOnesAreCommittedWholeAsLongAsTheBudgetHasRoom) {
  SetMode("[advise]");
  Region region = Create(HugePages::kAuto);
  ASSERT_TRUE(region.Commit(3 * kMiB, kPageBytes));
  EXPECT_EQ(region.committed_bytes(), kHugePageBytes);
  EXPECT_EQ(region.CommittedIn(2 * kMiB, 2 * kMiB), kHugePageBytes);
  ASSERT_TRUE(region.Commit(64 * kMiB, kSixtyFourMib - 2 * kHugePageBytes));
  ASSERT_TRUE(region.Commit(10 * kMiB, kPageBytes, kPageBytes)) << "others have a page";
  EXPECT_EQ(region.committed_bytes(), kSixtyFourMib - kHugePageBytes + kPageBytes);
  ASSERT_TRUE(region.Commit(20 * kMiB + 5, kMiB));
  EXPECT_EQ(region.committed_bytes(), kSixtyFourMib - kMiB + 2 * kPageBytes);
  EXPECT_FALSE(region.Commit(0, kMiB));
  EXPECT_EQ(BlocksOf(region), region.committed_bytes()) << "the account is true";
  region.Release(64 * kMiB + kPageBytes, kMiB);
  EXPECT_EQ(BlocksOf(region), region.committed_bytes()) << "also of a part of a huge page";
  EXPECT_TRUE(region.Commit(0, kMiB));
  EXPECT_EQ(BlocksOf(region), region.committed_bytes());
}

// Of a page that a reader uses just then the kernel gives nothing back, and says that it did.
TEST_F(RegionPages, WhatAReaderKeepsFromBeingSplitCounts) {
  size_t kept_bytes = 0;
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (kept_bytes == 0 && std::chrono::steady_clock::now() < enough) {
    const RegionOptions options{.budget_bytes = kSixtyFourMib, .huge_pages = HugePages::kAuto};
    Region region = *Region::Create(options);
    if (region.page_kind() != PageKind::kTransparent) GTEST_SKIP() << "no huge pages here";
    ASSERT_TRUE(region.Commit(0, kSixtyFourMib));
    std::atomic<size_t> used = 0;  // the huge page that is read, behind what is released
    const std::jthread reader([&](const std::stop_token& stop) {
      std::vector<char> bytes(kMiB);
      while (!stop.stop_requested()) {
        const auto from = static_cast<off_t>(used + kMiB);
        ASSERT_EQ(::pread(region.fd(), bytes.data(), bytes.size(), from), kMiB);
      }
    });
    size_t released_bytes = 0;
    for (size_t page = 0; page < kSixtyFourMib; page += kHugePageBytes) {
      used = page;
      region.Release(page + kPageBytes, kMiB / 2);
      released_bytes += kMiB / 2;
    }
    ASSERT_EQ(BlocksOf(region), region.committed_bytes());
    kept_bytes = region.committed_bytes() - (kSixtyFourMib - released_bytes);
  }
  if (kept_bytes == 0) GTEST_SKIP() << "the reader was never in time";
}

TEST_F(RegionPages, SmallOnesAreTakenByTheMappingWhereOthersWouldBeHuge) {
  SetMode("[always]");
  Region region = Create(HugePages::kNo);
  ASSERT_TRUE(region.Commit(3 * kMiB, kPageBytes));
  EXPECT_EQ(BlocksOf(region), kPageBytes);
  EXPECT_EQ(region.committed_bytes(), kPageBytes);
}

}  // namespace
}  // namespace plov::server
