// Rules C1 and C4 of a cluster where READs come late: what they saw is older than their completion.

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/client/cluster_world.h"
#include "tests/client/late_fabric.h"
#include "tests/support/shard_client.h"

namespace plov {
namespace {

using fabric::Late;
using test::ClusterWorld;
using test::kHasty;
using test::kPatient;
using test::ShardClient;

constexpr int kPolls = 100;

void PutAll(const std::string& uri, const std::vector<std::string>& keys,
            const std::string& value) {
  for (const std::string& key : keys) {
    auto client = ShardClient::Connect(uri, ClusterWorld::NumberOf(ClusterWorld::ShardOf(key)));
    ASSERT_TRUE(client) << client.error().message;
    ASSERT_TRUE(client->Put(key, value));
  }
}

// Each shard is on servers 0 and 1, whose primary has "old" under these keys.
void BeginWithReplicas(ClusterWorld* world, const std::vector<std::string>& keys,
                       std::chrono::milliseconds lease) {
  world->PlaceReplicas({0, 1}, 1, lease);
  world->Start(0);
  world->Start(1);
  PutAll(world->UriOf(0), keys, "old");
}

// A server that takes over publishes its tail, and only then shows its oath: what was READ before may be too old.
TEST(OathsLate, PrimaryIsReadOnceItIsOne) {
  ClusterWorld world;
  const auto keys = ClusterWorld::Keys(40);
  world.PlaceReplicas({1}, 2);
  world.Start(1);
  PutAll(world.UriOf(1), keys, "old");
  world.ClearOaths(1);
  Client client = world.Connect({1}, kPatient);
  Late().reads_complete = false;
  Late().oaths_see_last = true;
  size_t new_ones = 0;
  for (const std::string& key : keys) {
    client.StartGet(key, [&](const Client::GetResult& hit) {
      new_ones += hit && *hit && (*hit)->value == "new";
    });
  }
  for (int i = 0; i < kPolls; ++i) client.Poll();
  PutAll(world.UriOf(1), keys, "new");
  world.Hold(1);
  Late().reads_complete = true;
  while (client.Poll() > 0) continue;
  Late().oaths_see_last = false;
  EXPECT_EQ(new_ones, keys.size());
}

TEST(OathsLate, NothingIsToldBeforeALookComes) {
  for (const int lease_ms : {0, 200}) {
    const std::chrono::milliseconds lease(lease_ms);
    ClusterWorld world;
    const auto keys = ClusterWorld::Keys(1);
    BeginWithReplicas(&world, keys, lease);
    Client client = world.Connect({0, 1}, kHasty);
    ASSERT_TRUE(test::Eventually([&] { return client.Get(keys[0]).has_value(); },
                                 std::chrono::seconds(60)));
    Late().oaths_complete = false;
    std::this_thread::sleep_for(lease);
    EXPECT_FALSE(client.Get(keys[0])) << "with a lease of " << lease.count() << " ms";
    Late().oaths_complete = true;
  }
}

TEST(OathsLate, LeaseCountsFromWhenItWasAskedFor) {
  constexpr std::chrono::milliseconds kLease{200};
  ClusterWorld world;
  const auto keys = ClusterWorld::KeysOf(0, 40);  // of one READ of the oaths
  BeginWithReplicas(&world, keys, kLease);
  for (int round = 0; round < 6; ++round) {
    world.Hold(1);
    Client client = world.Connect({0, 1}, kHasty);
    ASSERT_TRUE(test::Eventually([&] { return client.Get(keys[0]).has_value(); },
                                 std::chrono::seconds(60)));
    std::this_thread::sleep_for(kLease);
    Late().reads_complete = false;  // of what looks begin now, some see it now
    for (const std::string& key : keys) client.StartGet(key, [](const Client::GetResult&) {});
    for (int i = 0; i < kPolls; ++i) client.Poll();
    world.ClearOaths(1);
    std::this_thread::sleep_for(kLease);
    Late().reads_complete = true;
    for (int i = 0; i < kPolls; ++i) client.Poll();
    EXPECT_FALSE(client.Get(keys[0]));
  }
}

}  // namespace
}  // namespace plov
