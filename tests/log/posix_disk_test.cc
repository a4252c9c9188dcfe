// The system's folder as a Disk, which files in it are whose, and spares in it.
#include "log/posix_disk.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "log/folder.h"
#include "log/spares.h"

namespace plov::log {
namespace {

using Mode = Disk::Mode;

class PosixDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "plov-log-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    parent_ = name;
    auto disk = PosixDisk::Open(path());
    ASSERT_TRUE(disk) << disk.error().message;
    disk_ = *std::move(disk);
  }
  void TearDown() override { std::filesystem::remove_all(parent_); }

  std::string path() const { return parent_ + "/log"; }
  Disk* disk() { return disk_.get(); }

  // A new file of so many bytes, which count up.
  std::unique_ptr<File> Make(const std::string& name, size_t bytes) {
    auto file = disk_->Open(name, Mode::kCreate);
    EXPECT_TRUE(file) << file.error().message;
    const std::vector<std::byte> content = Counting(bytes);
    const Bytes piece = content;
    EXPECT_TRUE((*file)->Write(0, std::span(&piece, 1)));
    return *std::move(file);
  }
  static std::vector<std::byte> Counting(size_t bytes) {
    std::vector<std::byte> content(bytes);
    for (size_t i = 0; i < bytes; ++i) content[i] = static_cast<std::byte>(i);
    return content;
  }
  std::vector<std::string> Names() {
    auto names = *disk_->List();
    std::ranges::sort(names);
    return names;
  }

  std::string parent_;
  std::unique_ptr<PosixDisk> disk_;
};

TEST_F(PosixDiskTest, TheFolderIsMadeForItsOwnerAlone) {
  struct stat status;
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0700u);
  EXPECT_TRUE(PosixDisk::Open(path() + "/"));
  EXPECT_TRUE(PosixDisk::OpenForReading(path()));
}

TEST_F(PosixDiskTest, WhatIsNoFolderIsRefused) {
  Make("file", 1);
  EXPECT_EQ(PosixDisk::Open(path() + "/file").error().code, Code::kInvalidArgument);
  EXPECT_FALSE(PosixDisk::Open(path() + "/not/there"));
  EXPECT_FALSE(PosixDisk::OpenForReading(path() + "/other"));
  EXPECT_FALSE(std::filesystem::exists(path() + "/other"));
}

TEST_F(PosixDiskTest, AFolderThatCannotBeWrittenIsRefused) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  std::filesystem::permissions(
      path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(PosixDisk::Open(path()).error().code, Code::kPermission);
  EXPECT_TRUE(PosixDisk::OpenForReading(path()));
}

TEST_F(PosixDiskTest, PiecesAreReadBackAsOne) {
  const auto file = Make("file", 0);
  const auto content = Counting(3000);
  // More than one call takes, and empty ones among them.
  std::vector<Bytes> pieces;
  for (size_t i = 0; i < content.size(); ++i) {
    pieces.push_back(Bytes(content).subspan(i, 1));
    if (i % 3 == 0) pieces.emplace_back();
  }
  ASSERT_GT(pieces.size(), static_cast<size_t>(IOV_MAX));
  ASSERT_TRUE(file->Write(100, pieces));
  ASSERT_TRUE(file->Sync());
  file->DropCache();
  EXPECT_EQ(file->bytes(), 3100u);
  std::vector<std::byte> read(content.size());
  ASSERT_TRUE(file->Read(100, read));
  EXPECT_EQ(read, content);
}

TEST_F(PosixDiskTest, AReadBeyondTheEndIsRefused) {
  const auto file = Make("file", 10);
  std::vector<std::byte> to(11);
  EXPECT_EQ(file->Read(0, to).error().code, Code::kCorrupt);
}

TEST_F(PosixDiskTest, EachModeOpensWhatItSays) {
  Make("file", 10);
  EXPECT_FALSE(disk()->Open("file", Mode::kCreate));
  for (const Mode mode : {Mode::kRead, Mode::kDurable, Mode::kWrite}) {
    EXPECT_EQ((*disk()->Open("file", mode))->bytes(), 10u);
    EXPECT_FALSE(disk()->Open("other", mode));
  }
  const std::vector<std::byte> content = Counting(5);
  const Bytes piece = content;
  EXPECT_FALSE((*disk()->Open("file", Mode::kRead))->Write(0, std::span(&piece, 1)));
  EXPECT_TRUE((*disk()->Open("file", Mode::kDurable))->Write(0, std::span(&piece, 1)));
  EXPECT_TRUE((*disk()->Open("file", Mode::kWrite))->Write(0, std::span(&piece, 1)));
}

TEST_F(PosixDiskTest, OnlyRegularFilesAreOpened) {
  Make("file", 1);
  ASSERT_EQ(::symlink("file", (path() + "/link").c_str()), 0);
  ASSERT_EQ(::mkfifo((path() + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir((path() + "/folder").c_str(), 0700), 0);
  for (const char* name : {"link", "pipe", "folder"}) {
    EXPECT_FALSE(disk()->Open(name, Mode::kRead)) << name;
    EXPECT_FALSE(disk()->Open(name, Mode::kWrite)) << name;
  }
}

TEST_F(PosixDiskTest, NamesAreGivenTakenAndListed) {
  Make("a", 1);
  Make("b", 2);
  ASSERT_TRUE(disk()->Rename("a", "b"));
  ASSERT_TRUE(disk()->Link("b", "c"));
  EXPECT_FALSE(disk()->Link("b", "c"));
  ASSERT_TRUE(disk()->SyncNames());
  EXPECT_EQ(Names(), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ((*disk()->Open("c", Mode::kRead))->bytes(), 1u);
  ASSERT_TRUE(disk()->Remove("b"));
  EXPECT_FALSE(disk()->Remove("b"));
  EXPECT_FALSE(disk()->Rename("b", "d"));
  EXPECT_EQ(Names(), std::vector<std::string>{"c"});
}

TEST_F(PosixDiskTest, AMessageNamesTheFile) {
  const auto missing = disk()->Open("0.1.log", Mode::kRead);
  EXPECT_EQ(missing.error().message, path() + "/0.1.log: cannot open: No such file or directory");
}

TEST(PosixDisk, AFullDiskIsNoSpace) {
  // A limit on the size of files stands for a full disk.
  const auto ask = [] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 100, .rlim_max = 100};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) std::_Exit(2);
    std::string name = std::filesystem::temp_directory_path() / "plov-log-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::_Exit(3);
    const auto disk = PosixDisk::Open(name);
    const auto file = (*disk)->Open("file", Mode::kCreate);
    const std::vector<std::byte> content(200);
    const Bytes piece = content;
    const auto written = (*file)->Write(0, std::span(&piece, 1));
    std::filesystem::remove_all(name);
    std::_Exit(!written && written.error().code == Code::kNoSpace ? 0 : 1);
  };
  EXPECT_EXIT(ask(), ::testing::ExitedWithCode(0), "");
}

TEST_F(PosixDiskTest, FilesAreSortedByTheirNames) {
  for (const char* name :
       {"0.1.log", "0.12.log", "3.1.log", "0.2.snapshot", "0.3.log.new", "1.2.snapshot.new",
        "spare.0", "spare.7", "spare.8.new", "lock", "log.lock",
        // Nobody's.
        "0.0.log", "00.1.log", "0.01.log", "-1.1.log", "0.1.logs", "0.1.log.old", "letter.new",
        "4294967296.1.log", "0.18446744073709551616.log", "spare.", "spare.x", "spare.01"}) {
    Make(name, 0);
  }
  const auto folder = Folder::List(disk());
  ASSERT_TRUE(folder);
  ASSERT_EQ(folder->shards.size(), 2u);
  EXPECT_EQ(folder->shards.at(0).segments, (std::set<uint64_t>{1, 12}));
  EXPECT_EQ(folder->shards.at(0).snapshots, std::set<uint64_t>{2});
  EXPECT_EQ(folder->shards.at(3).segments, std::set<uint64_t>{1});
  EXPECT_EQ(folder->unfinished.size(), 3u);
  EXPECT_EQ(folder->spares.size(), 2u);
  EXPECT_EQ(folder->others.size(), 12u);
}

constexpr uint64_t kSpareBytes = (uint64_t{2} << 20) + 4096;

TEST_F(PosixDiskTest, ASpareIsAllZeroes) {
  Spares spares(disk(), kSpareBytes, {});
  const auto name = spares.Take();
  ASSERT_TRUE(name) << name.error().message;
  const auto file = disk()->Open(*name, Mode::kRead);
  ASSERT_EQ((*file)->bytes(), kSpareBytes);
  std::vector<std::byte> content(kSpareBytes);
  ASSERT_TRUE((*file)->Read(0, content));
  EXPECT_EQ(content, std::vector<std::byte>(kSpareBytes));
  EXPECT_EQ((*disk()->Open(*spares.MakeOf(10), Mode::kRead))->bytes(), 10u);
}

TEST_F(PosixDiskTest, SparesOfAnotherSizeAreRemoved) {
  Make("spare.3", kSpareBytes);
  Make("spare.9", kSpareBytes - 1);
  Spares spares(disk(), kSpareBytes, {"spare.3", "spare.9"});
  EXPECT_EQ(Names(), std::vector<std::string>{"spare.3"});
  EXPECT_EQ(*spares.Take(), "spare.3");
  EXPECT_EQ(*spares.Take(), "spare.10");
}

TEST_F(PosixDiskTest, AnOldSegmentIsASpareUntilThereAreEnough) {
  Spares spares(disk(), kSpareBytes, {});
  for (const char* name : {"0.1.log", "0.2.log", "0.3.log"}) {
    Make(name, kSpareBytes);
    spares.Give(name);
  }
  Make("0.4.log", 5);
  spares.Give("0.4.log");
  EXPECT_EQ(Names(), (std::vector<std::string>{"spare.0", "spare.1"}));
  ASSERT_TRUE(spares.Make());
  EXPECT_EQ(Names().size(), Spares::kMax);
  EXPECT_EQ(*spares.Take(), "spare.1");
}

TEST_F(PosixDiskTest, AFileWithAnotherNameIsNoSpare) {
  Spares spares(disk(), kSpareBytes, {});
  Make("0.1.log", kSpareBytes);
  ASSERT_TRUE(disk()->Link("0.1.log", "somebody's"));
  spares.Give("0.1.log");
  EXPECT_EQ(Names(), std::vector<std::string>{"somebody's"});
}

TEST_F(PosixDiskTest, TheMakerMakesWhatIsTaken) {
  Spares spares(disk(), 4096, {});
  std::thread maker([&spares] {
    while (spares.WaitUntilWanted()) ASSERT_TRUE(spares.Make());
  });
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(spares.Take());
  spares.Stop();
  maker.join();
  EXPECT_FALSE(spares.WaitUntilWanted());
}

TEST_F(PosixDiskTest, AMakerThatFailedWaits) {
  Spares spares(disk(), 4096, {});
  std::filesystem::remove_all(path());
  ASSERT_FALSE(spares.Make());
  const auto before = std::chrono::steady_clock::now();
  EXPECT_TRUE(spares.WaitUntilWanted());
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(900));
}

}  // namespace
}  // namespace plov::log
