// What a comparison says of figures that are given.

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "bench/compare/study.h"
#include "bench/peers/peer.h"
#include "bench/shared/tested_server.h"

namespace plov::bench {
namespace {

TEST(BackgroundLoad, IsSaidOfTheRoundsThatItDisturbed) {
  EXPECT_EQ(BackgroundLoad::TextOf({1.0, 1.2}), "no other work disturbed a round");
  EXPECT_EQ(BackgroundLoad::TextOf({1.0, 1.3, 1.0}),
            "other work disturbed round 2: a loop beside it took 1.3 times as long");
  EXPECT_EQ(BackgroundLoad::TextOf({2.04, 1.0, 1.5}),
            "other work disturbed rounds 1, 3: a loop beside them took up to 2.0 times as long");
}

TEST(BackgroundLoad, LoopTakesNoLessThanItsOwnTimeAtBest) {
  BackgroundLoad load;
  load.EndRound(false);
  EXPECT_TRUE(load.Slowdowns().empty());
  load.EndRound(true);
  load.EndRound(true);
  ASSERT_EQ(load.Slowdowns().size(), 2u);
  for (const double slowdown : load.Slowdowns()) EXPECT_GT(slowdown, 0.99);
}

GoalRow Row(Bound bound, double target, std::initializer_list<double> measured) {
  GoalRow row;
  row.name = "row";
  row.bound = bound;
  row.target = target;
  row.unit = "x";
  for (const double value : measured) row.measured.Add(value);
  return row;
}

RateRow Rate(std::string_view who, Way way, std::initializer_list<double> per_second) {
  RateRow row{.who = who, .title = who, .way = way, .per_second = {}};
  for (const double value : per_second) row.per_second.Add(value);
  return row;
}

// plov alone, and the peers that are given.
Comparison With(std::initializer_list<RateRow> peers) {
  Comparison comparison;
  comparison.rates = peers;
  for (const std::string_view who : {kCold, kKnown}) {
    for (const Way way : {Way::kGet, Way::kGetMany, Way::kPut, Way::kPutMany}) {
      comparison.rates.push_back(Rate(who, way, {100, 300, 200}));
    }
  }
  AddRateGoals(&comparison);
  return comparison;
}

const GoalRow& Find(const Comparison& comparison, std::string_view name) {
  for (const GoalRow& row : comparison.goals) {
    if (row.name == name) return row;
  }
  std::abort();
}

TEST(Verdict, GoalIsReachedAtItsTarget) {
  EXPECT_EQ(VerdictOf(Row(Bound::kAtLeast, 0.85, {0.85})), "reached");
  EXPECT_EQ(VerdictOf(Row(Bound::kAtLeast, 0.85, {3})), "reached");
  EXPECT_EQ(VerdictOf(Row(Bound::kAtMost, 2.4, {2.4})), "reached");
  EXPECT_EQ(VerdictOf(Row(Bound::kAtMost, 2.4, {1})), "reached");
}

TEST(Verdict, MissedGoalIsMissedByAPartOfItsTarget) {
  EXPECT_EQ(VerdictOf(Row(Bound::kAtLeast, 2, {1.5})), "missed by 25.0 %");
  EXPECT_EQ(VerdictOf(Row(Bound::kAtLeast, 0.85, {0.84999})), "missed by 0.00 %");
  EXPECT_EQ(VerdictOf(Row(Bound::kAtMost, 2, {5})), "missed by 150 %");
}

TEST(Verdict, GoalOfZeroIsMissedByWhatWasMeasured) {
  EXPECT_EQ(VerdictOf(Row(Bound::kAtMost, 0, {0.5})), "missed by 0.50x");
  EXPECT_EQ(VerdictOf(Row(Bound::kAtMost, 0, {0})), "reached");
}

TEST(Verdict, MedianOfTheRoundsIsJudged) {
  EXPECT_EQ(VerdictOf(Row(Bound::kAtLeast, 2, {0.1, 2, 2.5})), "reached");
  EXPECT_EQ(VerdictOf(Row(Bound::kAtLeast, 2, {9, 1, 1})), "missed by 50.0 %");
}

TEST(Verdict, AsManyDigitsAreJudgedAsTheGoalHas) {
  GoalRow row = Row(Bound::kAtMost, 2.4, {2.449});
  EXPECT_FALSE(IsReached(row));
  row.digits = 1;
  EXPECT_TRUE(IsReached(row));
  row.measured = {};
  row.measured.Add(2.451);
  EXPECT_FALSE(IsReached(row));
}

TEST(Verdict, WhatWasNotMeasuredHasNone) {
  GoalRow row = Row(Bound::kAtLeast, 2, {});
  row.skipped = "no RDMA device";
  EXPECT_EQ(VerdictOf(row), "skipped: no RDMA device");
}

TEST(Goals, RatioIsTheMedianOfTheRoundsRatios) {
  const Comparison comparison = With({Rate("memory", Way::kGet, {100, 100, 400})});
  const GoalRow& row = Find(comparison, "get_memory");
  EXPECT_EQ(row.measured.size(), 3u);
  EXPECT_DOUBLE_EQ(row.measured.median(), 1);  // of 1, 3 and 0.5
  EXPECT_DOUBLE_EQ(row.measured.most(), 3);
  EXPECT_EQ(row.skipped, "");
}

TEST(Goals, PeerThatWasNotAskedForIsNamed) {
  const Comparison comparison = With({Rate("memory", Way::kGet, {100, 100, 400})});
  EXPECT_EQ(comparison.goals.size(), kRateGoals.size());
  EXPECT_EQ(Find(comparison, "get_known_lmdb").skipped, "not among --peers");
}

TEST(Goals, FasterOfTwoWaysToAskRedisCounts) {
  const Comparison slow = With({Rate("redis", Way::kGetMany, {20, 20, 20}),
                                Rate("redis-benchmark", Way::kGetMany, {10, 10, 10})});
  EXPECT_DOUBLE_EQ(Find(slow, "get_many_redis").measured.median(), 10);
  const Comparison fast = With({Rate("redis", Way::kGetMany, {10, 10, 10}),
                                Rate("redis-benchmark", Way::kGetMany, {20, 20, 20})});
  EXPECT_DOUBLE_EQ(Find(fast, "get_many_redis").measured.median(), 10);
  const Comparison alone = With({Rate("redis-benchmark", Way::kGetMany, {10, 10, 10})});
  EXPECT_DOUBLE_EQ(Find(alone, "get_many_redis").measured.median(), 20);
}

TEST(Goals, JsonHasEveryRow) {
  const Comparison comparison = With({Rate("memory", Way::kGet, {100, 100, 400})});
  const auto json = JsonOf(comparison);
  ASSERT_EQ(json["goals"].size(), kRateGoals.size());
  EXPECT_EQ(json["goals"][0]["measured"]["median"], 1.0);
  EXPECT_EQ(json["goals"][0]["reached"], true);
  EXPECT_FALSE(json["goals"][2].contains("measured"));
}

TEST(Goals, PeersOfGoalsAreThere) {
  for (const RateGoal& goal : kRateGoals) EXPECT_NE(FindPeerKind(goal.peer), nullptr) << goal.name;
}

TEST(Statistics, NumberIsFoundByItsWholeName) {
  constexpr const char* kText = "items_displaced 5\nitems 123\nbuckets 9\n";
  EXPECT_EQ(StatOf(kText, "items"), 123u);
  EXPECT_EQ(StatOf(kText, "buckets"), 9u);
  EXPECT_EQ(StatOf(kText, "bucket"), 0u);
}

// redis-tools 7.0.15.
TEST(RedisBenchmark, RateIsReadByTheNameOfTheTest) {
  constexpr const char* kText =
      "\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\"\n"
      "\"SET\",\"1150000.25\",\"0.9\",\"0.1\",\"0.8\"\n"
      "\"GET\",\"1370000.50\",\"0.9\",\"0.1\",\"0.8\"\n";
  EXPECT_DOUBLE_EQ(ParseRedisBenchmark(kText, "GET").value(), 1370000.5);
  EXPECT_DOUBLE_EQ(ParseRedisBenchmark(kText, "SET").value(), 1150000.25);
  EXPECT_FALSE(ParseRedisBenchmark(kText, "MSET"));
  EXPECT_FALSE(ParseRedisBenchmark("", "GET"));
}

TEST(Fill, TableIsFilledAsFarAsItsKeysFindPlaces) {
  const double percent = FillOfTable(1 << 12, 1).value();
  EXPECT_GT(percent, 80);
  EXPECT_LT(percent, 100);
}

}  // namespace
}  // namespace plov::bench
