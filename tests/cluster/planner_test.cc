// Where shards are placed: by hand, and in clusters of which nothing was thought beforehand.
#include "cluster/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/cluster/placed_values.h"
#include "tests/cluster/sim_coordinator.h"

namespace plov::test {
namespace {

using namespace cluster;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// What the values are once all servers have followed the plan.
Values After(Values values, const Plan& plan) {
  for (const auto& [number, servers] : plan) {
    values.placements[number].servers = servers;
    Shard& shard = values.shards[number];
    shard.primary = servers.front();
    shard.in_sync.clear();
    for (const std::string& server : servers) shard.in_sync.push_back({server, 1});
  }
  return values;
}

std::string WhyNot(const std::expected<Plan, Error>& plan) {
  return plan ? "there is a plan" : plan.error().message;
}

TEST(Planner, MovesOneReplicaToItsPlace) {
  const Values values = ValuesOf({{"a", ""}, {"b", ""}, {"c", ""}}, {{"a", "b"}, {"b", "c"}});
  EXPECT_THAT(PlanMove(values, 0, "a", "c").value(), ElementsAre(Pair(0, ElementsAre("c", "b"))));
  EXPECT_THAT(PlanMove(values, 0, "b", "c").value(), ElementsAre(Pair(0, ElementsAre("a", "c"))));
  EXPECT_THAT(PlanMove(values, 0, "", "b").value(), ElementsAre(Pair(0, ElementsAre("b", "a"))))
      << "it becomes the primary";
  EXPECT_THAT(PlanMove(values, 0, "", "a").value(), IsEmpty());
}

TEST(Planner, SaysWhyAMoveCannotBe) {
  const Values values =
      ValuesOf({{"a", ""}, {"b", ""}, {"c", "", 8, false}, {"d", "", 0}}, {{"a", "b"}});
  EXPECT_THAT(WhyNot(PlanMove(values, 1, "a", "c")), HasSubstr("no shard 1: the cluster has 1"));
  EXPECT_THAT(WhyNot(PlanMove(values, 0, "a", "x")), HasSubstr("there is no server x"));
  EXPECT_THAT(WhyNot(PlanMove(values, 0, "", "c")), HasSubstr("which one is to move"));
  EXPECT_THAT(WhyNot(PlanMove(values, 0, "d", "c")), HasSubstr("shard 0 is not placed on d"));
  EXPECT_THAT(WhyNot(PlanMove(values, 0, "a", "b")), HasSubstr("has a replica on b already"));
  EXPECT_THAT(WhyNot(PlanMove(values, 0, "a", "c")), HasSubstr("server c does not run"));
  EXPECT_THAT(WhyNot(PlanMove(values, 0, "a", "d")), HasSubstr("as many shards as it may: 0"));
  EXPECT_THAT(WhyNot(PlanDrain(values, "x")), HasSubstr("there is no server x"));
  EXPECT_THAT(
      WhyNot(PlanDrain(values, "a")),
      HasSubstr("one more replica of shard 0: c does not run, d has 0 of its --max-shards 0"));
}

// A replica that leaves takes room until others have joined.
TEST(Planner, RoomIsFreeWhenWhoLeavesHasLeft) {
  Values values = ValuesOf({{"a", "", 1}, {"b", "", 1}, {"c", "", 1}}, {{"a"}, {"b"}});
  EXPECT_THAT(WhyNot(PlanMove(values, 0, "", "b")), HasSubstr("as many shards as it may: 1"));
  values.placements[1].servers = {"c"};
  EXPECT_THAT(WhyNot(PlanMove(values, 0, "", "b")), HasSubstr("as many shards as it may: 1"));
  values.shards[1].in_sync = {{"c", 1}};
  EXPECT_THAT(PlanMove(values, 0, "", "b").value(), ElementsAre(Pair(0, ElementsAre("b"))));
}

TEST(Planner, ReplacesWhoDoesNotRunInAnotherZone) {
  const Values values =
      ValuesOf({{"a", "r1"}, {"b", "r2", 8, false}, {"c", "r1"}, {"d", "r3"}, {"e", "r2"}},
               {{"a", "b"}, {"d", "a"}, {"e", "d"}});
  EXPECT_THAT(PlanRepair(values).plan, ElementsAre(Pair(0, ElementsAre("a", "e"))));
  EXPECT_THAT(PlanRepair(values, {"b"}).plan, IsEmpty()) << "it may come back";
}

TEST(Planner, RepairsWhatItCan) {
  const Values values = ValuesOf({{"a", "", 2}, {"b", "", 8, false}, {"c", "", 2}, {"d", "", 1}},
                                 {{"a", "b"}, {"b", "c"}, {"c", "a"}});
  const Repair repair = PlanRepair(values);
  EXPECT_THAT(repair.plan, ElementsAre(Pair(0, ElementsAre("a", "d"))));
  ASSERT_TRUE(repair.trouble);
  EXPECT_THAT(repair.trouble->message, HasSubstr("one more replica of shard 1"));
}

TEST(Planner, GivesANewServerItsPart) {
  const Values values =
      ValuesOf({{"a", ""}, {"b", ""}, {"c", ""}},
               {{"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}, {"a", "b"}});
  const Values after = After(values, PlanBalance(values));
  std::map<std::string, int> replicas, firsts;
  for (const auto& [number, placement] : after.placements) {
    for (const std::string& server : placement.servers) ++replicas[server];
    ++firsts[placement.servers.front()];
  }
  EXPECT_THAT(replicas, ElementsAre(Pair("a", 4), Pair("b", 4), Pair("c", 4)));
  EXPECT_THAT(firsts, ElementsAre(Pair("a", 2), Pair("b", 2), Pair("c", 2)));
}

TEST(Planner, SpreadsOverZones) {
  const Values values =
      ValuesOf({{"a", "r1"}, {"b", "r1"}, {"c", "r2"}, {"d", "r2"}}, {{"a", "b"}, {"c", "d"}});
  for (const auto& [number, placement] : After(values, PlanBalance(values)).placements) {
    std::set<std::string> zones;
    for (const std::string& server : placement.servers)
      zones.insert(values.servers.at(server).zone);
    EXPECT_EQ(zones.size(), 2u) << number;
  }
}

// Whatever there is, a plan gives no server two replicas of a shard nor more than it may have, uses who runs alone, and once
// it was followed there is nothing more to do.
TEST(Planner, HoldsInClustersOfAllKinds) {
  for (uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
    std::vector<ServerDescription> servers;
    for (uint32_t i = 0; i < 2 + draw(6); ++i) {
      servers.push_back({"s" + std::to_string(i), draw(2) ? "r" + std::to_string(draw(3)) : "",
                         4 + draw(12), draw(6) != 0});
    }
    std::map<std::string, uint32_t> used;
    std::vector<std::vector<std::string>> placements(1 + draw(8));
    for (auto& placement : placements) {
      std::ranges::shuffle(servers, random);
      for (const auto& server : servers) {
        if (placement.size() == 2 || used[server.id] == server.shards_max) continue;
        placement.push_back(server.id);
        ++used[server.id];
      }
    }
    if (std::ranges::any_of(placements, &std::vector<std::string>::empty)) continue;
    Values values = ValuesOf(servers, placements);
    values.config.replicas = 2;
    const std::string drained = servers[draw(static_cast<uint32_t>(servers.size()))].id;
    const auto is_good = [&](const Plan& plan) {
      std::map<std::string, uint32_t> count;
      for (const auto& [number, placement] : After(values, plan).placements) {
        const std::set<std::string> different(placement.servers.begin(), placement.servers.end());
        ASSERT_EQ(different.size(), placement.servers.size());
        ASSERT_GE(different.size(), placements[number].size());
        for (const std::string& server : placement.servers) {
          const bool was_there =
              std::ranges::find(placements[number], server) != placements[number].end();
          ASSERT_TRUE(was_there || values.running.contains(server));
          ASSERT_LE(++count[server], values.servers.at(server).shards_max);
        }
      }
    };
    if (const auto plan = PlanDrain(values, drained)) {
      is_good(*plan);
      for (const auto& [number, placement] : After(values, *plan).placements) {
        ASSERT_EQ(std::ranges::find(placement.servers, drained), placement.servers.end());
      }
    }
    const Repair repair = PlanRepair(values);
    is_good(repair.plan);
    if (!repair.trouble) {
      const Values after = After(values, repair.plan);
      ASSERT_THAT(PlanRepair(after).plan, IsEmpty());
      for (const auto& [number, placement] : after.placements) {
        for (const std::string& server : placement.servers) {
          ASSERT_TRUE(values.running.contains(server));
        }
      }
    }
    const Plan balance = PlanBalance(values);
    is_good(balance);
    // There is more room when those that leave have left.
    Values after = After(values, balance);
    for (int i = 0; i < 3; ++i) after = After(after, PlanBalance(after));
    ASSERT_THAT(PlanBalance(after), IsEmpty());
    if (HasFatalFailure()) return;
  }
}

TEST(Planner, WritesWhatWasPlannedUnlessItHasChanged) {
  SimEnsemble ensemble(1);
  const auto coordinator = ensemble.Connect();
  Config config = WholeConfig();
  config.shards = 2;
  config.replicas = 1;
  ASSERT_TRUE(CreateCluster(coordinator.get(), config, {"a", "b"}));
  const auto values = ReadValues(coordinator.get());
  ASSERT_TRUE(values);
  ASSERT_TRUE(Apply(coordinator.get(), *values, {{0, {"b"}}, {1, {"a"}}}));
  EXPECT_EQ(ReadValues(coordinator.get())->placements.at(0).servers, std::vector<std::string>{"b"});
  EXPECT_TRUE(Apply(coordinator.get(), *values, {{0, {"b"}}})) << "as it is already";
  const auto applied = Apply(coordinator.get(), *values, {{0, {"c"}}});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Code::kVersionMismatch);
}

}  // namespace
}  // namespace plov::test
