// Many clients of one server over RDMA, some of which die: what is left of them, and what the rest
// notices.

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/support/rdma.h"

namespace plov {
namespace {

using std::chrono::minutes;
using test::Child;
using test::Eventually;
using test::Plovd;
using test::QueuePairs;
using test::SharedMemory;
using test::StatOf;

constexpr size_t kProcesses = 6;
constexpr size_t kKilled = 2;  // of them
constexpr size_t kClientsEach = 50;
constexpr size_t kClients = kProcesses * kClientsEach;
constexpr size_t kLeft = kClients - kKilled * kClientsEach;
// Three hundred connections take seconds where a processor is emulated.
constexpr minutes kWaitMax{4};
const ClientOptions kOptions = {.timeout = std::chrono::minutes(1), .location_cache_bytes = 0};

struct World {
  std::atomic<size_t> rounds_asked;
  std::atomic<size_t> rounds_done;  // by all processes together
  std::atomic<size_t> wrong;
};

// Puts and gets by every client of a process, each its own key with another value in each round.
size_t UseAll(std::vector<Client>* clients, size_t process, size_t round) {
  size_t wrong = 0;
  for (size_t i = 0; i < clients->size(); ++i) {
    const std::string key = "client:" + std::to_string(process * kClientsEach + i);
    const std::string value = key + " in round " + std::to_string(round);
    const auto put = (*clients)[i].Put(key, value);
    const auto hit = (*clients)[i].Get(key);
    wrong += !put || !hit || !*hit || (*hit)->value != value;
  }
  return wrong;
}

// Connects, and works off each round that is asked for; until it is killed.
int RunClients(const std::string& uri, size_t process, World* world) {
  std::vector<Client> clients;
  for (size_t i = 0; i < kClientsEach; ++i) {
    auto client = Client::Connect(uri, kOptions);
    if (!client) return 1;
    clients.push_back(std::move(*client));
  }
  for (size_t round = 1;; ++round) {
    while (world->rounds_asked.load(std::memory_order_acquire) < round) ::usleep(10'000);
    world->wrong.fetch_add(UseAll(&clients, process, round), std::memory_order_relaxed);
    world->rounds_done.fetch_add(1, std::memory_order_release);
  }
}

// Of the server's process, in KiB.
uint64_t PinnedKib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmPin:")) return std::stoull(line.substr(6));
  }
  return 0;
}

class RdmaMany : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::OverRdma()) GTEST_SKIP() << test::kNoRdma;
  }
  // Asks all that live for another round, and waits for it.
  bool Round(size_t processes) {
    world_->rounds_done.store(0, std::memory_order_relaxed);
    world_->rounds_asked.fetch_add(1, std::memory_order_release);
    return Eventually(
        [&] { return world_->rounds_done.load(std::memory_order_acquire) == processes; }, kWaitMax);
  }

  SharedMemory<World> world_;
};

TEST_F(RdmaMany, ThreeHundredAreServedAndTheDeadLeaveNothing) {
  const size_t pairs_before = QueuePairs();
  const Plovd server({"--memory", "64M"});
  const uint64_t pinned_before = PinnedKib(server.pid());
  ASSERT_GT(pinned_before, 0);
  std::vector<Child> children;
  for (size_t process = 0; process < kProcesses; ++process) {
    children.push_back(
        Child::Fork([&, process] { return RunClients(server.uri(), process, world_.get()); }));
  }
  ASSERT_TRUE(Round(kProcesses)) << server.Log();
  EXPECT_EQ(world_->wrong.load(std::memory_order_relaxed), 0);
  EXPECT_EQ(QueuePairs(), pairs_before + 2 * kClients);
  const uint64_t pinned = PinnedKib(server.pid()) - pinned_before;
  EXPECT_GT(pinned, 0);

  for (size_t process = 0; process < kKilled; ++process) children[process].Signal(SIGKILL);
  EXPECT_TRUE(Eventually([&] { return QueuePairs() == pairs_before + 2 * kLeft; }, kWaitMax))
      << QueuePairs() << " queue pairs";
  EXPECT_EQ(PinnedKib(server.pid()) - pinned_before, pinned * kLeft / kClients);
  ASSERT_TRUE(Round(kProcesses - kKilled));
  EXPECT_EQ(world_->wrong.load(std::memory_order_relaxed), 0);
  Client witness = server.Connect(kOptions);
  EXPECT_EQ(StatOf(&witness, "clients"), kLeft + 1);

  // The witness's long replies have made the server pin buffers for such ones, which it keeps.
  const uint64_t pinned_with_witness = PinnedKib(server.pid());
  for (Child& child : children) child.Signal(SIGKILL);
  EXPECT_TRUE(Eventually([&] { return StatOf(&witness, "clients") == 1; }, kWaitMax));
  EXPECT_EQ(QueuePairs(), pairs_before + 2);
  EXPECT_EQ(PinnedKib(server.pid()), pinned_with_witness - pinned * kLeft / kClients);
}

}  // namespace
}  // namespace plov
