// Regions in a named file, which stay for the next server.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "fabric/os.h"
#include "server/region.h"
#include "tests/server/units.h"

namespace plov::server {
namespace {

using ::testing::HasSubstr;

// A folder on tmpfs where there is one, as a user's file would be.
class RegionFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm/plov-region-XXXXXX"
                                                          : ::testing::TempDir() + "plov-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = folder + "/memory";
  }
  void TearDown() override {
    ::unlink(path.c_str());
    ::unlink((path + ".lock").c_str());
    ::rmdir(folder.c_str());
  }

  std::expected<Region, Error> Open(size_t budget_bytes = kMiB) {
    return Region::Create({.budget_bytes = budget_bytes, .path = path});
  }
  size_t FileBytes() {
    struct stat status;
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return static_cast<size_t>(status.st_size);
  }
  // Commits and writes, a byte to a page at least: pages that nobody wrote are no data.
  static void Fill(Region* region, size_t offset, size_t bytes) {
    ASSERT_TRUE(region->Commit(offset, bytes));
    for (size_t at = 0; at < bytes; at += kPageBytes) region->data()[offset + at] = std::byte{1};
  }
  void Touch(const char* mode) { std::fclose(std::fopen(path.c_str(), mode)); }

  std::string folder, path;
};

TEST_F(RegionFile, NewFileIsFreshAndForItsOwnerAlone) {
  const auto region = Open();
  ASSERT_TRUE(region.has_value()) << region.error().message;
  EXPECT_FALSE(region->found());
  EXPECT_EQ(region->committed_bytes(), 0u);
  EXPECT_EQ(FileBytes(), 3 * kMiB);
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(RegionFile, EmptyFileIsFreshAndLosesTheRightsOfOthers) {
  Touch("w");
  ::chmod(path.c_str(), 0666);
  const auto region = Open();
  ASSERT_TRUE(region.has_value());
  EXPECT_FALSE(region->found());
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(RegionFile, NextServerFindsWhatWasThereAndWhatIsCommitted) {
  {
    auto region = Open();
    Fill(&*region, 0, kPageBytes);
    Fill(&*region, 2 * kMiB + kPageBytes, kMiB / 2);
    region->data()[5] = std::byte{1};
    region->data()[2 * kMiB + kPageBytes] = std::byte{2};
  }
  auto region = Open();
  ASSERT_TRUE(region.has_value());
  EXPECT_TRUE(region->found());
  EXPECT_EQ(region->data()[5], std::byte{1});
  EXPECT_EQ(region->data()[2 * kMiB + kPageBytes], std::byte{2});
  EXPECT_EQ(region->committed_bytes(), kMiB / 2 + kPageBytes);
  EXPECT_EQ(region->CommittedIn(0, kMiB), kPageBytes);
  EXPECT_EQ(region->CommittedIn(2 * kMiB, kMiB), kMiB / 2);
  EXPECT_TRUE(region->Commit(kMiB, kMiB / 2 - kPageBytes)) << "what the budget has room for";
  EXPECT_FALSE(region->Commit(kMiB, kMiB / 2));
}

TEST_F(RegionFile, PagesThatNobodyWroteGoBackToTheKernel) {
  {
    auto region = Open();
    Fill(&*region, kMiB, kPageBytes);
    ASSERT_TRUE(region->Commit(0, kMiB / 2));
    ASSERT_TRUE(region->Commit(3 * kMiB - kPageBytes, kPageBytes));
  }
  auto region = Open();
  EXPECT_EQ(region->committed_bytes(), kPageBytes);
  ASSERT_TRUE(region->Lengthen());
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(static_cast<size_t>(status.st_blocks) * 512, kPageBytes) << "so the account is true";
}

TEST_F(RegionFile, FileGrowsForALargerBudgetAndNeverShrinks) {
  {
    auto region = Open(2 * kMiB);
    Fill(&*region, 5 * kMiB, kMiB);
  }
  {
    auto region = Open(kMiB / 2);
    ASSERT_TRUE(region.has_value());
    EXPECT_EQ(region->memory().size(), 6 * kMiB);
    EXPECT_EQ(region->budget_bytes(), kMiB / 2);
    EXPECT_EQ(region->committed_bytes(), kMiB) << "more than the budget: it is there";
    EXPECT_FALSE(region->Commit(0, kPageBytes));
    EXPECT_TRUE(region->Commit(5 * kMiB, kMiB));
  }
  auto region = Open(4 * kMiB);
  EXPECT_EQ(region->memory().size(), 12 * kMiB);
  EXPECT_EQ(region->found_bytes(), 6 * kMiB);
  EXPECT_EQ(FileBytes(), 6 * kMiB) << "whoever refuses a file leaves it as it was";
  ASSERT_TRUE(region->Lengthen().has_value());
  EXPECT_EQ(FileBytes(), 12 * kMiB);
  EXPECT_EQ(region->CommittedIn(5 * kMiB, kMiB), kMiB);
}

TEST_F(RegionFile, FileOfASparseRegionIsNoWholeOneButTheOtherWayRound) {
  ASSERT_TRUE(Region::Create({.budget_bytes = kMiB, .extent = Extent::kWhole, .path = path}));
  ASSERT_TRUE(Region::Create({.budget_bytes = kMiB, .extent = Extent::kWhole, .path = path}));
  {
    auto sparse = Region::Create({.budget_bytes = kMiB, .path = path});
    ASSERT_TRUE(sparse.has_value());
    ASSERT_TRUE(sparse->Lengthen().has_value());
  }
  const auto whole = Region::Create({.budget_bytes = kMiB, .extent = Extent::kWhole, .path = path});
  ASSERT_FALSE(whole.has_value());
  EXPECT_EQ(whole.error().code, Code::kInvalidArgument);
  EXPECT_THAT(whole.error().message, HasSubstr("--memory 3M"));
  auto larger =
      Region::Create({.budget_bytes = kSparseness * kMiB, .extent = Extent::kWhole, .path = path});
  ASSERT_TRUE(larger.has_value());
  ASSERT_TRUE(larger->Lengthen().has_value());
  EXPECT_EQ(larger->committed_bytes(), kSparseness * kMiB);
}

TEST_F(RegionFile, SizeThatIsNoMultipleOfAPageIsRoundedUp) {
  { ASSERT_TRUE(Open().has_value()); }
  ASSERT_EQ(::truncate(path.c_str(), 7 * kMiB + 100), 0);
  auto region = Open();
  ASSERT_TRUE(region.has_value() && region->Lengthen().has_value());
  EXPECT_EQ(region->memory().size(), 7 * kMiB + kPageBytes);
  EXPECT_EQ(FileBytes(), 7 * kMiB + kPageBytes);
}

TEST_F(RegionFile, SecondServerIsKeptOutUntilTheFirstIsGone) {
  {
    const auto first = Open();
    const auto second = Open();
    ASSERT_FALSE(second.has_value());
    EXPECT_EQ(second.error().code, Code::kInUse);
    EXPECT_THAT(second.error().message, HasSubstr(path));
    EXPECT_EQ(second.error().message.find('\n'), std::string::npos);
  }
  EXPECT_TRUE(Open().has_value());
}

// A client gets a read-only descriptor, which it can lock, and open anew to lock it again.
TEST_F(RegionFile, ClientsLocksKeepNobodyOut) {
  std::vector<fabric::Fd> fds;
  {
    const auto region = Open();
    fds.push_back(*fabric::ReopenReadOnly(region->fd()));
    fds.push_back(*fabric::ReopenReadOnly(fds[0].get()));
    ASSERT_EQ(::flock(fds[0].get(), LOCK_EX | LOCK_NB), 0);
  }
  EXPECT_TRUE(Open().has_value());
  ASSERT_EQ(::flock(fds[0].get(), LOCK_SH), 0);
  ASSERT_EQ(::flock(fds[1].get(), LOCK_SH | LOCK_NB), 0);
  EXPECT_TRUE(Open().has_value());
}

TEST_F(RegionFile, LockIsAFileOfItsOwnForItsOwnerAloneThatGoesWithTheServer) {
  const mode_t former = ::umask(0);
  {
    const auto region = Open();
    ::umask(former);
    ASSERT_TRUE(region.has_value());
    struct stat status;
    ASSERT_EQ(::stat((path + ".lock").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
    EXPECT_FALSE(Open().has_value());
    EXPECT_EQ(::access((path + ".lock").c_str(), F_OK), 0) << "who is refused leaves it";
  }
  EXPECT_NE(::access((path + ".lock").c_str(), F_OK), 0);
}

TEST_F(RegionFile, FileWithTwoNamesIsRefused) {
  { ASSERT_TRUE(Open().has_value()); }
  const std::string other = folder + "/other";
  ASSERT_EQ(::link(path.c_str(), other.c_str()), 0);
  const auto region = Open();
  ::unlink(other.c_str());
  ASSERT_FALSE(region.has_value());
  EXPECT_THAT(region.error().message, HasSubstr("hard link"));
}

TEST_F(RegionFile, LockIsGoneWithAServerThatWasKilled) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto region = Open();
    if (region) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto region = Open();
  ASSERT_TRUE(region.has_value());
  EXPECT_TRUE(region->found());
}

TEST_F(RegionFile, LinkIsNotFollowed) {
  const std::string target = folder + "/target";
  ASSERT_EQ(::symlink(target.c_str(), path.c_str()), 0);
  const auto region = Open();
  ASSERT_FALSE(region.has_value());
  EXPECT_THAT(region.error().message, HasSubstr("link"));
  EXPECT_NE(::access(target.c_str(), F_OK), 0) << "nor is anything created";
}

TEST_F(RegionFile, OtherThingsThanFilesAreRefused) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto region = Open();
  ASSERT_FALSE(region.has_value());
  EXPECT_EQ(region.error().code, Code::kInvalidArgument);
  for (const std::string& name : {folder, folder + "/missing/memory"}) {
    const auto other = Region::Create({.budget_bytes = kMiB, .path = name});
    ASSERT_FALSE(other.has_value());
    EXPECT_THAT(other.error().message, HasSubstr(name));
  }
}

TEST_F(RegionFile, HugePagesNeedAFileOnHugetlbfs) {
  const auto region =
      Region::Create({.budget_bytes = kMiB, .huge_pages = HugePages::kYes, .path = path});
  ASSERT_FALSE(region.has_value());
  EXPECT_EQ(region.error().code, Code::kInvalidArgument);
  EXPECT_THAT(region.error().message, HasSubstr("hugetlbfs"));
  EXPECT_THAT(region.error().message, HasSubstr("--hugepages"));
}

TEST_F(RegionFile, FileOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  Touch("w");
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  const auto region = Open();
  ASSERT_FALSE(region.has_value());
  EXPECT_EQ(region.error().code, Code::kPermission);
}

// On a mount of its own: PLOV_TEST_HUGETLBFS names a hugetlbfs folder with a few free pages.
TEST_F(RegionFile, FileOnHugetlbfsHasHugePagesWhateverWasAskedFor) {
  const char* mount = std::getenv("PLOV_TEST_HUGETLBFS");
  if (mount == nullptr) GTEST_SKIP() << "PLOV_TEST_HUGETLBFS names no hugetlbfs folder";
  path = std::string(mount) + "/plov-region-test";
  {
    auto region = Open();
    ASSERT_TRUE(region.has_value()) << region.error().message;
    EXPECT_GE(region->page_bytes(), kHugePageBytes);
    EXPECT_EQ(region->committed_bytes(), region->memory().size());
    region->data()[100] = std::byte{3};
  }
  const auto region = Open();
  ASSERT_TRUE(region.has_value());
  EXPECT_TRUE(region->found());
  EXPECT_EQ(region->data()[100], std::byte{3});
}

}  // namespace
}  // namespace plov::server
