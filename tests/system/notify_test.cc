// What plovd tells systemd, and when its watchdog is not fed.

#include <dirent.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fabric/os.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"

namespace plov {
namespace {

using std::chrono::milliseconds;
using test::Plovd;

constexpr milliseconds kLong = std::chrono::seconds(60);

// Where a service manager listens, for the servers that are started while it exists.
class Manager {
 public:
  explicit Manager(const char* watchdog_us = nullptr)
      : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ::setenv("NOTIFY_SOCKET", path_.c_str(), 1);
    if (watchdog_us != nullptr) ::setenv("WATCHDOG_USEC", watchdog_us, 1);
  }
  ~Manager() {
    ::unsetenv("NOTIFY_SOCKET");
    ::unsetenv("WATCHDOG_USEC");
  }

  // The next word; empty: none came within the time.
  std::string Next(milliseconds limit) {
    pollfd poll_fd{socket_.get(), POLLIN, 0};
    if (::poll(&poll_fd, 1, static_cast<int>(limit.count())) != 1) return {};
    char bytes[4096];
    const ssize_t count = ::recv(socket_.get(), bytes, sizeof(bytes), 0);
    return {bytes, static_cast<size_t>(std::max<ssize_t>(count, 0))};
  }
  // The next that has this in it; whatever comes before is lost.
  std::string Await(const std::string& part) {
    std::string word;
    do {
      word = Next(kLong);
    } while (!word.empty() && word.find(part) == std::string::npos);
    return word;
  }
  void Drop() {
    while (!Next(milliseconds(0)).empty()) continue;
  }

 private:
  test::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/notify";
  fabric::Fd socket_;
};

TEST(Notify, ReadyComesWhenItServesAndStoppingAtTheEnd) {
  Manager manager;
  Plovd server({"--memory", "64M"});
  EXPECT_NE(manager.Next(kLong).find("EXTEND_TIMEOUT_USEC="), std::string::npos);
  EXPECT_EQ(manager.Await("READY=1"), "READY=1\nSTATUS=serving 0 items, 0 MiB used, 0 clients");
  server.Signal(SIGTERM);
  EXPECT_FALSE(manager.Await("STOPPING=1").empty());
  EXPECT_EQ(server.Wait(), 0);
}

TEST(Notify, AStartThatFailsIsNeverReady) {
  Manager manager;
  const test::TemporaryFolder folder;
  test::Child child = test::Child::Exec(
      {test::PlovdPath(), "--listen", "shm:/nonexistent/s.sock", "--memory", "16M"},
      folder.path() + "/log");
  EXPECT_EQ(child.Wait(), 3);
  for (std::string word = manager.Next(milliseconds(0)); !word.empty();) {
    EXPECT_EQ(word.find("READY"), std::string::npos);
    word = manager.Next(milliseconds(0));
  }
}

TEST(Notify, TheStatusFollowsTheItems) {
  Manager manager;
  Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(client.Put("k" + std::to_string(i), "v"));
  EXPECT_FALSE(manager.Await("STATUS=serving 1000 items").empty());
}

TEST(Notify, RecoveredItemsAreInTheFirstStatus) {
  const test::TemporaryFolder folder;
  const std::vector<std::string> options = {
      "--memory", "64M", "--warm", folder.path() + "/memory", "--log", folder.path() + "/log"};
  {
    Plovd server(options);
    Client client = server.Connect();
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(client.Put("k" + std::to_string(i), "v"));
    server.Signal(SIGKILL);
    server.Wait();
  }
  Manager manager;
  Plovd server(options);
  EXPECT_NE(manager.Await("READY=1").find("serving 1000 items"), std::string::npos);
}

TEST(Notify, AHangUpIsSaidBeforeAndAfterIt) {
  Manager manager;
  Plovd server({"--memory", "64M"});
  EXPECT_FALSE(manager.Await("READY=1").empty());
  server.Signal(SIGHUP);
  EXPECT_TRUE(manager.Await("=1\n").starts_with("RELOADING=1\nMONOTONIC_USEC="));
  EXPECT_FALSE(manager.Await("READY=1").empty());
}

TEST(Watchdog, IsFedWhileTheTableGrows) {
  Manager manager("200000");
  Plovd server({"--memory", "256M"});
  // Of all PUTs together, on a busy machine.
  Client client = server.Connect({.timeout = std::chrono::minutes(2)});
  manager.Drop();
  std::vector<std::string> keys;
  for (int i = 0; i < 300'000; ++i) keys.push_back("key-" + std::to_string(i));
  std::vector<PutItem> items;
  for (const std::string& key : keys) items.push_back({key, "value", {}});
  size_t stored = 0;
  client.PutMany(items,
                 [&stored](size_t, Client::PutResult result) { stored += result.has_value(); });
  EXPECT_EQ(stored, keys.size());
  EXPECT_GE(test::StatOf(&client, "growths"), 4u);
  EXPECT_FALSE(manager.Await("WATCHDOG=1").empty());
}

TEST(Watchdog, IsFedWhileTheServerIsIdle) {
  Manager manager("200000");
  const Plovd server({"--memory", "64M", "--shards", "3"});
  EXPECT_FALSE(manager.Await("READY=1").empty());
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(manager.Await("WATCHDOG=1").empty());
}

// The thread that serves shards.
pid_t ShardThreadOf(pid_t pid) {
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    std::getline(file, name);
    if (name == "plovd-shard") return std::stoi(task.path().filename());
  }
  return -1;
}

// That thread alone, until PTRACE_DETACH.
bool StopThread(pid_t thread) {
  return ::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0 &&
         ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0 &&
         ::waitpid(thread, nullptr, __WALL) == thread;
}

// A debugger stops that thread alone, in the middle of its work: for all that can be seen, it is stuck.
TEST(Watchdog, IsNotFedWhileAShardsThreadIsStuck) {
  Manager manager("200000");
  Plovd server({"--memory", "64M", "--spin-us", "1000000"});
  Client client = server.Connect({.timeout = milliseconds(100)});
  const pid_t thread = ShardThreadOf(server.pid());
  if (!StopThread(thread)) GTEST_SKIP() << "no ptrace here";
  ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
  std::atomic<bool> ends = false;
  std::thread writer([&] {
    std::vector<PutItem> items(4096, {"key", "value", {}});
    while (!ends) client.PutMany(items, [](size_t, const Client::PutResult&) {});
  });
  bool is_stuck = false;
  for (int i = 0; i < 100 && !is_stuck; ++i) {  // it may have been asleep, which is no fault
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_TRUE(StopThread(thread));
    manager.Next(milliseconds(200));  // what it had done counts once
    manager.Drop();
    is_stuck = manager.Next(milliseconds(2000)).find("WATCHDOG=1") == std::string::npos;
    if (!is_stuck) ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
  }
  EXPECT_TRUE(is_stuck);
  ends = true;
  ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
  EXPECT_FALSE(manager.Await("WATCHDOG=1").empty());
  writer.join();
}

}  // namespace
}  // namespace plov
