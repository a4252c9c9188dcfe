// Starting and stopping plovd.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Child;
using test::Plovd;

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// What is in the folder beside the log.
size_t LeftIn(const std::string& folder) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    count += entry.path().filename() != "log" && entry.path().filename() != "second";
  }
  return count;
}

TEST(Start, CleanStopLeavesNothingBehind) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Plovd server({"--memory", "64M"});
    EXPECT_EQ(LeftIn(server.folder()), 2) << "socket and lock";
    server.Signal(signal);
    EXPECT_EQ(server.Wait(), 0);
    EXPECT_EQ(LeftIn(server.folder()), 0);
  }
}

TEST(Start, HangUpWithoutAFileChangesNothing) {
  Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  server.Signal(SIGHUP);
  EXPECT_TRUE(client.Put("k", "v"));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
}

TEST(Start, CleanStopDoesNotWaitForClients) {
  Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::milliseconds(200)});
  ASSERT_TRUE(client.Put("k", "v"));
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_EQ(client.Get("k").error().code, Code::kUnavailable);
}

TEST(Start, SecondServerOnANameIsRefused) {
  Plovd server({"--memory", "64M"});
  const std::string output = server.folder() + "/second";
  Child second =
      Child::Exec({test::PlovdPath(), "--listen", server.uri(), "--memory", "16M"}, output);
  EXPECT_EQ(second.Wait(), 3);
  EXPECT_NE(TextOf(output).find(server.uri().starts_with("shm:") ? "another plovd serves"
                                                                 : "another server listens"),
            std::string::npos)
      << TextOf(output);
  Client client = server.Connect();
  EXPECT_TRUE(client.Put("k", "v")) << "the first goes on";
}

TEST(Start, AKilledServersNameIsFreeAtOnce) {
  Plovd server({"--memory", "64M"});
  server.Signal(SIGKILL);
  EXPECT_EQ(server.Wait(), -SIGKILL);
  server.Restart();
  Client client = server.Connect();
  EXPECT_TRUE(client.Put("k", "v"));
}

TEST(Start, ImpossibleOptionsGiveOneLineAndStatusTwo) {
  const test::TemporaryFolder folder;
  const std::string output = folder.path() + "/log";
  const std::vector<std::vector<std::string>> impossible = {
      {"--no-such-option"},         {"--memory", "1"},       {"--memory", "lots"},
      {"--memory", "900T"},         {"--shards", "0"},       {"--shards", "-1"},
      {"--bucket-bytes", "65"},     {"--max-value", "17M"},  {"--spin-us", "1h"},
      {"--config", "/nonexistent"}, {"--log-level", "loud"}, {"stray"},
  };
  for (const auto& options : impossible) {
    std::vector<std::string> arguments = {test::PlovdPath(), "--listen",
                                          "shm:" + folder.path() + "/s.sock"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    EXPECT_EQ(Child::Exec(arguments, output).Wait(), 2) << options[0];
    const std::string text = TextOf(output);
    EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
    EXPECT_TRUE(text.starts_with("plovd: ")) << text;
  }
}

TEST(Start, AnImpossibleNameGivesOneLine) {
  const test::TemporaryFolder folder;
  const std::string output = folder.path() + "/log";
  const std::vector<std::pair<std::string, int>> names = {{"shm:", 2},
                                                          {"shm:a/b", 2},
                                                          {"tcp:1", 2},
                                                          {"", 2},
                                                          {"rdma:10.0.0.1", 2},
                                                          {"rdma://10.0.0.1:0", 2},
                                                          {"shm:/" + std::string(200, 'x'), 2},
                                                          {"shm:/nonexistent/folder/s.sock", 3}};
  for (const auto& [uri, status] : names) {
    EXPECT_EQ(Child::Exec({test::PlovdPath(), "--listen", uri, "--memory", "16M"}, output).Wait(),
              status)
        << uri;
    EXPECT_EQ(std::ranges::count(TextOf(output), '\n'), 1) << TextOf(output);
  }
}

TEST(Start, MissingHugePagesAreNamedWithTheirMend) {
  std::ifstream file("/proc/sys/vm/nr_hugepages");
  int configured = 0;
  file >> configured;
  if (configured > 0) GTEST_SKIP() << "this machine has huge pages";
  const test::TemporaryFolder folder;
  const std::string output = folder.path() + "/log";
  Child child = Child::Exec({test::PlovdPath(), "--listen", "shm:" + folder.path() + "/s.sock",
                             "--memory", "64M", "--hugepages"},
                            output);
  EXPECT_EQ(child.Wait(), 3);
  EXPECT_NE(TextOf(output).find("vm.nr_hugepages"), std::string::npos) << TextOf(output);
}

// In a mount namespace of its own, so that the machine's /dev/shm stays as it is.
int ServeWithFullShm() {
  if (::unshare(CLONE_NEWNS) != 0) return 77;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (::mount("none", "/dev/shm", "tmpfs", 0, "size=64k") != 0) return 77;
  std::ofstream file("/dev/shm/full");
  while (file << std::string(4096, 'x') << std::flush) {
  }
  Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  const std::string value(1 << 20, 'v');
  if (!client.Put("k", value)) return 1;
  return (*client.Get("k"))->value == value ? 0 : 2;
}

TEST(Start, AFullDevShmDoesNotMatter) {
  Child child = Child::Fork([] { return ServeWithFullShm(); });
  const int status = child.Wait();
  if (status == 77) GTEST_SKIP() << "needs root, to mount a small /dev/shm";
  EXPECT_EQ(status, 0);
}

TEST(Start, MemoryThatCannotBeHadIsSaid) {
  const test::TemporaryFolder folder;
  const std::string output = folder.path() + "/log";
  Child child = Child::Fork([&] {
    const rlimit limit{1 << 20, 1 << 20};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return Child::Exec({test::PlovdPath(), "--listen", "shm:" + folder.path() + "/s.sock",
                        "--memory", "64M"},
                       output)
        .Wait();
  });
  EXPECT_EQ(child.Wait(), 3);
  EXPECT_NE(TextOf(output).find("lower --memory"), std::string::npos) << TextOf(output);
}

}  // namespace
}  // namespace plov
