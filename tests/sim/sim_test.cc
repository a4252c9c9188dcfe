// Worlds of many seeds: the same each time, right, and with something going on in them.

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "tests/sim/history_checker.h"
#include "tests/sim/world.h"
#include "tests/support/environment.h"
#include "tests/support/probe.h"
#include "tests/support/sanitizers.h"

namespace plov::sim {

namespace {

// PLOV_SIM_RUNS lengthens it.
uint64_t Runs() { return test::NumberFrom("PLOV_SIM_RUNS", test::kSanitized ? 600 : 6000); }

constexpr LifeSet kFirstLife = 1;
constexpr LifeSet kAnyLife = 3;

void Begin(HistoryChecker* checker, uint64_t first_version, bool warm, torture::Instant now) {
  checker->Begin(0, first_version, warm, {}, now);
}

torture::Operation Put(uint64_t version, torture::Instant start) {
  torture::Operation put{.start = start, .end = start + 1, .value = 7, .version = version};
  put.kind = torture::Kind::kPut;
  return put;
}

}  // namespace

TEST(Sim, OneSeedIsOneRun) {
  spdlog::set_level(spdlog::level::off);
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const RunResult once = RunSeed(seed);
    const RunResult again = RunSeed(seed);
    EXPECT_EQ(once.fingerprint, again.fingerprint) << seed;
    EXPECT_EQ(once.coverage.Text(), again.coverage.Text()) << seed;
    EXPECT_NE(once.fingerprint, RunSeed(seed + 1).fingerprint) << seed;
  }
}

TEST(Sim, ManyWorldsAreRightAndMeanSomething) {
  spdlog::set_level(spdlog::level::off);
  Coverage sum;
  for (uint64_t seed = 1; seed <= Runs(); ++seed) {
    const RunResult result = RunSeed(seed);
    ASSERT_FALSE(result.is_guilty) << "seed " << seed << ":\n" << result.verdict;
    sum.Add(result.coverage);
  }
  std::cout << sum.Text();
  EXPECT_GT(sum.schedules, Runs());
  for (const uint64_t count : {sum.torn,
                               sum.confirmations,
                               sum.restarts,
                               sum.fallbacks,
                               sum.refreshes,
                               sum.reconnects,
                               sum.retries,
                               sum.known_misses,
                               sum.displacements,
                               sum.overflowed_homes,
                               sum.growths,
                               sum.widened,
                               sum.cleaned_records,
                               sum.no_space,
                               sum.expired,
                               sum.evicted,
                               sum.hits_told,
                               sum.late_reads,
                               sum.scans,
                               sum.flushes,
                               sum.commits,
                               sum.key_snapshots,
                               sum.switches,
                               sum.raises,
                               sum.kills,
                               sum.recoveries}) {
    EXPECT_GT(count, 0);
  }
}

TEST(Sim, ModifiedItemsAreRightAndMeanSomething) {
  spdlog::set_level(spdlog::level::off);
  for (const bool have_log : {false, true}) {
    Coverage sum;
    for (uint64_t seed = 1; seed <= Runs() / 10; ++seed) {
      const RunResult result = RunSeed(seed, ~uint32_t{0}, {.have_log = have_log, .modify = true});
      ASSERT_FALSE(result.is_guilty) << "seed " << seed << ":\n" << result.verdict;
      sum.Add(result.coverage);
    }
    std::cout << sum.Text();
    for (const uint64_t count : {sum.modified, sum.retries, sum.torn, sum.growths, sum.kills}) {
      EXPECT_GT(count, 0);
    }
  }
}

TEST(HistoryChecker, FindsAStaleGet) {
  HistoryChecker checker;
  Begin(&checker, 100, false, 1);
  checker.Feed(Put(101, 10), kAnyLife);
  checker.Feed(Put(102, 20), kAnyLife);
  torture::Operation get{.start = 30, .end = 40, .value = 7, .version = 101};
  checker.Feed(get, kAnyLife);
  checker.Finish();
  EXPECT_TRUE(checker.is_guilty());
  EXPECT_EQ(checker.shortest(), 3);
}

TEST(HistoryChecker, FindsAValueOfAFormerLife) {
  HistoryChecker checker;
  Begin(&checker, 100, false, 1);
  checker.Feed(Put(101, 10), kAnyLife);
  Begin(&checker, 500, false, 20);
  torture::Operation get{.start = 15, .end = 40, .value = 7, .version = 101};
  checker.Feed(get, kAnyLife);
  EXPECT_FALSE(checker.is_guilty());  // it began before
  get.start = 25;
  checker.Feed(get, kAnyLife);
  EXPECT_TRUE(checker.is_guilty());
}

TEST(HistoryChecker, HoldsThatNothingIsLostByAWarmRestart) {
  HistoryChecker checker;
  Begin(&checker, 100, false, 1);
  checker.Feed(Put(101, 10), kFirstLife);
  Begin(&checker, 100, true, 20);
  torture::Operation miss{.start = 30, .end = 40};
  miss.outcome = torture::Outcome::kAbsent;
  checker.Feed(miss, kFirstLife);
  checker.Finish();
  EXPECT_TRUE(checker.is_guilty());
}

TEST(HistoryChecker, KnowsThatAnExpiredItemMayBeGone) {
  for (const bool expires : {false, true}) {
    HistoryChecker checker;
    Begin(&checker, 100, false, 1);
    checker.Feed(Put(101, 10), kFirstLife);
    torture::Operation miss{.start = 30, .end = 40};
    miss.outcome = torture::Outcome::kAbsent;
    checker.Feed(miss, kFirstLife);
    if (expires) checker.FeedExpiry(0, 101, kFirstLife, 25);
    checker.Finish();
    EXPECT_EQ(checker.is_guilty(), !expires);
  }
}

}  // namespace plov::sim
