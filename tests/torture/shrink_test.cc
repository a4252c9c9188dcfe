// Shrinking: sound, small, and what it shows.
#include "torture/shrink.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/torture/edits.h"
#include "tests/torture/generate.h"
#include "tests/torture/operations.h"
#include "torture/search_checker.h"
#include "torture/weaken.h"

namespace plov::torture {
namespace {

// Soundness: what is done to a wrong history must leave a right one right.
TEST(Weaken, KeepsRightHistoriesRight) {
  size_t steps = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed + 4'000'000);
    const Shape shape = RandomShape(&random);
    const auto history = GoodHistory(shape, &random);
    const auto expect_good = [&](const std::vector<Operation>& weaker, Initial initial,
                                 const char* how, uint64_t where) {
      ++steps;
      ASSERT_NE(Search(weaker, {.initial = initial, .states_max = 2000}), SearchResult::kBad)
          << how << " " << where << ", seed " << seed << "\n"
          << Show(history) << Show(weaker);
      ASSERT_EQ(CheckIntervals(weaker, initial), SearchResult::kGood)
          << how << " " << where << ", seed " << seed << "\n"
          << Show(history) << Show(weaker);
    };
    const Initial initial = InitialOf(shape);
    for (size_t i = 0; i < history.size(); ++i) {
      expect_good(WithoutOne(history, i), initial, "without", i);
      const size_t last = Below(&random, history.size());
      const auto twice = WithoutOne(history, last);
      if (i < twice.size()) expect_good(WithoutOne(twice, i), initial, "without two", i);
      expect_good(WithoutObservations(history, i, i + 4), initial, "without observations", i);
      const Instant cut = history[i].end;
      expect_good(CutAfter(history, cut), initial, "cut after", static_cast<uint64_t>(cut));
      expect_good(WithoutLater(history, cut), initial, "around the GET",
                  static_cast<uint64_t>(cut));
      const std::vector<Operation> window(history.begin() + static_cast<std::ptrdiff_t>(i),
                                          history.end());
      expect_good(CompleteWindow(window), Initial::kAnything, "window from", i);
    }
    if (::testing::Test::HasFatalFailure()) return;
  }
  std::printf("%zu weakened histories\n", steps);
}

// Every wrong edit shrinks to something that is wrong by search too, and nothing in it is idle.
TEST(Shrink, LeavesAFewOperationsThatAreWrong) {
  size_t shrunk = 0, before = 0, after = 0, longest = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed + 5'000'000);
    const Shape shape = RandomShape(&random);
    const auto judge = [&](const std::vector<Operation>& edited, const char* name) {
      const Initial initial = InitialOf(shape);
      if (!ExpectsWhatIsTold(edited) || !Chance(&random, 20)) return;
      if (CheckIntervals(edited, initial) != SearchResult::kBad) return;
      const auto small = Shrink(edited, initial);
      ASSERT_EQ(Search(small, {.initial = initial}), SearchResult::kBad) << name << Show(small);
      ASSERT_LE(small.size(), edited.size());
      for (size_t i = 0; i < small.size(); ++i) {
        const auto smaller = WithoutOne(small, i);
        ASSERT_TRUE(smaller == small || CheckIntervals(smaller, initial) != SearchResult::kBad)
            << Show(small);
      }
      ++shrunk;
      before += edited.size();
      after += small.size();
      longest = std::max(longest, small.size());
    };
    ForEachEdit(GoodHistory(shape, &random), judge);
    if (::testing::Test::HasFatalFailure()) return;
  }
  std::printf("%zu wrong histories: %.1f operations, shrunk to %.1f, %zu at most\n", shrunk,
              static_cast<double>(before) / static_cast<double>(shrunk),
              static_cast<double>(after) / static_cast<double>(shrunk), longest);
  EXPECT_GT(shrunk, 1000u);
  EXPECT_LT(after, before / 2);
}

TEST(Shrink, AStaleReadAmongManyIsThreeOperations) {
  std::vector<Operation> history;
  for (Instant i = 0; i < 1000; ++i) {
    const auto number = static_cast<uint64_t>(i + 1);
    history.push_back(Put(i * 10, i * 10 + 3, number, number));
    history.push_back(Hit(i * 10 + 4, i * 10 + 6, number, number));
  }
  history.push_back(Hit(7000, 7001, 700, 700));  // version 701 was being put
  EXPECT_EQ(CheckIntervals(history), SearchResult::kGood);
  history.push_back(Hit(7004, 7005, 700, 700));
  const auto small = Shrink(history, Initial::kAbsent);
  ASSERT_EQ(small.size(), 3u) << Show(small);
  EXPECT_EQ(small.back(), Hit(7004, 7005, 700, 700));
}

TEST(Shrink, ARightHistoryStaysAsItIs) {
  const std::vector<Operation> history = {Put(0, 1, 1, 10), Hit(2, 3, 1, 10)};
  EXPECT_EQ(Shrink(history, Initial::kAbsent), history);
}

// Long histories of one hot key are explained by their end.
TEST(Explain, AViolationAfterManyOperationsIsThreeOperations) {
  constexpr Instant kMany = 50'000;
  Violation violation{.reason = Reason::kStale, .window_is_whole = true};
  for (Instant i = 0; i < kMany; ++i) {
    const auto number = static_cast<uint64_t>(i + 1);
    violation.window.push_back(Put(i * 10, i * 10 + 3, number, number));
  }
  violation.window.push_back(Hit(kMany * 10, kMany * 10 + 1, kMany - 5, kMany - 5));
  violation.instant = kMany * 10 + 1;
  const Finding finding = Explain(violation, Initial::kAbsent);
  EXPECT_TRUE(finding.is_minimal);
  EXPECT_EQ(finding.history.size(), 3u) << Timeline(finding);
}

// The checker forgot the beginning; what is left is wrong by itself.
TEST(Explain, AWindowThatIsNotWholeIsCompleted) {
  IntervalChecker checker({.initial = Initial::kAbsent, .recent_count = 16});
  for (Instant i = 0; i < 100; ++i) {
    checker.Feed(
        Put(i * 10, i * 10 + 3, static_cast<uint64_t>(i + 1), static_cast<uint64_t>(i + 1)));
    checker.Advance(i * 10);
  }
  checker.Feed(Hit(994, 995, 99, 99));  // version 100 was acknowledged at 993
  checker.Finish();
  auto violations = checker.TakeViolations();
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_FALSE(violations[0].window_is_whole);
  const Finding finding = Explain(violations[0], Initial::kAbsent);
  EXPECT_TRUE(finding.is_minimal);
  EXPECT_EQ(finding.history.size(), 3u) << Timeline(finding);
}

// The write that makes the read wrong is forgotten too: shown as it is, and said so.
TEST(Explain, AWindowThatIsRightByItselfIsNotCalledMinimal) {
  IntervalChecker checker({.initial = Initial::kAbsent, .recent_count = 4});
  checker.Feed(Put(0, 1, 1, 10));
  checker.Feed(Put(2, 3, 2, 11));
  for (Instant i = 0; i < 8; ++i) checker.Feed(Done(Kind::kDelete, i, i, Outcome::kRefused));
  checker.Feed(Hit(14, 15, 1, 10));
  checker.Finish();
  auto violations = checker.TakeViolations();
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_FALSE(Explain(violations[0], Initial::kAbsent).is_minimal);
}

}  // namespace
}  // namespace plov::torture
