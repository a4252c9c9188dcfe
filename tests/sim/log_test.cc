// Worlds whose server keeps a log on a disk and dies often: killed, stopped, or with the power.

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iostream>
#include <optional>

#include "tests/sim/history_checker.h"
#include "tests/sim/world.h"
#include "tests/support/environment.h"
#include "tests/support/probe.h"
#include "tests/support/sanitizers.h"

namespace plov::sim {

namespace {

using torture::Commit;
using torture::Operation;
using torture::Outcome;
using torture::Settled;

// PLOV_SIM_RUNS lengthens it.
uint64_t LoggedRuns() { return test::NumberFrom("PLOV_SIM_RUNS", test::kSanitized ? 100 : 1000); }

RunResult RunLogged(uint64_t seed) { return RunSeed(seed, ~uint32_t{0}, {.have_log = true}); }

// The versions of two lives begin at these.
constexpr uint64_t kFirst = 100;
constexpr uint64_t kSecond = 500;
constexpr LifeSet kLifeBefore = 1;
constexpr LifeSet kLifeAfter = 2;
constexpr LifeSet kBothLives = 3;
constexpr torture::ValueId kValue = 7;
constexpr uint32_t kClient = 1;
constexpr torture::Instant kDeath = 100;

Operation Put(uint64_t version, torture::Instant start, torture::Instant end) {
  Operation put{.start = start, .end = end, .value = kValue, .version = version};
  put.process = kClient;
  put.kind = torture::Kind::kPut;
  return put;
}

Operation Get(uint64_t version, torture::Instant start) {
  Operation get{.start = start, .end = start + 1, .value = kValue, .version = version};
  if (version == 0) get.outcome = Outcome::kAbsent;
  return get;
}

class LoggedHistory : public ::testing::TestWithParam<Commit> {
 protected:
  LoggedHistory() { Begin(kFirst, {.now = 1, .state = {Settled{}}}); }

  void Begin(uint64_t first_version, const Restored& restored) {
    checker_.BeginRestored(GetParam(), first_version, {}, restored);
  }
  // It dies, and the log ends there; of the key nothing is left, or this version.
  void Restart(uint64_t cut, std::optional<uint64_t> left = {}) {
    Restored restored{.now = kDeath, .cut = cut, .state = {Settled{}}};
    if (left) restored.state = {{*left, kValue, Settled::Form::kPresent}};
    Begin(kSecond, restored);
  }
  bool IsGuilty() {
    checker_.Finish();
    return checker_.is_guilty();
  }

  HistoryChecker checker_;
};

TEST_P(LoggedHistory, WhatWasAcknowledgedIsLostWithAsyncAlone) {
  checker_.Feed(Put(101, 10, 20), kLifeBefore);
  Restart(100);
  checker_.Feed(Get(0, 110), kLifeAfter);
  EXPECT_EQ(IsGuilty(), GetParam() != Commit::kAsync);
}

TEST_P(LoggedHistory, WhatWasOnlyReadIsLostExceptWithStrict) {
  Operation put = Put(0, 10, 20);
  put.outcome = Outcome::kUnknown;
  checker_.Feed(put, kLifeBefore);
  checker_.Feed(Get(101, 30), kLifeBefore);
  Restart(100);
  checker_.Feed(Get(0, 110), kLifeAfter);
  EXPECT_EQ(IsGuilty(), GetParam() == Commit::kStrict);
}

TEST_P(LoggedHistory, WhatASyncToldOfIsNotLost) {
  checker_.Feed(Put(101, 10, 20), kLifeBefore);
  checker_.FeedSync({.process = kClient, .start = 30}, kLifeBefore);
  Restart(100);
  EXPECT_TRUE(IsGuilty());
}

TEST_P(LoggedHistory, ASyncAfterARestartDoesNotVouchForWhatIsLost) {
  checker_.Feed(Put(101, 10, 20), kLifeBefore);
  Restart(100);
  checker_.FeedSync({.process = kClient, .start = 110, .own_since = 0}, kLifeAfter);
  EXPECT_TRUE(IsGuilty());
}

TEST_P(LoggedHistory, WhatIsKeptIsRight) {
  checker_.Feed(Put(101, 10, 20), kLifeBefore);
  Restart(101, 101);
  checker_.Feed(Get(101, 110), kLifeAfter | kLifeBefore);
  EXPECT_FALSE(IsGuilty());
}

TEST_P(LoggedHistory, AnOlderValueIsWrongWhereALaterVersionWasKept) {
  checker_.Feed(Put(101, 10, 20), kLifeBefore);
  Operation second = Put(102, 30, 40);
  second.value = kValue + 1;
  checker_.Feed(second, kLifeBefore);
  Restart(102, 101);
  EXPECT_TRUE(IsGuilty());
}

// Lost and sent again it is applied in the second life; kept and applied again it is applied twice.
TEST_P(LoggedHistory, AWriteIsAppliedTwiceOnlyIfTheFirstTimeIsLost) {
  for (const bool is_kept : {false, true}) {
    HistoryChecker checker;
    checker.BeginRestored(GetParam(), kFirst, {}, {.now = 1, .state = {Settled{}}});
    Restored restored{.now = kDeath, .cut = 100, .state = {Settled{}}};
    if (is_kept) restored = {kDeath, 101, {{101, kValue, Settled::Form::kPresent}}};
    checker.BeginRestored(GetParam(), kSecond, {}, restored);
    const bool is_one_history = GetParam() == Commit::kStrict;
    checker.Feed(Put(501, 10, 120), is_one_history ? kLifeBefore : kBothLives);
    checker.Finish();
    EXPECT_EQ(checker.is_guilty(), is_kept);
  }
}

// A life that finds nothing begins anywhere.
TEST_P(LoggedHistory, AWriteThatIsLostIsAppliedAgainUnderALowerVersion) {
  checker_.Feed(Get(101, 30), kLifeBefore);
  constexpr uint64_t kLower = kFirst / 2;
  Begin(kLower, {.now = kDeath, .state = {Settled{}}});
  const bool is_strict = GetParam() == Commit::kStrict;
  checker_.Feed(Put(kLower + 1, 20, 120), is_strict ? kLifeBefore : kBothLives);
  EXPECT_EQ(IsGuilty(), is_strict) << "strict lets nobody see what can be lost";
}

INSTANTIATE_TEST_SUITE_P(Modes, LoggedHistory,
                         ::testing::Values(Commit::kStrict, Commit::kAcked, Commit::kAsync));

}  // namespace

TEST(SimLog, OneSeedIsOneRun) {
  spdlog::set_level(spdlog::level::off);
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const RunResult once = RunLogged(seed);
    const RunResult again = RunLogged(seed);
    EXPECT_EQ(once.fingerprint, again.fingerprint) << seed;
    EXPECT_EQ(once.coverage.Text(), again.coverage.Text()) << seed;
  }
}

bool MeansSomething(const Coverage& sum) {
  const auto counts = {sum.torn,         sum.restarts,      sum.fallbacks, sum.retries,
                       sum.known_misses, sum.displacements, sum.stashed,   sum.growths,
                       sum.no_space,     sum.scans,         sum.flushes,   sum.kills,
                       sum.power_cuts,   sum.snapshots,     sum.faults,    sum.syncs};
  return std::ranges::all_of(counts, [](uint64_t count) { return count > 0; });
}

// Some things are rare: a few worlds are too few.
TEST(SimLog, ManyWorldsLoseNothingThatWasPromisedAndMeanSomething) {
  spdlog::set_level(spdlog::level::off);
  Coverage sum;
  const uint64_t runs_max = 10 * LoggedRuns();
  for (uint64_t seed = 1; seed <= LoggedRuns() || (!MeansSomething(sum) && seed <= runs_max);
       ++seed) {
    const RunResult result = RunLogged(seed);
    ASSERT_FALSE(result.is_guilty) << "sim_torture --log yes --runs 1 --seed " << seed << ":\n"
                                   << result.verdict;
    sum.Add(result.coverage);
  }
  std::cout << sum.Text();
  EXPECT_GT(sum.restorations, LoggedRuns());
  EXPECT_TRUE(MeansSomething(sum));
}

}  // namespace plov::sim
