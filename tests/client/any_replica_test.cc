// GETs of any replica: of one that is new enough, whoever its primary is. Runs over shared memory, where its safe time is
// loaded, and over a fabric whose READs are late.

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/client/cluster_world.h"

namespace plov {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::ClusterWorld;
using test::kHasty;
using test::kPatient;

// Each shard is on servers 0 and 1, whose stores are their own: only that of 0, the primary, has the keys.
struct AnyReplicaTest : testing::Test {
  AnyReplicaTest() {
    world.PlaceReplicas({0, 1}, 1);
    world.Start(0);
    world.Start(1);
    Client client = world.Connect({0, 1}, kPatient);
    for (const std::string& key : keys) EXPECT_TRUE(client.Put(key, "value"));
  }

  Client Connect(ClientOptions options, std::chrono::microseconds max_age = seconds(600)) {
    options.read_from = ReadFrom::kAnyReplica;
    options.max_age = max_age;
    return world.Connect({0, 1}, options);
  }

  // What all keys are told to be, by how many of them and by each way to ask.
  std::map<std::string, size_t> AskAll(Client* client) {
    std::map<std::string, size_t> told;
    const auto tell = [&](const Client::GetResult& hit) {
      ++told[!hit ? std::string(CodeName(hit.error().code)) : *hit ? "hit" : "none"];
    };
    const std::vector<std::string_view> all(keys.begin(), keys.end());
    client->GetMany(all, [&](size_t, Client::GetResult hit) { tell(hit); });
    for (const std::string& key : keys) client->StartGet(key, tell);
    while (client->Poll() > 0) continue;
    for (const std::string& key : keys) tell(client->Get(key));
    return told;
  }
  using Told = std::map<std::string, size_t>;

  ClusterWorld world;
  const std::vector<std::string> keys = ClusterWorld::Keys(20);
};

TEST_F(AnyReplicaTest, EveryReplicaIsReadByTurns) {
  world.ShowAge(0, seconds(0));
  world.ShowAge(1, seconds(0));
  Client client = Connect(kPatient);
  const Told told = AskAll(&client);
  EXPECT_GT(told.at("hit"), 0u);
  EXPECT_GT(told.at("none"), 0u) << "its shards begin with different replicas";
  EXPECT_EQ(told.size(), 2u);
}

TEST_F(AnyReplicaTest, OnlyOneThatIsNewEnoughIsRead) {
  world.ShowAge(0, seconds(0));
  world.ShowAge(1, hours(1));
  Client client = Connect(kPatient);
  EXPECT_EQ(AskAll(&client), (Told{{"hit", 3 * keys.size()}}));
  // The other one is, from now on.
  world.ShowAge(1, -hours(1));
  Client hasty = Connect(kHasty, milliseconds(1));
  EXPECT_EQ(AskAll(&hasty), (Told{{"none", 3 * keys.size()}}));
  EXPECT_TRUE(hasty.Put(keys[0], "new")) << "the primary writes";
}

TEST_F(AnyReplicaTest, WhatIsTooOldIsLeft) {
  world.ShowAge(0, seconds(0));
  Client client = Connect(kPatient, seconds(2));
  EXPECT_EQ(AskAll(&client), (Told{{"hit", 3 * keys.size()}}));
  world.ShowAge(1, -hours(1));
  const auto has_left = [&] { return AskAll(&client) == Told{{"none", 3 * keys.size()}}; };
  EXPECT_TRUE(test::Eventually(has_left, seconds(60)));
}

TEST_F(AnyReplicaTest, NothingIsFoundWhereNoneIsNewEnough) {
  Client client = Connect(kHasty);
  const auto hit = client.Get(keys[0]);
  ASSERT_FALSE(hit);
  EXPECT_EQ(hit.error().code, Code::kUnavailable) << "no server has said how old it is";
  EXPECT_NE(hit.error().message.find("max_age"), std::string::npos) << hit.error().message;
  EXPECT_FALSE(client.Age(keys[0]));
  world.ShowAge(1, seconds(0));
  Client patient = Connect(kPatient);
  EXPECT_TRUE(patient.Get(keys[0]));
}

TEST_F(AnyReplicaTest, AgeIsOfTheReplicaThatIsRead) {
  world.ShowAge(0, seconds(100));
  world.ShowAge(1, seconds(100));
  Client client = Connect(kPatient);
  for (const std::string& key : keys) {
    const auto age = client.Age(key);
    ASSERT_TRUE(age) << age.error().message;
    EXPECT_GE(*age, seconds(99));
    EXPECT_LT(*age, seconds(600));
  }
  EXPECT_EQ(client.Age("").error().code, Code::kInvalidArgument);
  Client primary = world.Connect({0, 1}, kPatient);
  EXPECT_EQ(primary.Age(keys[0]).value(), seconds(0));
}

// As in a cluster without replicas.
TEST_F(AnyReplicaTest, WhereThereIsOneItIsThePrimary) {
  world.Place({0, 0, 1, 1}, 2);
  world.Hold(0);
  world.Hold(1);
  Client client = Connect(kPatient, milliseconds(1));
  EXPECT_TRUE(client.Put(keys[0], "new"));
  const auto hit = client.Get(keys[0]);
  ASSERT_TRUE(hit && *hit);
  EXPECT_EQ((*hit)->value, "new");
  EXPECT_EQ(client.Age(keys[0]).value(), seconds(0));
  world.ClearOaths(0);
  world.ClearOaths(1);
  Client hasty = Connect(kHasty);
  EXPECT_FALSE(hasty.Get(keys[0]));
}

TEST_F(AnyReplicaTest, ReplicasGoOnWhileThePrimaryIsStopped) {
  world.ShowAge(0, seconds(0));
  world.ShowAge(1, seconds(0));
  Client client = Connect(kPatient);
  const Told before = AskAll(&client);
  world.Signal(0, SIGSTOP);
  world.ClearOaths(1);
  EXPECT_EQ(AskAll(&client), before);
  world.Signal(0, SIGCONT);
}

}  // namespace
}  // namespace plov
