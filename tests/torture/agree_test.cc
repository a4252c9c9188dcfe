// The two checkers on the same histories.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/torture/edits.h"
#include "tests/torture/generate.h"
#include "torture/interval_checker.h"
#include "torture/search_checker.h"

namespace plov::torture {
namespace {

class Counts {
 public:
  // Whether both checkers say the same; prints the history when not.
  bool Agree(const std::vector<Operation>& history, Initial initial) {
    const SearchResult slow = Search(history, {.initial = initial});
    const SearchResult fast = CheckIntervals(history, initial);
    if (slow == SearchResult::kUndecided) {
      ++undecided_;
      return true;
    }
    ++(slow == SearchResult::kGood ? good_ : bad_);
    if (slow == fast) return true;
    ADD_FAILURE() << (slow == SearchResult::kGood ? "good" : "bad") << " by search, "
                  << static_cast<int>(fast) << " by intervals"
                  << (initial == Initial::kAbsent ? "" : ", any initial state") << "\n"
                  << Show(history);
    return false;
  }

  void Print(const char* what) const {
    std::printf("%s: %zu good, %zu bad, %zu undecided by search\n", what, good_, bad_, undecided_);
  }

  size_t good() const { return good_; }
  size_t bad() const { return bad_; }
  size_t undecided() const { return undecided_; }

 private:
  size_t good_ = 0;
  size_t bad_ = 0;
  size_t undecided_ = 0;
};

// PLOV_TEST_SCALE=100 looks at a hundred times as many histories.
size_t Scaled(size_t count) {
  const char* scale = std::getenv("PLOV_TEST_SCALE");
  return scale == nullptr ? count : count * std::strtoull(scale, nullptr, 10);
}

TEST(Checkers, BothAcceptEveryGoodHistory) {
  Counts counts;
  for (uint64_t seed = 0; seed < Scaled(20'000); ++seed) {
    Random random(seed);
    const Shape shape = RandomShape(&random);
    const auto history = GoodHistory(shape, &random);
    ASSERT_EQ(CheckIntervals(history, InitialOf(shape)), SearchResult::kGood)
        << "seed " << seed << "\n"
        << Show(history);
    ASSERT_TRUE(counts.Agree(history, InitialOf(shape))) << "seed " << seed;
  }
  counts.Print("generated good");
  EXPECT_EQ(counts.bad(), 0u);
  EXPECT_LT(counts.undecided(), Scaled(20));
}

TEST(Checkers, AgreeOnRandomHistories) {
  Counts counts;
  for (uint64_t seed = 0; counts.good() + counts.bad() < Scaled(60'000); ++seed) {
    Random random(seed);
    const auto history = AnyHistory(&random);
    if (!ExpectsWhatIsTold(history)) continue;
    const auto initial = Chance(&random, 30) ? Initial::kAnything : Initial::kAbsent;
    ASSERT_TRUE(counts.Agree(history, initial)) << "seed " << seed;
  }
  counts.Print("random");
  EXPECT_GT(counts.good(), 5'000u);
}

TEST(Checkers, AgreeOnEverySingleEditOfGoodHistories) {
  Counts counts;
  std::map<std::string, std::pair<size_t, size_t>> by_name;  // edits, of them wrong
  for (uint64_t seed = 0; seed < Scaled(600) && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed + 1'000'000);
    const Shape shape = RandomShape(&random);
    const auto judge = [&](const std::vector<Operation>& edited, const char* name) {
      if (!ExpectsWhatIsTold(edited)) return;
      const size_t bad = counts.bad();
      EXPECT_TRUE(counts.Agree(edited, InitialOf(shape))) << name << ", seed " << seed;
      ++by_name[name].first;
      by_name[name].second += counts.bad() - bad;
    };
    ForEachEdit(GoodHistory(shape, &random), judge);
  }
  counts.Print("single edits");
  for (const auto& [name, count] : by_name) {
    std::printf("  %-20s %8zu edits, %8zu wrong and found by both\n", name.c_str(), count.first,
                count.second);
    EXPECT_GT(count.second, 0u) << name;
  }
}

TEST(Checkers, AgreeOnPairsOfEdits) {
  Counts counts;
  for (uint64_t seed = 0; seed < Scaled(300) && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed + 3'000'000);
    const Shape shape = RandomShape(&random);
    const auto judge = [&](const std::vector<Operation>& edited, const char* name) {
      if (!ExpectsWhatIsTold(edited)) return;
      EXPECT_TRUE(counts.Agree(edited, InitialOf(shape))) << name << ", seed " << seed;
    };
    const auto edit_again = [&](const std::vector<Operation>& edited, const char*) {
      if (Chance(&random, 1)) ForEachEdit(edited, judge);
    };
    ForEachEdit(GoodHistory(shape, &random), edit_again);
  }
  counts.Print("pairs of edits");
  EXPECT_GT(counts.good(), 10'000u);
}

// Feeds in random order, and advances the horizon at random, as far as it may.
SearchResult CheckInPieces(std::vector<Operation> history, Initial initial, Random* random) {
  std::ranges::sort(history, {}, &Operation::start);
  IntervalChecker checker({.initial = initial, .recent_count = 16});
  size_t fed = 0;
  while (fed < history.size()) {
    const size_t last = fed + Below(random, history.size() - fed) + 1;
    std::shuffle(history.begin() + static_cast<std::ptrdiff_t>(fed),
                 history.begin() + static_cast<std::ptrdiff_t>(last), *random);
    for (; fed < last; ++fed) checker.Feed(history[fed]);
    if (last < history.size()) checker.Advance(history[last].start);
  }
  checker.Finish();
  if (checker.undecided() > 0) return SearchResult::kUndecided;
  return checker.violations() == 0 ? SearchResult::kGood : SearchResult::kBad;
}

TEST(IntervalChecker, SaysInPiecesWhatItSaysAtOnce) {
  size_t good = 0, bad = 0;
  for (uint64_t seed = 0; seed < Scaled(600) && !::testing::Test::HasFailure(); ++seed) {
    Random random(seed + 2'000'000);
    const Shape shape = RandomShape(&random);
    const auto judge = [&](const std::vector<Operation>& edited, const char* name) {
      if (!ExpectsWhatIsTold(edited) || ::testing::Test::HasFailure()) return;
      const SearchResult at_once = CheckIntervals(edited, InitialOf(shape));
      ++(at_once == SearchResult::kGood ? good : bad);
      EXPECT_EQ(CheckInPieces(edited, InitialOf(shape), &random), at_once)
          << name << ", seed " << seed << "\n"
          << Show(edited);
    };
    ForEachEdit(GoodHistory(shape, &random), judge);
    for (int i = 0; i < 100; ++i) judge(AnyHistory(&random), "random");
  }
  std::printf("in pieces: %zu good, %zu bad\n", good, bad);
  EXPECT_GT(good, 10'000u);
  EXPECT_GT(bad, 10'000u);
}

}  // namespace
}  // namespace plov::torture
