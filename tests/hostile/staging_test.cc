// Many clients PUT values that are large beside the server's memory: what the server holds stays
// within what its limits say, and every PUT ends well.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/hostile/raw_client.h"
#include "tests/support/child.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/support/sanitizers.h"

namespace plov {
namespace {

constexpr size_t kClients = 60;
constexpr size_t kStagedBytes = size_t{16} << 20;
constexpr uint64_t kRest = uint64_t{test::kSanitized ? 64 : 4} << 20;

// Resident bytes of a process that have no file on a disk behind them: its own and shared memory.
uint64_t MemoryOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  uint64_t kib = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("RssAnon:") || line.starts_with("RssShmem:")) {
      kib += std::stoull(line.substr(line.find(':') + 1));
    }
  }
  return kib << 10;
}

TEST(Staging, IsNoMemoryOfTheServers) {
  test::Plovd server({"--memory", "64M"});
  const uint64_t at_start = MemoryOf(server.pid());
  const std::string value(kStagedBytes, 'v');
  std::vector<Client> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(server.Connect({.timeout = std::chrono::seconds(30)}));
    const auto put = clients.back().Put("large", value);
    ASSERT_TRUE(put) << put.error().message;
  }
  for (Client& client : clients) EXPECT_TRUE(client.Put("large", value));
  const uint64_t of_connections = test::StatOf(&clients[0], "connection_bytes_max");
  EXPECT_LT(of_connections, kClients * (fabric::shm::Channel::kBytes + (16 << 10)));
  EXPECT_LT(MemoryOf(server.pid()), at_start + (uint64_t{64} << 20) + of_connections + kRest);
}

TEST(Staging, ClientThatTouchesAllItCanTakesNoMoreThanIsCounted) {
  test::Plovd server({"--memory", "16M"});
  const uint64_t at_start = MemoryOf(server.pid());
  std::vector<RawClient> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.emplace_back(server, PROT_READ | PROT_WRITE);
    ASSERT_EQ(clients.back().pages().size(), 1) << "more than its channel is there to write";
    for (std::byte& byte : clients.back().pages()[0].bytes()) byte = std::byte{0xff};
    EXPECT_EQ(clients.back().pages()[0].bytes().size(), fabric::shm::Channel::kBytes);
  }
  Client honest = server.Connect({.timeout = std::chrono::seconds(30)});
  EXPECT_TRUE(honest.Put("k", "v"));
  EXPECT_LT(MemoryOf(server.pid()),
            at_start + clients.size() * fabric::shm::Channel::kBytes + kRest);
}

TEST(Staging, BeyondTheFileSizeOfTheClientIsAnErrorAndNoSignal) {
  test::Plovd server({"--memory", "16M"});
  auto child = test::Child::Fork([&server] {
    const rlimit small{8192, 8192};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 2;
    Client client = server.Connect();
    if (!client.Put("small", "v")) return 3;
    const auto put = client.Put("large", std::string(100'000, 'v'));
    return !put && put.error().code == Code::kSystem &&
                   put.error().message.find("ulimit -f") != std::string::npos
               ? 0
               : 4;
  });
  EXPECT_EQ(child.Wait(), 0);
}

}  // namespace
}  // namespace plov
