// Which process a server is, on a host made of a few files.

#include "client/cli/server_process.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/folder.h"

namespace plov::cli {
namespace {

class ServerProcessTest : public testing::Test {
 protected:
  void Run(const std::string& pid, const std::string& stat) const {
    std::filesystem::create_directories(folder_.path() + "/proc/" + pid);
    std::ofstream(folder_.path() + "/proc/" + pid + "/stat") << stat;
  }
  std::optional<ServerProcess> Of(std::string_view uri, std::string_view text) const {
    return ProcessOf(uri, text, program::Machine(folder_.path()));
  }

  test::TemporaryFolder folder_;
};

TEST_F(ServerProcessTest, IsThePlovdOfThatNumber) {
  Run("17", "17 (plovd) S 1 17 17 0");
  Run("18", "18 (plovd) T 1 18 18 0");
  ASSERT_TRUE(Of("shm:default", "pid 17\n"));
  EXPECT_EQ(Of("shm:default", "pid 17\n")->id, 17);
  EXPECT_FALSE(Of("shm:default", "pid 17\n")->is_stopped);
  EXPECT_TRUE(Of("shm:/a.sock", "items 1\npid 18\n")->is_stopped);
}

TEST_F(ServerProcessTest, IsNoneOfAnotherHost) {
  Run("17", "17 (plovd) T 1 17 17 0");
  EXPECT_FALSE(Of("rdma://10.0.0.1:7743", "pid 17\n"));
}

TEST_F(ServerProcessTest, IsNobodyElse) {
  Run("1", "1 (systemd) S 0 1 1 0");
  Run("2", "2 (plovd)");
  for (const char* text :
       {"pid 1\n", "pid 2\n", "pid 3\n", "pid 17x\n", "pid -1\n", "pid \n", ""}) {
    EXPECT_FALSE(Of("shm:default", text)) << text;
  }
}

}  // namespace
}  // namespace plov::cli
