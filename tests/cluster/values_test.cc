// What a cluster begins with, and who may begin a shard with nothing.
#include "cluster/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "cluster/empty_start.h"
#include "tests/cluster/sim_coordinator.h"
#include "tests/cluster/values.h"

namespace plov::test {
namespace {

using namespace cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Config ConfigOf(uint32_t shards, uint32_t replicas) {
  Config config = WholeConfig();
  config.shards = shards;
  config.replicas = replicas;
  return config;
}

std::string WhyRefused(Coordinator* coordinator, const Config& config,
                       const std::vector<std::string>& servers) {
  const auto created = CreateCluster(coordinator, config, servers);
  return created ? "created" : created.error().message;
}

TEST(Values, ClusterIsReadAsItWasCreated) {
  SimEnsemble ensemble(1);
  const auto coordinator = ensemble.Connect();
  const auto config = CreateCluster(coordinator.get(), ConfigOf(5, 2), {"a1", "b1", "c1"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_NE(config->cluster_id, kClusterId) << "it is drawn";
  EXPECT_NE(config->session_key, 0u);
  const auto values = ReadValues(coordinator.get());
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->config, *config);
  ASSERT_EQ(values->shards.size(), 5u);
  uint32_t slot = 0;
  for (const auto& [number, shard] : values->shards) {
    EXPECT_EQ(shard.slot_first, slot);
    slot = shard.slot_last + 1;
    EXPECT_EQ(shard.epoch, 1u);
    EXPECT_EQ(shard.in_sync, std::vector{values->empty_starts.at(number).member});
    EXPECT_EQ(shard.primary, values->placements.at(number).servers.front());
  }
  EXPECT_EQ(slot, kSlots);
  EXPECT_THAT(values->placements.at(2).servers, ElementsAre("b1", "c1"));
  EXPECT_THAT(values->placements.at(4).servers, ElementsAre("c1", "a1"));
}

TEST(Values, FirstPlacementIsEvenAndItsServersShareARepair) {
  for (const auto& [count, shards, replicas] : {std::tuple{1u, 16u, 1u},
                                                {2u, 2u, 2u},
                                                {3u, 16u, 2u},
                                                {3u, 4u, 3u},
                                                {10u, 4u, 2u},
                                                {7u, 64u, 3u},
                                                {100u, 800u, 2u},
                                                {5u, kSlots, 5u}}) {
    std::vector<std::string> servers;
    for (uint32_t i = 0; i < count; ++i) servers.push_back(std::to_string(i));
    std::map<std::string, std::vector<uint32_t>> firsts;
    std::map<std::string, uint32_t> replicas_of;
    std::map<std::string, std::set<std::string>> others;
    for (uint32_t shard = 0; shard < shards; ++shard) {
      const auto placed = FirstPlacement(shard, ConfigOf(shards, replicas), servers);
      ASSERT_EQ(std::set(placed.begin(), placed.end()).size(), replicas);
      firsts[placed[0]].push_back(shard);
      for (const std::string& server : placed) {
        ++replicas_of[server];
        others[server].insert(placed.begin(), placed.end());
      }
    }
    for (const auto& [server, numbers] : firsts) {
      EXPECT_EQ(numbers.back() - numbers.front() + 1, numbers.size()) << "they follow each other";
      EXPECT_NEAR(static_cast<double>(numbers.size()), double{1} * shards / count, 1);
    }
    for (const auto& [server, had] : replicas_of) {
      EXPECT_NEAR(had, double{1} * shards * replicas / count, 3) << count << " " << shards;
    }
    if (count == 100) {
      for (const auto& [server, with] : others) EXPECT_EQ(with.size(), 1 + 6u);
    }
  }
}

// What has changed is read again, and nothing else.
TEST(ValuesFollower, FollowsEachChangeByOneCall) {
  SimEnsemble ensemble(1);
  const auto coordinator = ensemble.Connect(), other = ensemble.Connect();
  ValuesFollower follower(coordinator.get());
  EXPECT_FALSE(follower.Look()) << "there is no cluster yet";
  ASSERT_TRUE(CreateCluster(other.get(), ConfigOf(8, 2), {"a1", "b1", "c1"}));
  ASSERT_TRUE(follower.Look());
  const uint64_t cluster_id = ReadValues(other.get())->config.cluster_id;
  int calls = 0;
  const auto look = [&] {
    calls = 0;
    ensemble.between = [&calls] { ++calls; };
    const auto values = follower.Look();
    ensemble.between = {};
    return values ? **values : Values();
  };
  const auto is_followed = [&](const std::string& path, const std::string& data) {
    ASSERT_TRUE(Put(other.get(), path, data));
    EXPECT_EQ(look(), ReadValues(other.get()).value()) << path;
    EXPECT_LE(calls, 2) << path;
  };
  Config config = ReadValues(other.get())->config;
  config.repair_after = std::chrono::seconds(5);
  is_followed("config", Encode(config));
  is_followed("placement/3", Encode(Placement{cluster_id, {"c1", "a1"}}));
  is_followed("empty/7", Encode(EmptyStart{cluster_id, {"a1", 7}, true}));
  is_followed("servers/d1", Encode(Server{cluster_id, 1, {"shm:d1"}, "", 0, 1}));
  Shard shard = ReadValues(other.get())->shards.at(5);
  shard.epoch = 2;
  is_followed("shards/5", Encode(shard));
  ASSERT_TRUE(other->Create("running/d1", "1", Lifetime::kEphemeral));
  EXPECT_THAT(look().running, ElementsAre("d1"));
  const Value placed = other->Get("placement/3").value();
  ASSERT_TRUE(other->Set("placement/3", "nonsense", placed.revision));
  EXPECT_FALSE(follower.Look());
  is_followed("placement/3", placed.data);
  look();
  EXPECT_EQ(calls, 0);
}

TEST(Values, SlotsAreThoseThatAHashWouldGive) {
  for (const uint32_t shards : {1u, 3u, 64u, 1000u, kSlots}) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const uint64_t first_hash = (uint64_t{slot} << 32) / kSlots;
      ASSERT_EQ(SlotOf(first_hash), slot);
      const uint32_t shard = cuckoo::ShardOf(first_hash, shards);
      ASSERT_LE(FirstSlotOf(shard, shards), slot);
      ASSERT_GT(FirstSlotOf(shard + 1, shards), slot);
    }
    EXPECT_EQ(FirstSlotOf(0, shards), 0u);
    EXPECT_EQ(FirstSlotOf(shards, shards), kSlots);
  }
}

TEST(Values, WhatIsNoClusterIsRefused) {
  SimEnsemble ensemble(1);
  const auto coordinator = ensemble.Connect();
  EXPECT_THAT(WhyRefused(coordinator.get(), ConfigOf(2, 2), {"a1"}),
              HasSubstr("2 replicas need as many servers, there are 1"));
  EXPECT_THAT(WhyRefused(coordinator.get(), ConfigOf(1, 1), {"a1", "a1"}), HasSubstr("twice"));
  EXPECT_THAT(WhyRefused(coordinator.get(), ConfigOf(1, 1), {"a/1"}), HasSubstr("is no ID"));
  EXPECT_THAT(WhyRefused(coordinator.get(), ConfigOf(kSlots + 1, 1), {"a1"}), HasSubstr("shards"));
  EXPECT_THAT(WhyRefused(coordinator.get(), ConfigOf(1, 2), {"a1", "b1"}),
              HasSubstr("replicas need 2 shards at least"));
  Config few = ConfigOf(1, 1);
  few.min_replicas = 2;
  EXPECT_THAT(WhyRefused(coordinator.get(), few, {"a1"}), HasSubstr("min_replicas"));
  EXPECT_EQ(coordinator->List("")->size(), 0u) << "nothing is left";
}

TEST(Values, ThereIsOneClusterAtARoot) {
  SimEnsemble ensemble(1);
  const auto coordinator = ensemble.Connect();
  ASSERT_TRUE(CreateCluster(coordinator.get(), ConfigOf(1, 1), {"a1"}));
  const auto second = CreateCluster(coordinator.get(), ConfigOf(1, 1), {"a1"});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kExists);
  ASSERT_TRUE(coordinator->Delete("config", coordinator->Get("config")->revision));
  EXPECT_THAT(WhyRefused(coordinator.get(), ConfigOf(1, 1), {"a1"}), HasSubstr("what is left"));
}

TEST(Values, EveryValueIsOfTheCluster) {
  SimEnsemble ensemble(1);
  const auto coordinator = ensemble.Connect();
  ASSERT_TRUE(CreateCluster(coordinator.get(), ConfigOf(2, 1), {"a1"}));
  const auto placement = coordinator->Get("placement/1");
  ASSERT_TRUE(
      coordinator->Set("placement/1", Encode(Placement{kClusterId, {"a1"}}), placement->revision));
  EXPECT_THAT(ReadValues(coordinator.get()).error().message,
              HasSubstr("placement/1: data of another cluster"));
}

class EmptyStartTest : public ::testing::Test {
 protected:
  EmptyStartTest() {
    const auto config = CreateCluster(coordinator_.get(), ConfigOf(2, 2), {"a1", "b1"});
    EXPECT_TRUE(config);
    cluster_id_ = config->cluster_id;
  }
  std::optional<Held> Take(const std::string& server) {
    const auto other = ensemble_.Connect();
    auto taken = TakeEmptyStart(other.get(), cluster_id_, 0, server);
    return taken ? *taken : std::nullopt;
  }

  SimEnsemble ensemble_{1};
  std::unique_ptr<Coordinator> coordinator_ = ensemble_.Connect();
  uint64_t cluster_id_ = 0;
};

TEST_F(EmptyStartTest, OneServerBeginsOnce) {
  EXPECT_FALSE(Take("b1"));
  const auto held = Take("a1");
  ASSERT_TRUE(held);
  EXPECT_EQ(held->shard.in_sync.front().server, "a1");
  EXPECT_FALSE(Take("a1")) << "its next life has lost what this one acknowledges";
}

TEST_F(EmptyStartTest, OnlyUnderTheConfigurationThatNamesIt) {
  ConfigurationRegister shard(coordinator_.get(), 0, cluster_id_);
  const auto held = *shard.Read();
  Shard next = held.shard;
  next.in_sync.push_back({"b1", 7});
  ASSERT_EQ(shard.Propose(held, next).verdict, Verdict::kAccepted);
  EXPECT_FALSE(Take("a1"));
}

TEST_F(EmptyStartTest, WhatIsForcedTakesThePlaceOfWhatWas) {
  const auto first = Take("a1");
  ASSERT_TRUE(first);
  ASSERT_TRUE(ForceEmptyStart(coordinator_.get(), cluster_id_, 0, "b1"));
  EXPECT_FALSE(Take("a1"));
  const auto second = Take("b1");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->shard.epoch, 2u);
  EXPECT_NE(second->shard.in_sync.front().incarnation, first->shard.in_sync.front().incarnation);
  EXPECT_FALSE(Take("b1"));
}

// Whatever is lost, late or old: no incarnation begins twice.
TEST_F(EmptyStartTest, NoIncarnationBeginsTwiceOverABadCoordinator) {
  ensemble_.faults = {.old_read = 200,
                      .lost_done = 100,
                      .lost_never = 60,
                      .lost_late = 150,
                      .lost_hint = 0,
                      .ended_session = 5};
  std::set<uint64_t> begun;
  for (int i = 0; i < 3000; ++i) {
    if (i % 10 == 0) {
      auto forced = ForceEmptyStart(coordinator_.get(), cluster_id_, 0, i % 20 == 0 ? "a1" : "b1");
    }
    if (const auto held = Take(i % 2 == 0 ? "a1" : "b1")) {
      EXPECT_TRUE(begun.insert(held->shard.in_sync.front().incarnation).second) << i;
    }
    if (i % 7 == 0) ensemble_.DoLate();
  }
  EXPECT_GT(begun.size(), 30u);
}

}  // namespace
}  // namespace plov::test
