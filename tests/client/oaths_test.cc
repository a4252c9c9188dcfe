// What a client of a cluster finds is the primary's, though a former one's memory goes on answering READs (rules C1 to
// C4). Runs over shared memory, where oaths are loaded, and over a fabric whose READs are late.

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "tests/client/cluster_world.h"

namespace plov {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::ClusterWorld;
using test::kHasty;
using test::kPatient;

constexpr seconds kLongLease{3600};

// Shards have their replicas on servers 0 and 1, of which 0 is the primary and has "old"; the stores are the servers'
// own.
struct OathsTest : testing::Test {
  void Begin(seconds lease) {
    world.PlaceReplicas({0, 1}, 1, lease);
    world.Start(0);
    world.Start(1);
    Client client = world.Connect({0, 1}, kPatient);
    PutAll(&client, "old");
  }
  // Server 1 has taken over, dropped 0, and had this written.
  void TakeOver(const std::string& value) {
    world.ClearOaths(1);
    world.PlaceReplicas({1}, 2);
    world.Hold(1);
    Client client = world.Connect({1}, kPatient);
    PutAll(&client, value);
  }
  void PutAll(Client* client, const std::string& value) {
    for (const std::string& key : keys) {
      const auto put = client->Put(key, value);
      ASSERT_TRUE(put) << put.error().message;
    }
  }

  static std::string Told(const Client::GetResult& hit) {
    if (!hit) return std::string(CodeName(hit.error().code));
    return *hit ? std::string((*hit)->value) : "none";
  }
  // What each way to ask tells, of a key that is there and of one that is not.
  std::map<std::string, std::string> AskAll(Client* client) {
    std::map<std::string, std::string> told;
    told["Get"] = Told(client->Get(keys[0]));
    told["Get of none"] = Told(client->Get("none"));
    const std::vector<std::string_view> all(keys.begin(), keys.end());
    client->GetMany(all, [&](size_t, Client::GetResult hit) { told["GetMany"] = Told(hit); });
    client->StartGet(keys[1], [&](Client::GetResult hit) { told["StartGet"] = Told(hit); });
    while (client->Poll() > 0) continue;
    if (const auto hit = client->TryGet(keys[2])) told["TryGet"] = Told(*hit);
    const auto scanned = client->Scan([](std::string_view, const Item&) { return true; });
    if (!scanned) told["Scan"] = std::string(CodeName(scanned.error().code));
    return told;
  }
  static void ExpectNone(const std::map<std::string, std::string>& told) {
    for (const auto& [way, what] : told) {
      EXPECT_TRUE(what == "kUnavailable" || what == "kTimeout") << way << ": " << what;
    }
    EXPECT_EQ(told.count("Scan"), 1u);
  }
  static void ExpectAll(const std::map<std::string, std::string>& told, const std::string& value) {
    for (const auto& [way, what] : told) {
      EXPECT_EQ(what, way == "Get of none" ? "none" : value) << way;
    }
  }

  ClusterWorld world;
  const std::vector<std::string> keys = ClusterWorld::Keys(200);
};

TEST_F(OathsTest, NothingIsFoundWhileOneIsOff) {
  Begin(seconds(0));
  Client hasty = world.Connect({0, 1}, kHasty);
  Client patient = world.Connect({0, 1}, kPatient);
  ExpectAll(AskAll(&patient), "old");
  for (const size_t server : {1U, 0U}) {
    world.ClearOaths(server);
    ExpectNone(AskAll(&hasty));
    world.Hold(server);
    ExpectAll(AskAll(&patient), "old");
  }
  world.ClearOaths(1);
  Client late = world.Connect({0, 1}, kHasty);
  ExpectNone(AskAll(&late));
}

TEST_F(OathsTest, ScanEndsOnlyWhileAllAreThere) {
  Begin(seconds(0));
  Client client = world.Connect({0, 1}, kHasty);
  const auto scans = [&] {
    return client.Scan([](std::string_view, const Item&) { return true; }).has_value();
  };
  EXPECT_TRUE(test::Eventually(scans, seconds(60)));
  world.ClearOaths(1);
  EXPECT_FALSE(scans());
}

// The primary is stopped, its memory answers and shows its oath; its successor was written to.
TEST_F(OathsTest, FormerPrimaryIsNotBelieved) {
  Begin(seconds(0));
  Client client = world.Connect({0, 1}, kPatient);
  ExpectAll(AskAll(&client), "old");
  world.Signal(0, SIGSTOP);
  ExpectAll(AskAll(&client), "old");
  TakeOver("new");
  ExpectAll(AskAll(&client), "new");
  world.Signal(0, SIGCONT);
  ExpectAll(AskAll(&client), "new");
  EXPECT_GE(client.stats().map_fetches, 2u);
  EXPECT_EQ(client.stats().deposed_stale, client.stats().deposed_gets);
  EXPECT_GT(client.stats().deposed_gets, 0u);
}

// Over RDMA it has a proof for each server: what one was told last, the others do not know.
TEST_F(OathsTest, FormerPrimaryThatIsTheNextKnowsItsWriters) {
  Begin(seconds(0));
  Client client = world.Connect({0, 1}, kPatient);
  PutAll(&client, "first");
  world.ClearOaths(0);
  TakeOver("second");
  ExpectAll(AskAll(&client), "second");
  PutAll(&client, "third");
  world.ClearOaths(1);
  world.PlaceReplicas({0}, 3);
  world.Hold(0);
  ExpectAll(AskAll(&client), "first");
  PutAll(&client, "fourth");
  EXPECT_EQ(client.stats().lives, 0u);
}

TEST_F(OathsTest, GetManyGoesOnAtTheNextPrimary) {
  Begin(seconds(0));
  Client client = world.Connect({0, 1}, kPatient);
  const std::vector<std::string_view> all(keys.begin(), keys.end());
  bool is_taken_over = false;
  size_t old_ones = 0, new_ones = 0;
  client.GetMany(all, [&](size_t, Client::GetResult hit) {
    const std::string told = Told(hit);
    old_ones += told == "old";
    new_ones += told == "new";
    if (old_ones < 50 || is_taken_over) return;
    is_taken_over = true;
    TakeOver("new");
  });
  EXPECT_EQ(old_ones + new_ones, keys.size());
  EXPECT_GE(old_ones, 50u);
  EXPECT_LE(old_ones, 50u + 64u) << "those that were seen before";
}

TEST_F(OathsTest, WhatTheNextConfigurationSaysIsBelieved) {
  Begin(seconds(0));
  Client client = world.Connect({0, 1}, kPatient);
  world.Kill(1);
  world.PlaceReplicas({0}, 2);
  world.Hold(0);
  ExpectAll(AskAll(&client), "old");
  world.Start(1);
  world.PlaceReplicas({0, 1}, 3);
  world.Hold(0);
  world.Hold(1);
  ExpectAll(AskAll(&client), "old");
}

TEST_F(OathsTest, MemberThatDiesIsWaitedFor) {
  Begin(seconds(0));
  Client client = world.Connect({0, 1}, kHasty);
  world.Kill(1);
  ExpectNone(AskAll(&client));
}

// It is sent again, under the client's id: the next primary knows whether it was applied.
TEST_F(OathsTest, WriteUnderWayGoesToTheNextPrimary) {
  Begin(seconds(0));
  Client client = world.Connect({0, 1}, kPatient);
  world.Signal(0, SIGSTOP);
  std::vector<Code> ended;
  for (const std::string& key : keys) {
    client.StartPut(key, "newer", {}, [&](Client::PutResult put) {
      ended.push_back(put ? Code::kOk : put.error().code);
    });
  }
  for (int i = 0; i < 100; ++i) client.Poll();
  EXPECT_TRUE(ended.empty());
  TakeOver("new");
  while (client.Poll() > 0) continue;
  EXPECT_EQ(ended, std::vector<Code>(keys.size(), Code::kOk));
  ExpectAll(AskAll(&client), "newer");
  world.Signal(0, SIGCONT);
}

TEST_F(OathsTest, StatsUnderWayAreAskedOfTheNextPrimary) {
  Begin(seconds(0));
  Client client = world.Connect({0, 1}, kPatient);
  world.Signal(0, SIGSTOP);
  auto stats = std::async(std::launch::async, [&] { return client.ServerStats(); });
  EXPECT_EQ(stats.wait_for(milliseconds(100)), std::future_status::timeout);
  TakeOver("new");
  const auto told = stats.get();
  EXPECT_TRUE(told) << told.error().message;
  world.Signal(0, SIGCONT);
}

// Where READs are loads a lease would save nothing.
TEST_F(OathsTest, LeaseIsForReadsThatAreNoLoads) {
  Begin(kLongLease);
  Client hasty = world.Connect({0, 1}, kHasty);
  Client patient = world.Connect({0, 1}, kPatient);
  ExpectAll(AskAll(&patient), "old");
  const bool loads = patient.TryGet(keys[0]).has_value();
  world.ClearOaths(1);
  if (loads) {
    ExpectNone(AskAll(&hasty));
  } else {
    EXPECT_EQ(Told(patient.Get(keys[0])), "old");
  }
}

TEST_F(OathsTest, LeaseEnds) {
  Begin(seconds(1));
  Client client = world.Connect({0, 1}, kHasty);
  world.ClearOaths(1);
  const auto deadline = std::chrono::steady_clock::now() + seconds(60);
  while (client.Get(keys[0]) && std::chrono::steady_clock::now() < deadline) continue;
  ExpectNone(AskAll(&client));
}

}  // namespace
}  // namespace plov
