// What a durable study says of figures that are given.

#include <gtest/gtest.h>

#include "bench/compare/study.h"
#include "bench/durable/study.h"

namespace plov::bench {
namespace {

Timed Of(double per_second, uint64_t us) {
  Timed timed{.per_second = per_second};
  timed.latency.Count(us * 1000);
  return timed;
}

// All but Redis; strict costs half of the rate, and a write to the disk takes a microsecond.
DurableStudy Study() {
  DurableStudy study;
  for (const std::string_view what : {kPuts255, kPuts1020}) {
    for (const std::string_view who : {kNoLog, kAsync, kAcked}) study.Add({what, who}, Of(100, 1));
    study.Add({what, kStrict}, Of(50, 2));
  }
  study.Add({kHotPuts1020, kStrict}, Of(45, 2));
  for (const std::string_view who : {kStrict, kStrictSnapshots}) {
    study.Add({kOnePut, who}, Of(100, 2));
  }
  for (const std::string_view who : {kAlone, kBesideAll}) study.Add({kOneGet, who}, Of(100, 1));
  for (const std::string_view who : {kWrite4K, kWrite64K}) study.Add({kDiskWrite, who}, Of(100, 1));
  study.starts = {{.value_bytes = 64, .items = 1'300'000}, {.value_bytes = 1024, .items = 1000}};
  for (StartRow& start : study.starts) start.seconds.Add(1);
  study.idle = GoalRow(kIdleCpu);
  study.idle.measured.Add(0);
  study.snapshot_target_mib = 8;
  study.skipped = "no Redis";
  return study;
}

GoalRow Find(const std::vector<GoalRow>& goals, std::string_view name) {
  for (const GoalRow& goal : goals) {
    if (goal.name == name) return goal;
  }
  ADD_FAILURE() << name;
  return GoalRow();
}

TEST(Durable, GoalsAreRatiosWithinTheRun) {
  const auto goals = GoalsOf(Study());
  EXPECT_TRUE(IsReached(Find(goals, "strict_255")));    // 0.5 of 0.45
  EXPECT_FALSE(IsReached(Find(goals, "strict_1020")));  // 0.5 of 0.7
  EXPECT_FALSE(IsReached(Find(goals, "put_disk")));     // twice the disk's
  for (const std::string_view name :
       {"strict_hot", "async_255", "gets", "put_snapshots", "snapshot_memory"}) {
    EXPECT_TRUE(IsReached(Find(goals, name))) << name;
  }
}

TEST(Durable, StartsAreJudgedByItemsOrByBytes) {
  const auto goals = GoalsOf(Study());
  EXPECT_TRUE(IsReached(Find(goals, "start_log_64")));
  EXPECT_FALSE(IsReached(Find(goals, "start_log_1k")));
}

TEST(Durable, WithoutRedisItsRowsSayWhy) {
  const auto goals = GoalsOf(Study());
  for (const std::string_view name : {"put_redis", "strict_redis"}) {
    EXPECT_EQ(VerdictOf(Find(goals, name)), "skipped: no Redis");
  }
  EXPECT_EQ(ReachedOf(goals), "10 of 13 goals reached");
}

TEST(Durable, LoadsHaveTheirRatiosToNoLog) {
  const program::Json loads = JsonOf(Study())["loads"];
  for (const program::Json& load : loads) {
    const bool compares = load["what"] == kPuts255 || load["what"] == kPuts1020;
    EXPECT_EQ(load.contains("rate_of_no_log"), compares && load["who"] != kNoLog) << load;
    if (compares && load["who"] == kStrict) {
      EXPECT_EQ(load["rate_of_no_log"]["median"], 0.5);
    }
  }
}

}  // namespace
}  // namespace plov::bench
