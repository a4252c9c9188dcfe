// Sync, Snapshot and writes across restarts against a real plovd and its log.

#include <gtest/gtest.h>
#include <plov/client.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <deque>
#include <map>
#include <numeric>
#include <string>
#include <thread>

#include "tests/support/folder.h"
#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Plovd;
using test::TemporaryFolder;

const ClientOptions kPatient{.timeout = std::chrono::seconds(30)};

// A server whose log makes nothing durable by itself within a test.
class ClientSync : public testing::Test {
 protected:
  // Adds up one line of the shards' statistics.
  static uint64_t StatOf(Client* client, const std::string& name) {
    uint64_t sum = 0;
    const auto texts = client->ServerStats();
    EXPECT_TRUE(texts);
    for (const std::string& text : *texts) {
      const size_t at = ("\n" + text).find("\n" + name + " ");
      EXPECT_NE(at, std::string::npos) << name;
      sum += std::stoull(text.substr(at + name.size() + 1));
    }
    return sum;
  }
  void Restart(int signal) {
    server_.Signal(signal);
    server_.Wait();
    server_.Restart();
  }

  static void TakeSnapshots(Client* client) {
    const auto numbers = client->Snapshot();
    ASSERT_TRUE(numbers) << numbers.error().message;
    const uint64_t all = std::accumulate(numbers->begin(), numbers->end(), uint64_t{0});
    while (StatOf(client, "snapshots") < all) {
      ASSERT_EQ(StatOf(client, "snapshot_failures"), 0u);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  // Writes that were sent, and that nobody has read when the server dies.
  void PutOverAKill(Client* client) {
    const uint64_t retries_before = client->stats().retries;
    server_.Signal(SIGSTOP);
    std::map<std::string, Client::PutResult> results;
    const auto start = [&](const std::string& key) {
      client->StartPut(key, "v", {},
                       [&, key](const Client::PutResult& result) { results.emplace(key, result); });
    };
    std::deque<std::string> keys;  // they stay until their callbacks have run
    for (int i = 0; i < 20; ++i) start(keys.emplace_back("key" + std::to_string(i)));
    client->Poll();
    Restart(SIGKILL);
    while (client->Poll() > 0) {
      pollfd ready{client->fd(), POLLIN, 0};
      ::poll(&ready, 1, 1);
    }
    ASSERT_EQ(results.size(), keys.size());
    for (const auto& [key, result] : results) {
      ASSERT_TRUE(result) << key << ": " << result.error().message;
      const auto hit = client->Get(key);
      ASSERT_TRUE(hit && *hit);
      EXPECT_EQ((*hit)->version, *result);
    }
    EXPECT_EQ(client->stats().retries - retries_before, keys.size());
  }

  const TemporaryFolder folder_;
  Plovd server_{{"--memory", "64M", "--shards", "2", "--log", folder_.path() + "/log", "--commit",
                 "async", "--log-interval", "1h"}};
};

TEST_F(ClientSync, EveryShardIsDurableThen) {
  Client client = server_.Connect();
  Client other = server_.Connect();
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(other.Put("key" + std::to_string(i), "v"));
  EXPECT_EQ(StatOf(&client, "log_durable_batch"), 0u);
  const auto synced = client.Sync();
  EXPECT_TRUE(synced) << synced.error().message;
  EXPECT_GE(StatOf(&client, "log_durable_batch"), 2u);
  EXPECT_EQ(StatOf(&client, "log_pending_batches"), 0u);
  EXPECT_TRUE(client.Sync()) << "with nothing to wait for";
}

// What a life has acknowledged before it ended, no later life can vouch for.
TEST_F(ClientSync, AServerThatRestartedMayHaveLostWrites) {
  Client client = server_.Connect();
  ASSERT_TRUE(client.Put("key", "v"));
  Restart(SIGKILL);
  const auto told = client.Sync();
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, Code::kUnknown) << told.error().message;
  EXPECT_TRUE(client.Sync()) << "told once";
  ASSERT_TRUE(client.Put("key", "w"));
  EXPECT_TRUE(client.Sync());
}

TEST_F(ClientSync, WhatWasSyncedOutlivesTheServer) {
  Client client = server_.Connect();
  ASSERT_TRUE(client.Put("key", "v"));
  ASSERT_TRUE(client.Sync());
  Restart(SIGKILL);
  EXPECT_TRUE(client.Sync());
  const auto hit = client.Get("key");
  ASSERT_TRUE(hit && *hit);
  EXPECT_EQ((*hit)->value, "v");
}

TEST_F(ClientSync, AWriteUnderWayGoesToTheNextLifeOfTheLog) {
  Client client = server_.Connect(kPatient);
  PutOverAKill(&client);
}

// The log since the snapshot has nothing of this client.
TEST_F(ClientSync, AWriteUnderWayGoesToTheNextLifeOverASnapshotToo) {
  Client client = server_.Connect(kPatient);
  Client silent = server_.Connect(kPatient);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(client.Put("key" + std::to_string(i), "before"));
  TakeSnapshots(&client);
  PutOverAKill(&client);
  ASSERT_TRUE(silent.Sync());  // it connects again
  TakeSnapshots(&client);
  PutOverAKill(&silent);
}

TEST_F(ClientSync, AStoppedServerIsATimeout) {
  Client client = server_.Connect({.timeout = std::chrono::milliseconds(200)});
  server_.Signal(SIGSTOP);
  EXPECT_EQ(client.Sync().error().code, Code::kTimeout);
  server_.Signal(SIGCONT);
}

// Each increment says over which version it goes: one that was applied twice, or lost, would show. Snapshots are
// taken all the time.
class ClientOverKills : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Modes, ClientOverKills, testing::Values("strict", "acked"));

TEST_P(ClientOverKills, EachIncrementCountsOnce) {
  const TemporaryFolder folder;
  Plovd server({"--memory", "64M", "--log", folder.path() + "/log", "--commit", GetParam()});
  std::atomic<bool> is_over = false;
  std::atomic<uint64_t> count = 0;
  Client client = server.Connect(kPatient);
  std::jthread increments([&] {
    Version version = client.Put("counter", "0").value_or(0);
    while (!is_over) {
      const auto next =
          client.Put("counter", std::to_string(count + 1), {.expected_version = version});
      ASSERT_TRUE(next) << next.error().message;
      version = *next;
      ++count;
    }
  });
  Client snapshots = server.Connect(kPatient);
  constexpr uint64_t kKills = 6;
  for (uint64_t kill = 0; kill < kKills; ++kill) {
    const uint64_t enough = count + 100;  // of this life
    while (count < enough && !HasFailure()) {
      const auto taken = snapshots.Snapshot();
      EXPECT_TRUE(taken) << taken.error().message;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    server.Signal(SIGKILL);
    server.Wait();
    server.Restart();
  }
  is_over = true;
  increments.join();
  const auto hit = client.Get("counter");
  ASSERT_TRUE(hit && *hit);
  EXPECT_EQ((*hit)->value, std::to_string(count.load()));
  EXPECT_EQ(client.stats().reconnects, kKills);
}

TEST(ClientSyncWithoutALog, IsRefused) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  const auto refused = client.Sync();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  EXPECT_EQ(refused.error().message, "this server keeps no log (plovd --log)");
  EXPECT_EQ(client.Snapshot().error().code, Code::kInvalidArgument);
  EXPECT_TRUE(client.Put("key", "v")) << "the client stays usable";
}

// While two tables take all other memory every insert that is not durable yet has a place in the stash.
TEST(ClientStrict, WhatIsInFlightFitsBesideGrowingTables) {
  constexpr int kItems = 40'000, kInFlight = 256;
  const TemporaryFolder folder;
  const Plovd server({"--memory", "24M", "--log", folder.path() + "/log", "--commit", "strict"});
  Client client = server.Connect();
  const std::string value(64, 'v');
  for (int first = 0; first < kItems; first += kInFlight) {
    std::deque<std::string> keys;
    for (int i = first; i < std::min(first + kInFlight, kItems); ++i) {
      client.StartPut(keys.emplace_back(std::to_string(1'000'000'000 + i)), value, {},
                      [i](const Client::PutResult& result) {
                        ASSERT_TRUE(result) << i << ": " << result.error().message;
                      });
    }
    while (client.Poll() > 0) {
      pollfd ready{client.fd(), POLLIN, 0};
      ::poll(&ready, 1, 1);
    }
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace plov
