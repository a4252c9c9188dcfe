// Warm files that a server cannot go on with, or only with less than was there.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "fabric/os.h"
#include "tests/support/plovd.h"
#include "verify/bucket.h"
#include "verify/superblock.h"

namespace plov {
namespace {

using test::Child;
using test::Plovd;
using ::testing::HasSubstr;

constexpr int kCannotServe = 3;
constexpr int kMore = 100'000;

class WarmFile : public ::testing::Test {
 protected:
  std::unique_ptr<Plovd> Serve(std::vector<std::string> options) {
    options.insert(options.end(), {"--warm", path_});
    return std::make_unique<Plovd>(options);
  }
  // The one line with which a server refuses.
  std::string Refusal(std::vector<std::string> options) {
    const std::string log = folder_.path() + "/refusal";
    std::vector<std::string> arguments = {test::PlovdPath(), "--listen",
                                          "shm:" + folder_.path() + "/s.sock"};
    options.insert(options.end(), {"--warm", path_});
    arguments.insert(arguments.end(), options.begin(), options.end());
    Child child = Child::Exec(arguments, log);
    EXPECT_EQ(child.Wait(), kCannotServe);
    std::ifstream file(log);
    std::ostringstream text;
    text << file.rdbuf();
    std::string line = text.str();
    EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
    EXPECT_THAT(line, HasSubstr(path_));
    return line;
  }
  void Stop(Plovd* server) {
    server->Signal(SIGTERM);
    ASSERT_EQ(server->Wait(), 0);
  }
  // A file with some items in it.
  void Fill(std::vector<std::string> options) {
    const auto server = Serve(std::move(options));
    Client client = server->Connect();
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(client.Put("k" + std::to_string(i), std::string(1000, 'v')));
    }
    Stop(server.get());
  }

  test::TemporaryFolder folder_{test::TemporaryFolder::Where::kTmpfs};
  std::string path_ = folder_.path() + "/memory";
};

TEST_F(WarmFile, SecondServerOnItIsRefused) {
  const auto server = Serve({"--memory", "64M"});
  EXPECT_THAT(Refusal({"--memory", "64M"}), HasSubstr("stop it, or name another file"));
  EXPECT_TRUE(server->Connect().Put("k", "v"));
}

// Takes the locks of all descriptors of the file that this process has, and of new ones.
std::vector<fabric::Fd> LockAll(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry, gone) == path) names.push_back(entry.path());
  }
  std::vector<fabric::Fd> locked;
  for (const std::string& name : names) {
    EXPECT_EQ(::flock(std::stoi(name.substr(name.rfind('/') + 1)), LOCK_SH | LOCK_NB), 0);
    locked.emplace_back(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(::flock(locked.back().get(), LOCK_SH | LOCK_NB), 0);
  }
  return locked;
}

TEST_F(WarmFile, ClientThatLocksItDoesNotStopTheNextStart) {
  const auto server = Serve({"--memory", "64M"});
  Client client = server->Connect({.timeout = std::chrono::seconds(20)});
  ASSERT_TRUE(client.Put("k", "v"));
  const fabric::Fd own(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  const auto locked = LockAll(path_);
  EXPECT_GE(locked.size(), 1);
  server->Signal(SIGKILL);
  server->Wait();
  server->Restart();
  EXPECT_EQ((*client.Get("k"))->value, "v");
  Stop(server.get());
  EXPECT_FALSE(std::filesystem::exists(path_ + ".lock"));
}

TEST_F(WarmFile, MoreMemoryWorksAndTooLittleIsSaid) {
  Fill({"--memory", "64M"});
  {
    const auto server = Serve({"--memory", "256M"});
    Client client = server->Connect();
    EXPECT_EQ((*client.Get("k7"))->value, std::string(1000, 'v'));
    std::vector<std::string> keys;
    for (int i = 0; i < kMore; ++i) keys.push_back("more" + std::to_string(i));
    const std::string value(1000, 'm');
    std::vector<PutItem> items;
    for (const std::string& key : keys) items.push_back({key, value});
    size_t stored = 0;
    client.PutMany(items, [&stored](size_t, auto result) { stored += result.has_value(); });
    ASSERT_EQ(stored, items.size());
    Stop(server.get());
  }
  const std::string line = Refusal({"--memory", "64M"});
  EXPECT_THAT(line, HasSubstr("--memory 1"));
  const size_t at = line.find("--memory ") + 9;
  const auto server = Serve({"--memory", line.substr(at, line.find(' ', at) - at)});
  Client client = server->Connect();
  for (int i = 0; i < kMore; ++i) ASSERT_TRUE(*client.Get("more" + std::to_string(i))) << i;
}

TEST_F(WarmFile, LessMemoryThatIsEnoughWorks) {
  Fill({"--memory", "64M"});
  const auto server = Serve({"--memory", "16M"});
  Client client = server->Connect();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(*client.Get("k" + std::to_string(i))) << i;
}

TEST_F(WarmFile, OtherShardsOrBucketsAreRefused) {
  Fill({"--memory", "64M", "--shards", "2"});
  EXPECT_THAT(Refusal({"--memory", "64M"}), HasSubstr("start with --shards 2"));
  EXPECT_THAT(Refusal({"--memory", "64M", "--shards", "3"}), HasSubstr("start with --shards 2"));
  EXPECT_THAT(Refusal({"--memory", "64M", "--shards", "2", "--bucket-bytes", "128"}),
              HasSubstr("start with --bucket-bytes 64"));
  const auto server = Serve({"--memory", "64M", "--shards", "2"});
  Client client = server->Connect();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(*client.Get("k" + std::to_string(i))) << i;
}

TEST_F(WarmFile, OneOfTwoServersFilesIsRefused) {
  Fill({"--memory", "64M", "--shards", "2"});
  std::filesystem::rename(path_ + ".1", folder_.path() + "/kept");
  std::filesystem::remove(path_);
  Fill({"--memory", "64M", "--shards", "2"});
  std::filesystem::rename(folder_.path() + "/kept", path_ + ".1");
  EXPECT_THAT(Refusal({"--memory", "64M", "--shards", "2", "--log-level", "error"}),
              HasSubstr("another server"));
}

TEST_F(WarmFile, CutFilesAreRefusedAndStayAsTheyAre) {
  Fill({"--memory", "64M"});
  for (const uintmax_t bytes :
       {uintmax_t{100'000'000}, uintmax_t{300'000}, uintmax_t{5000}, uintmax_t{7}}) {
    std::filesystem::resize_file(path_, bytes);
    for (int i = 0; i < 2; ++i) {
      EXPECT_THAT(Refusal({"--memory", "64M"}), HasSubstr("move it away")) << bytes;
      EXPECT_EQ(std::filesystem::file_size(path_), bytes);
    }
  }
}

TEST_F(WarmFile, FilesOfOtherFormatsAreRefused) {
  Fill({"--memory", "64M"});
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  for (const size_t offset : {size_t{0}, verify::kMirrorOffset}) {
    file.seekp(static_cast<std::streamoff>(offset + offsetof(verify::Superblock, format)));
    file.put(99);
  }
  file.close();
  EXPECT_THAT(Refusal({"--memory", "64M"}), HasSubstr("another release"));
  EXPECT_THAT(Refusal({"--memory", "64M"}), HasSubstr("move it away"));
}

TEST_F(WarmFile, WhatIsNoFileOfOursIsRefused) {
  std::ofstream(path_) << std::string(1 << 20, 'x');
  EXPECT_THAT(Refusal({"--memory", "64M"}), HasSubstr("not the memory of a plov shard"));
  EXPECT_EQ(std::filesystem::file_size(path_), 1 << 20);
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_NE(Refusal({"--memory", "64M"}), "");
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(Refusal({"--memory", "64M"}), HasSubstr("not a regular file"));
  std::filesystem::remove(path_);
  path_ = folder_.path() + "/none/memory";
  EXPECT_NE(Refusal({"--memory", "64M"}), "");
}

// A client that remembers where an item's record is must not find it there when the server has
// dropped the item.
TEST_F(WarmFile, DroppedItemsAreNotRemembered) {
  const auto server = Serve({"--memory", "64M"});
  Client client = server->Connect({.timeout = std::chrono::seconds(20)});
  const std::string value(1000, 'v');
  ASSERT_TRUE(client.Put("k", value));
  ASSERT_TRUE(*client.Get("k"));
  ASSERT_TRUE(*client.Get("k"));
  EXPECT_EQ(client.stats().known_reads, 1);
  ASSERT_TRUE(client.Put("last", value));  // whose bucket's damage the journal mends
  server->Signal(SIGKILL);
  server->Wait();
  verify::Superblock superblock;
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.read(reinterpret_cast<char*>(&superblock), sizeof(superblock));
  const verify::TableExtent table = superblock.tables[0];
  for (uint64_t i = 0; i < table.bucket_count; ++i) {
    const auto checksum = static_cast<std::streamoff>(table.offset + i * table.bucket_bytes);
    file.seekg(checksum);
    const int byte = file.get();
    file.seekp(checksum);
    file.put(static_cast<char>(~byte));
  }
  file.close();
  server->Restart();
  EXPECT_THAT(server->Log(), HasSubstr("damaged"));
  EXPECT_FALSE((*client.Get("k")).has_value());
}

}  // namespace
}  // namespace plov
