// A host with less memory than --memory: a tmpfs of 16 MiB in a mount namespace of this process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/support/sanitizers.h"

namespace plov {
namespace {

using test::CpuUsOf;
using test::Plovd;
using ::testing::HasSubstr;

class FullHost : public ::testing::Test {
 protected:
  void SetUp() override {
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("tmpfs", folder_.path().c_str(), "tmpfs", 0, "size=16M") == 0;
    if (!mounted_) GTEST_SKIP() << "no file system can be mounted here";
  }
  void TearDown() override {
    server_.reset();
    if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
  }

  Client Serve() {
    server_ = std::make_unique<Plovd>(
        std::vector<std::string>{"--memory", "64M", "--warm", folder_.path() + "/memory"});
    return server_->Connect({.timeout = std::chrono::seconds(60)});
  }
  // Stores items until one is refused; how many went in.
  static size_t Fill(Client* client, size_t value_bytes, std::string* refusal) {
    for (size_t i = 0;; ++i) {
      const auto put = client->Put("k" + std::to_string(i), std::string(value_bytes, 'v'));
      if (put) continue;
      EXPECT_EQ(put.error().code, Code::kNoSpace);
      *refusal = put.error().message;
      return i;
    }
  }
  static void Check(Client* client, size_t count, size_t value_bytes) {
    size_t right = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto hit = client->Get("k" + std::to_string(i));
      right += hit && *hit && (*hit)->value.size() == value_bytes;
    }
    EXPECT_EQ(right, count);
  }

  bool mounted_ = false;
  test::TemporaryFolder folder_;
  std::unique_ptr<Plovd> server_;
};

// The table cannot grow: its growth was begun and given up again and again, by an idle server.
TEST_F(FullHost, IsNamedOnceAndLeavesTheServerIdle) {
  Client client = Serve();
  std::string refusal;
  const size_t stored = Fill(&client, 8, &refusal);
  EXPECT_THAT(refusal, HasSubstr("host"));
  EXPECT_EQ(test::StatOf(&client, "host_refuses"), 1);
  const std::string log = server_->Log();
  const size_t at = log.find("the file system of " + folder_.path() + "/memory (16 MiB");
  ASSERT_NE(at, std::string::npos) << log;
  EXPECT_EQ(log.find("the file system", at + 1), std::string::npos) << log;
  EXPECT_EQ(log.find("raise --memory"), std::string::npos) << log;
  EXPECT_TRUE(test::kThreadSanitizer || test::Eventually(
                                            [this] {
                                              const uint64_t before = CpuUsOf(server_->pid());
                                              std::this_thread::sleep_for(std::chrono::seconds(1));
                                              return CpuUsOf(server_->pid()) == before;
                                            },
                                            std::chrono::seconds(60)));
  Check(&client, stored, 8);
}

TEST_F(FullHost, WithRoomAgainTakesWritesAgain) {
  Client client = Serve();
  std::string refusal;
  const size_t stored = Fill(&client, 2000, &refusal);
  EXPECT_THAT(refusal, HasSubstr("host"));
  ASSERT_EQ(::mount("tmpfs", folder_.path().c_str(), "tmpfs", MS_REMOUNT, "size=64M"), 0);
  EXPECT_TRUE(
      test::Eventually([&client] { return client.Put("more", std::string(2000, 'v')).has_value(); },
                       std::chrono::seconds(60)));
  EXPECT_EQ(test::StatOf(&client, "host_refuses"), 0);
  Check(&client, stored, 2000);
}

}  // namespace
}  // namespace plov
