// What the server's CPU does not do.

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/support/rdma.h"
#include "tests/support/sanitizers.h"

namespace plov {
namespace {

using test::CpuUsOf;
using test::Plovd;

// Whether no thread of the process runs, or would if it had a processor.
bool AllSleep(pid_t pid) {
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::ifstream file(task.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const size_t state = stat.rfind(')') + 2;  // behind the name, which may hold anything
    if (state >= stat.size() || stat[state] != 'S') return false;
  }
  return true;
}

// Waits until the server sleeps: its CPU time stands still over 50 ms, and it does not only wait for
// a processor.
uint64_t SettledCpuUs(pid_t pid) {
  uint64_t last = CpuUsOf(pid);
  for (int i = 0; i < 600; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    const bool sleeps = AllSleep(pid);
    const uint64_t now = CpuUsOf(pid);
    if (now == last && sleeps) return now;
    last = now;
  }
  return UINT64_MAX;
}

TEST(Idle, AnIdleServerUsesNoCpu) {
  if (test::kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer has a busy thread of its own";
  const Plovd server({"--memory", "64M", "--shards", "2"});
  Client client = server.Connect();
  ASSERT_TRUE(client.Put("k", "v"));
  const uint64_t before = SettledCpuUs(server.pid());
  ASSERT_NE(before, UINT64_MAX) << "the server never slept";
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_EQ(CpuUsOf(server.pid()), before);
}

TEST(Idle, GetsUseNoServerCpu) {
  if (test::kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer has a busy thread of its own";
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(client.Put("k" + std::to_string(i), std::string(static_cast<size_t>(i), 'v')));
  }
  const uint64_t before = SettledCpuUs(server.pid());
  ASSERT_NE(before, UINT64_MAX) << "the server never slept";
  const size_t gets = size_t{200'000} / static_cast<size_t>(test::Slowness());
  size_t right = 0;
  for (size_t i = 0; i < gets; ++i) {
    const auto hit = client.Get("k" + std::to_string(i % 1000));
    right += hit && *hit && (*hit)->value.size() == i % 1000;
  }
  EXPECT_EQ(right, gets);
  // Over RDMA the server asks a silent client once a second whether it lives, whatever that reads:
  // far less than 10 us for each GET, of which an answer by message takes many times that there.
  EXPECT_LE(CpuUsOf(server.pid()) - before, test::OverRdma() ? 10 * gets : 0);
}

TEST(Idle, GetsGoOnWhileTheServerIsStopped) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::milliseconds(300)});
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(client.Put("k" + std::to_string(i), "v"));
  server.Signal(SIGSTOP);
  const size_t gets = size_t{100'000} / static_cast<size_t>(test::Slowness());
  size_t right = 0;
  for (size_t i = 0; i < gets; ++i) {
    const auto hit = client.Get("k" + std::to_string(i % 1200));
    right += hit && hit->has_value() == (i % 1200 < 1000);
  }
  EXPECT_EQ(right, gets);
  EXPECT_EQ(client.Put("k0", "w").error().code, Code::kTimeout);
  server.Signal(SIGCONT);
  EXPECT_TRUE(client.Put("k1", "w"));
  EXPECT_EQ((*client.Get("k1"))->value, "w");
  EXPECT_EQ((*client.Get("k0"))->value, "w") << "sent before, so applied before k1";
}

}  // namespace
}  // namespace plov
