// Servers that do not run for a while are replaced by themselves: when, by whom, and when not.
#include "cluster/repairer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "cluster/configuration_register.h"
#include "tests/cluster/sim_coordinator.h"
#include "tests/cluster/values.h"

namespace plov::test {
namespace {

using namespace cluster;
using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// A cluster of four servers, of which all run at first, and two shards, on a and b and on b and c.
class RepairerTest : public ::testing::Test {
 protected:
  RepairerTest() {
    Config config = WholeConfig();
    config.shards = 2;
    config.repair_after = 10s;
    config_ = CreateCluster(coordinator_.get(), config, {"a", "b", "c"}).value();
    for (const char* id : {"a", "b", "c", "d"}) {
      Server server{config_.cluster_id, 1, {std::string("shm:") + id}, "", 0, 2};
      EXPECT_TRUE(Put(coordinator_.get(), std::string("servers/") + id, Encode(server)));
      EXPECT_TRUE(Run(id));
    }
  }
  bool Run(const std::string& id) {
    return coordinator_->Create("running/" + id, "life", Lifetime::kEphemeral).has_value();
  }
  bool End(const std::string& id) {
    return coordinator_->Delete("running/" + id, coordinator_->Get("running/" + id)->revision)
        .has_value();
  }
  // Of shard `number`.
  void SetMembers(uint32_t number, const std::string& primary, const std::vector<Member>& members) {
    ConfigurationRegister shard(coordinator_.get(), number, config_.cluster_id);
    const Held held = shard.Read().value();
    Shard next = held.shard;
    next.primary = primary;
    next.in_sync = members;
    EXPECT_EQ(shard.Propose(held, next).verdict, Verdict::kAccepted);
  }
  Values Read() { return ReadValues(coordinator_.get()).value(); }
  std::expected<Repairer::Done, Error> Look(std::chrono::seconds at) {
    return repairer_.Look(Read(), Repairer::Time(at));
  }
  std::string WhyNot(std::chrono::seconds at) {
    const auto done = Look(at);
    return done ? "it was done" : done.error().message;
  }

  SimEnsemble ensemble_{1};
  std::unique_ptr<Coordinator> coordinator_ = ensemble_.Connect();
  Config config_;
  Repairer repairer_{coordinator_.get(), "a"};
};

TEST_F(RepairerTest, ReplacesWhoHasNotRunForSoLong) {
  SetMembers(0, "a", {{"a", 1}});
  SetMembers(1, "c", {{"c", 1}});
  ASSERT_TRUE(End("b"));
  EXPECT_THAT(Look(100s)->plan, IsEmpty());
  EXPECT_THAT(Look(109s)->plan, IsEmpty());
  ASSERT_TRUE(Run("b"));
  EXPECT_THAT(Look(111s)->plan, IsEmpty());
  ASSERT_TRUE(End("b"));
  EXPECT_THAT(Look(112s)->plan, IsEmpty()) << "it was back";
  const auto done = Look(122s);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(done->away, ElementsAre("b"));
  EXPECT_EQ(done->plan.size(), 2u);
  const Values values = Read();
  for (uint32_t shard : {0u, 1u}) {
    EXPECT_EQ(values.placements.at(shard).servers, done->plan.at(shard));
    EXPECT_EQ(std::ranges::count(done->plan.at(shard), "b"), 0);
  }
  EXPECT_FALSE(coordinator_->Get("repairing")) << "another may";
  EXPECT_THAT(Look(200s)->plan, IsEmpty());
}

TEST_F(RepairerTest, CountsAnewWhereItWasNotSeenWhoRan) {
  SetMembers(0, "a", {{"a", 1}});
  ASSERT_TRUE(End("b"));
  ASSERT_TRUE(Look(100s));
  repairer_.Forget();
  EXPECT_THAT(Look(120s)->plan, IsEmpty());
  EXPECT_EQ(Look(130s)->plan.size(), 1u);
}

// While it has only lost the coordinator, or nobody else has the items.
TEST_F(RepairerTest, LeavesWhoIsInSync) {
  SetMembers(0, "a", {{"a", 1}, {"b", 2}});
  SetMembers(1, "b", {{"b", 2}});
  ASSERT_TRUE(End("b"));
  ASSERT_TRUE(Look(100s));
  EXPECT_THAT(Look(110s)->plan, IsEmpty());
  SetMembers(0, "a", {{"a", 1}});
  EXPECT_THAT(Look(111s)->plan, ElementsAre(Pair(0, ElementsAre("a", "d"))));
}

TEST_F(RepairerTest, DoesNothingWhereItIsOff) {
  config_.repair_after = 0s;
  ASSERT_TRUE(Put(coordinator_.get(), "config", Encode(config_)));
  SetMembers(0, "a", {{"a", 1}});
  ASSERT_TRUE(End("b"));
  ASSERT_TRUE(Look(100s));
  EXPECT_THAT(Look(100'000s)->plan, IsEmpty());
}

TEST_F(RepairerTest, DoesNothingWhileMostAreAway) {
  SetMembers(0, "a", {{"a", 1}});
  ASSERT_TRUE(End("b"));
  ASSERT_TRUE(End("c"));
  ASSERT_TRUE(Look(100s));
  EXPECT_THAT(WhyNot(110s), HasSubstr("2 of 3 servers do not run"));
  ASSERT_TRUE(Run("c"));
  EXPECT_EQ(Look(111s)->plan.size(), 1u);
}

TEST_F(RepairerTest, DoesNothingWhileItIsNotSeenItself) {
  SetMembers(0, "c", {{"c", 1}});
  ASSERT_TRUE(End("a"));
  ASSERT_TRUE(Look(100s));
  EXPECT_THAT(Look(110s)->plan, IsEmpty());
}

TEST_F(RepairerTest, OneDoesItAtATime) {
  SetMembers(0, "a", {{"a", 1}});
  ASSERT_TRUE(End("b"));
  ASSERT_TRUE(Look(100s));
  const auto other = ensemble_.Connect();
  ASSERT_TRUE(other->Create("repairing", "c", Lifetime::kEphemeral));
  EXPECT_THAT(Look(110s)->plan, IsEmpty());
  EXPECT_EQ(Read().placements.at(0).servers.back(), "b");
  ASSERT_TRUE(other->Delete("repairing", other->Get("repairing")->revision));
  // Its own, of a call whose reply was lost.
  ASSERT_TRUE(coordinator_->Create("repairing", "a", Lifetime::kEphemeral));
  EXPECT_EQ(Look(111s)->plan.size(), 1u);
}

// What was read before may be old.
TEST_F(RepairerTest, PlansWithWhatItReadsAlone) {
  SetMembers(0, "a", {{"a", 1}});
  ASSERT_TRUE(End("b"));
  const Values old = Read();
  ASSERT_TRUE(repairer_.Look(old, Repairer::Time(100s)));
  ASSERT_TRUE(Apply(coordinator_.get(), old, {{0, {"a", "c"}}}));
  EXPECT_THAT(repairer_.Look(old, Repairer::Time(110s))->plan, IsEmpty());
  EXPECT_EQ(Read().placements.at(0).servers.back(), "c");
}

// One that has gone since is awaited as long as the others were.
TEST_F(RepairerTest, WaitsForWhoHasJustGone) {
  SetMembers(0, "a", {{"a", 1}});
  SetMembers(1, "b", {{"b", 1}});
  ASSERT_TRUE(End("b"));
  const Values old = Read();
  ASSERT_TRUE(repairer_.Look(old, Repairer::Time(100s)));
  SetMembers(1, "a", {{"a", 1}});
  ASSERT_TRUE(End("c"));
  EXPECT_THAT(repairer_.Look(old, Repairer::Time(110s))->plan,
              ElementsAre(Pair(0, ElementsAre("a", "d")), Pair(1, ElementsAre("d", "c"))));
}

TEST_F(RepairerTest, SaysWhoLacksRoomAndWritesNothing) {
  SetMembers(0, "a", {{"a", 1}});
  ASSERT_TRUE(End("b"));
  for (const char* id : {"c", "d"}) {
    Server server{config_.cluster_id, 1, {"shm:x"}, "", 0, 0};
    ASSERT_TRUE(Put(coordinator_.get(), std::string("servers/") + id, Encode(server)));
  }
  ASSERT_TRUE(Look(100s));
  const size_t states = ensemble_.HistoryOf("repairing").size();
  EXPECT_THAT(WhyNot(110s), HasSubstr("no server can take one more replica of shard 0"));
  EXPECT_EQ(ensemble_.HistoryOf("repairing").size(), states);
}

}  // namespace
}  // namespace plov::test
