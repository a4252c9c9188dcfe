// A client of a cluster: shards of several servers, each with a fate of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/cluster_world.h"
#include "tests/support/plovd.h"

namespace plov {
namespace {

using std::chrono::milliseconds;
using test::ClusterWorld;
using test::kHasty;
using test::kPatient;
using testing::HasSubstr;

// Shards 0 and 1 are on the first server, 2 and 3 on the second.
struct ClusterTest : testing::Test {
  ClusterTest() {
    world.Place({0, 0, 1, 1}, 1);
    world.Start(0);
    world.Start(1);
  }

  static bool IsOnFirst(std::string_view key) { return ClusterWorld::ShardOf(key) < 2; }

  // What became of each: the value, "none", or the code's name.
  static std::map<std::string, std::string> ReadAll(Client* client,
                                                    const std::vector<std::string>& keys) {
    std::map<std::string, std::string> found;
    client->GetMany(keys, [&](size_t i, Client::GetResult hit) {
      found[keys[i]] = !hit   ? std::string(CodeName(hit.error().code))
                       : *hit ? std::string((*hit)->value)
                              : "none";
    });
    EXPECT_EQ(found.size(), keys.size());
    return found;
  }
  static std::map<std::string, Code> WriteAll(Client* client, const std::vector<std::string>& keys,
                                              std::string_view value) {
    std::vector<PutItem> items;
    for (const std::string& key : keys) items.push_back({key, value});
    std::map<std::string, Code> ended;
    client->PutMany(items, [&](size_t i, Client::PutResult put) {
      ended[keys[i]] = put ? Code::kOk : put.error().code;
    });
    EXPECT_EQ(ended.size(), keys.size());
    return ended;
  }
  // That keys of the first server read so, and those of the second so.
  static void ExpectAll(const std::map<std::string, std::string>& found, const std::string& first,
                        const std::string& second) {
    for (const auto& [key, value] : found) EXPECT_EQ(value, IsOnFirst(key) ? first : second) << key;
  }

  ClusterWorld world;
  const std::vector<std::string> keys = ClusterWorld::Keys(2000);
};

TEST_F(ClusterTest, EverythingGoesToAllServers) {
  Client client = world.Connect({0, 1}, kPatient);
  EXPECT_EQ(client.shard_count(), ClusterWorld::kShards);
  for (const auto& [key, code] : WriteAll(&client, keys, "v")) EXPECT_EQ(code, Code::kOk) << key;
  const uint64_t before = client.stats().reconnects;
  ExpectAll(ReadAll(&client, keys), "v", "v");
  for (const std::string& key : keys) {
    const auto hit = client.Get(key);
    ASSERT_TRUE(hit && *hit) << key;
  }
  EXPECT_EQ(client.Delete(keys[0]), true);
  EXPECT_EQ(client.Delete(keys[0]), false);
  size_t items = 0;
  const auto summary = client.Scan([&](std::string_view, const Item&) { return ++items > 0; });
  ASSERT_TRUE(summary);
  EXPECT_TRUE(summary->settled);
  EXPECT_EQ(items, keys.size() - 1);
  EXPECT_TRUE(client.Ping());
  EXPECT_EQ(client.ServerStats().value().size(), ClusterWorld::kShards);
  EXPECT_EQ(client.SlowWrites().value().size(), 0u);
  EXPECT_EQ(client.Sync().error().code, Code::kInvalidArgument) << "they keep no log";
  EXPECT_EQ(client.stats().map_fetches, 1u);
  EXPECT_EQ(client.stats().reconnects, before) << "of who was slow at first";
}

TEST_F(ClusterTest, AnyServerTellsOfAll) {
  for (const size_t seed : {0U, 1U}) {
    Client client = world.Connect({seed}, kPatient);
    for (uint32_t shard = 0; shard < ClusterWorld::kShards; ++shard) {
      EXPECT_TRUE(client.Put(ClusterWorld::KeysOf(shard, 1)[0], "v"));
    }
  }
}

TEST_F(ClusterTest, OneDeadServerLeavesTheOtherAtWork) {
  Client client = world.Connect({0, 1}, kHasty);
  WriteAll(&client, keys, "v");
  world.Kill(1);
  for (int round = 0; round < 3; ++round) {
    ExpectAll(ReadAll(&client, keys), "v", "kUnavailable");
    for (const auto& [key, code] : WriteAll(&client, keys, "v")) {
      EXPECT_EQ(code, IsOnFirst(key) ? Code::kOk : Code::kUnavailable) << key;
    }
  }
  const auto dead = client.Get(ClusterWorld::KeysOf(3, 1)[0]);
  ASSERT_FALSE(dead);
  EXPECT_EQ(dead.error().code, Code::kUnavailable);
  EXPECT_THAT(dead.error().message, HasSubstr("shard 203 of the cluster"));
  EXPECT_TRUE(client.Ping());
  EXPECT_EQ(client.ServerStats().error().code, Code::kUnavailable);
  EXPECT_EQ(client.Scan([](std::string_view, const Item&) { return true; }).error().code,
            Code::kUnavailable);
}

// What waits for the dead server takes no place from those that do not.
TEST_F(ClusterTest, WhatWasStartedForADeadServerKeepsNobodyWaiting) {
  Client client = world.Connect({0, 1}, kPatient);
  WriteAll(&client, keys, "v");
  world.Kill(1);
  const auto dead = ClusterWorld::KeysOf(2, 1000);
  const auto live = ClusterWorld::KeysOf(0, 1000);
  size_t dead_ended = 0, live_ended = 0, good = 0;
  for (size_t i = 0; i < dead.size(); ++i) {
    if (i % 2 == 0) {
      client.StartGet(dead[i], [&](Client::GetResult) { ++dead_ended; });
    } else {
      client.StartPut(dead[i], "w", {}, [&](Client::PutResult) { ++dead_ended; });
    }
  }
  for (const std::string& key : live) {
    client.StartPut(key, "w", {}, [&](Client::PutResult put) {
      ++live_ended;
      good += put.has_value();
    });
    client.StartGet(key, [&](Client::GetResult hit) {
      ++live_ended;
      good += hit && *hit && (*hit)->value == "w";
    });
  }
  while (live_ended < 2 * live.size() && dead_ended == 0) client.Poll();
  EXPECT_EQ(dead_ended, 0u);
  EXPECT_EQ(good, 2 * live.size());
  world.Start(1);
  while (client.Poll() > 0) {
  }
  EXPECT_EQ(dead_ended, dead.size());
}

TEST_F(ClusterTest, AServerComesBackWithItsMemory) {
  Client client = world.Connect({0, 1}, kPatient);
  WriteAll(&client, keys, "v");
  const uint64_t before = client.stats().reconnects;
  for (int round = 0; round < 3; ++round) {
    world.Kill(1);
    EXPECT_TRUE(*client.Get(ClusterWorld::KeysOf(0, 1)[0]));
    world.Start(1);
    ExpectAll(ReadAll(&client, keys), "v", "v");
    for (const auto& [key, code] : WriteAll(&client, keys, "v")) EXPECT_EQ(code, Code::kOk) << key;
  }
  EXPECT_EQ(client.stats().reconnects - before, 6u) << "of two shards";
}

TEST_F(ClusterTest, AServerComesBackWithoutItsMemory) {
  Client client = world.Connect({0, 1}, kPatient);
  for (int round = 0; round < 3; ++round) {
    for (const auto& [key, code] : WriteAll(&client, keys, "v")) EXPECT_EQ(code, Code::kOk) << key;
    ExpectAll(ReadAll(&client, keys), "v", "v");
    world.Kill(1);
    world.Forget(1);
    world.Start(1);
    ExpectAll(ReadAll(&client, keys), "v", "none");
  }
}

// Its memory is READ all the same.
TEST_F(ClusterTest, AStoppedServerLeavesTheOtherAtWork) {
  Client client = world.Connect({0, 1}, kHasty);
  WriteAll(&client, keys, "v");
  world.Signal(1, SIGSTOP);
  ExpectAll(ReadAll(&client, keys), "v", "v");
  for (const auto& [key, code] : WriteAll(&client, keys, "w")) {
    EXPECT_EQ(code, IsOnFirst(key) ? Code::kOk : Code::kTimeout) << key;
  }
  world.Signal(1, SIGCONT);
  Client patient = world.Connect({0, 1}, kPatient);
  ExpectAll(ReadAll(&patient, ClusterWorld::KeysOf(1, 10)), "w", "w");
}

TEST_F(ClusterTest, AWriteUnderWayToADeadServerIsUnknownAndTheNextIsGood) {
  Client client = world.Connect({0, 1}, kPatient);
  const std::string dead = ClusterWorld::KeysOf(2, 1)[0], live = ClusterWorld::KeysOf(0, 1)[0];
  for (int round = 0; round < 4; ++round) {
    world.Signal(1, SIGSTOP);
    std::map<std::string, Code> ended;
    for (const std::string* key : {&dead, &live}) {
      client.StartPut(*key, "v", {}, [&ended, key](Client::PutResult put) {
        ended[*key] = put ? Code::kOk : put.error().code;
      });
    }
    while (!ended.contains(live)) client.Poll();
    world.Kill(1);
    if (round % 2 == 0) world.Forget(1);  // else it is the same life, and has forgotten who wrote

    world.Start(1);
    while (client.Poll() > 0) {
    }
    EXPECT_EQ(ended[live], Code::kOk);
    EXPECT_EQ(ended[dead], Code::kUnknown);
    EXPECT_TRUE(client.Put(dead, "w"));
  }
}

TEST_F(ClusterTest, ConnectNeedsOneServerThatAnswers) {
  world.Kill(0);
  Client client = world.Connect({0, 1}, kHasty);
  EXPECT_TRUE(client.Put(ClusterWorld::KeysOf(3, 1)[0], "v"));
  EXPECT_EQ(client.Get(ClusterWorld::KeysOf(0, 1)[0]).error().code, Code::kUnavailable);
  world.Kill(1);
  const auto none = Client::Connect(world.Uri({0, 1}), kHasty);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUnavailable);
  EXPECT_THAT(none.error().message, HasSubstr(world.UriOf(0)));
  EXPECT_THAT(none.error().message, HasSubstr(world.UriOf(1)));
  world.Start(0);
  world.Start(1);
  Client patient = world.Connect({0, 1}, kPatient);
  WriteAll(&patient, keys, "v");
  ExpectAll(ReadAll(&client, keys), "v", "v");
}

TEST_F(ClusterTest, AStoppedSeedIsPassedOver) {
  world.Signal(0, SIGSTOP);
  Client client = world.Connect({0, 1}, kHasty);
  EXPECT_TRUE(client.Put(ClusterWorld::KeysOf(3, 1)[0], "v"));
  world.Signal(0, SIGCONT);
  Client patient = world.Connect({0, 1}, kPatient);
  WriteAll(&patient, keys, "v");
  EXPECT_TRUE(
      test::Eventually([&] { return client.Put(ClusterWorld::KeysOf(0, 1)[0], "v").has_value(); },
                       std::chrono::seconds(60)));
}

TEST_F(ClusterTest, ServersDieInTheMiddleOfGetMany) {
  Client client = world.Connect({0, 1}, kPatient);
  WriteAll(&client, keys, "v");
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  for (int round = 0; round < 6; ++round) {
    const size_t victim = static_cast<size_t>(round) % 2;
    size_t seen = 0, wrong = 0;
    client.GetMany(views, [&](size_t, Client::GetResult hit) {
      wrong += !(hit && *hit && (*hit)->value == "v");
      if (++seen != 500) return;
      world.Kill(victim);
      world.Start(victim);
    });
    EXPECT_EQ(seen, keys.size());
    EXPECT_EQ(wrong, 0u);
  }
}

TEST_F(ClusterTest, AShardIsFoundWhereTheNewestMapSaysThatItIs) {
  Client client = world.Connect({0, 1, 2}, kPatient);
  WriteAll(&client, keys, "v");
  world.Place({0, 0, 2, 2}, 2);
  world.Kill(1);
  world.Hold(0);
  world.Start(2);
  ExpectAll(ReadAll(&client, keys), "v", "none");
  for (const auto& [key, code] : WriteAll(&client, keys, "w")) EXPECT_EQ(code, Code::kOk) << key;
  EXPECT_GE(client.stats().map_fetches, 2u);
  // What the others say, who have not heard of it, was true before.
  Client hasty = world.Connect({2}, kHasty);
  world.Place({0, 0, 1, 1}, 1);
  world.Start(1);
  world.Kill(2);
  for (int round = 0; round < 5; ++round) ExpectAll(ReadAll(&hasty, keys), "w", "kUnavailable");
  world.Place({0, 0, 2, 2}, 2);
  world.Start(2);
  ExpectAll(ReadAll(&client, keys), "w", "w");
}

// The server is there, and has another shard than before.
TEST_F(ClusterTest, AServerThatGaveItsShardAwaySaysWhoHasIt) {
  Client client = world.Connect({0, 1}, kPatient);
  WriteAll(&client, keys, "v");
  for (const size_t server : {0U, 1U}) world.Kill(server);
  world.Place({0, 2, 2, 1}, 2);
  for (const size_t server : {0U, 1U, 2U}) world.Start(server);
  const auto found = ReadAll(&client, keys);
  for (const auto& [key, value] : found) {
    const uint32_t shard = ClusterWorld::ShardOf(key);
    EXPECT_EQ(value, shard == 0 || shard == 3 ? "v" : "none") << key;
  }
}

TEST_F(ClusterTest, AMapOfAnotherClusterIsNotTakenOver) {
  Client client = world.Connect({0, 1, 2}, kHasty);
  WriteAll(&client, keys, "v");
  world.faults[2].cluster_id = 0xbad;
  world.Place({2, 2, 2, 2}, 9);
  world.Start(2);
  world.Kill(1);
  for (int round = 0; round < 3; ++round) ExpectAll(ReadAll(&client, keys), "v", "kUnavailable");
}

TEST_F(ClusterTest, AShardOfAnotherClusterIsRefused) {
  world.Kill(1);
  world.Forget(1);
  world.faults[1].hash_seed = 0xbad;
  world.Start(1);
  Client client = world.Connect({0, 1}, kHasty);
  WriteAll(&client, ClusterWorld::KeysOf(0, 10), "v");
  EXPECT_EQ(client.Get(ClusterWorld::KeysOf(2, 1)[0]).error().code, Code::kProtocol);
  EXPECT_EQ(client.Put(ClusterWorld::KeysOf(2, 1)[0], "v").error().code, Code::kProtocol);
  EXPECT_TRUE(*client.Get(ClusterWorld::KeysOf(0, 1)[0]));
}

TEST_F(ClusterTest, AServerOfItsOwnBehindTheNameOfAMemberIsSaidToBeOne) {
  Client client = world.Connect({0, 1}, kHasty);
  WriteAll(&client, keys, "v");
  world.Kill(1);
  world.Forget(1);
  world.faults[1].shows_cluster = false;
  world.Start(1);
  const auto hit = client.Get(ClusterWorld::KeysOf(3, 1)[0]);
  ASSERT_FALSE(hit);
  EXPECT_EQ(hit.error().code, Code::kUnavailable);
  EXPECT_THAT(hit.error().message, HasSubstr(world.UriOf(1) + " is in no cluster"));
  ExpectAll(ReadAll(&client, ClusterWorld::KeysOf(0, 10)), "v", "v");
}

TEST_F(ClusterTest, AServerOfAClusterTellsOneWhoTakesItForAServerOfItsOwn) {
  world.Kill(1);
  world.Place({0, 0, 0, 0}, 2);  // all, one, or none of the shards that it would have
  world.Start(1);
  world.Kill(0);
  world.Start(0);
  world.Place({1, 1, 2, 2}, 3);
  world.Start(2);
  for (const size_t server : {0U, 1U, 2U}) {
    const auto alone = Client::Connect(world.UriOf(server), kHasty);
    ASSERT_FALSE(alone);
    EXPECT_EQ(alone.error().code, Code::kInvalidArgument);
    EXPECT_THAT(alone.error().message, HasSubstr("cluster:" + world.UriOf(server)));
  }
}

TEST_F(ClusterTest, AServerOfItsOwnTellsOneWhoTakesItForACluster) {
  const test::Plovd alone({"--memory", "64M"});
  const auto client = Client::Connect("cluster:" + alone.uri(), kHasty);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::kInvalidArgument);
  EXPECT_THAT(client.error().message, HasSubstr("in no cluster"));
}

TEST_F(ClusterTest, SeedsThatAreNoneAreRefused) {
  for (const std::string uri :
       {"cluster:", "cluster:,", "cluster:cluster:shm:a", "cluster:tcp:a"}) {
    const auto client = Client::Connect(uri, kHasty);
    ASSERT_FALSE(client) << uri;
    EXPECT_EQ(client.error().code, Code::kInvalidArgument) << uri;
  }
}

TEST_F(ClusterTest, HostileMapsAreRefused) {
  world.Kill(0);
  std::vector<std::vector<std::byte>> regions;
  regions.emplace_back(4096, std::byte{0});
  regions.emplace_back(4096, std::byte{0xff});
  for (const auto& region : regions) {
    world.faults[0].region = region;
    world.Start(0);
    const auto client = Client::Connect(world.Uri({0}), kHasty);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, Code::kUnavailable);
    EXPECT_THAT(client.error().message, HasSubstr("not in a cluster"));
    world.Kill(0);
  }
  world.faults[0] = {.shows_map = false};
  world.Start(0);
  const auto client = Client::Connect(world.Uri({0}), kHasty);
  ASSERT_FALSE(client);
  EXPECT_THAT(client.error().message, HasSubstr("no map"));
  EXPECT_TRUE(Client::Connect(world.Uri({0, 1}), kHasty)) << "another seed has one";
}

TEST_F(ClusterTest, CommandsOfAServerAreForOneServer) {
  Client client = world.Connect({0, 1}, kPatient);
  const auto refused = client.Administer("status");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("one server"));
  ClientOptions administers = kPatient;
  administers.administers = true;
  auto one = Client::Connect(world.UriOf(1), administers);
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_THAT(one->Administer("status").error().message, testing::Not(HasSubstr("one server")));
}

}  // namespace
}  // namespace plov
