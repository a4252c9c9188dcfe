// The interval checker over long runs of many keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "tests/torture/generate.h"
#include "tests/torture/operations.h"
#include "torture/interval_checker.h"

namespace plov::torture {
namespace {

// Several keys' right histories side by side, by start.
std::vector<Operation> LongHistory(const Shape& shape, uint64_t keys, Random* random) {
  std::vector<Operation> all;
  for (uint64_t key = 0; key < keys; ++key) {
    for (Operation operation : GoodHistory(shape, random)) {
      operation.key = key * 1'000'003;  // some found by index, some by hash
      all.push_back(operation);
    }
  }
  return ByStart(all);
}

// Feeds everything in order and advances after every `step`; returns the most that was held.
size_t Check(const std::vector<Operation>& all, size_t step, IntervalChecker* checker) {
  size_t largest = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % step == 0) {
      checker->Advance(all[i].start);
      largest = std::max(largest, checker->size());
    }
    checker->Feed(all[i]);
  }
  checker->Finish();
  return largest;
}

Shape LongShape() {
  Shape shape;
  shape.processes = 8;
  shape.operations = 8'000;
  shape.length = 12;
  shape.unknown = 0;
  shape.kills = 0;
  return shape;
}

TEST(Stream, MemoryDoesNotGrowWithTheRun) {
  Random random(1);
  const auto all = LongHistory(LongShape(), 20, &random);
  ASSERT_GT(all.size(), 150'000u);
  IntervalChecker checker({.initial = Initial::kAbsent, .recent_count = 1000});
  const size_t largest = Check(all, 500, &checker);
  std::printf("%zu operations of 20 keys, %zu held at most\n", all.size(), largest);
  EXPECT_EQ(checker.violations() + checker.undecided(), 0u);
  EXPECT_EQ(checker.fed(), all.size());
  EXPECT_LT(largest, 20u * 8 * 4);  // what overlaps, per key and client, and a little
  EXPECT_EQ(checker.size(), 0u);    // all settled
}

// Unknown stores may happen at any time, so they stay; nothing else does.
TEST(Stream, MemoryGrowsOnlyWithUnknownStores) {
  Random random(2);
  Shape shape = LongShape();
  shape.unknown = 4;
  shape.told = 0;  // as Client's calls are
  const auto all = LongHistory(shape, 10, &random);
  const auto unknown = std::ranges::count_if(all, [](const Operation& operation) {
    return operation.outcome == Outcome::kUnknown && IsStore(operation.kind);
  });
  ASSERT_GT(unknown, 500);
  IntervalChecker checker;
  const size_t largest = Check(all, 500, &checker);
  std::printf("%zu operations, %td unknown stores, %zu held at most\n", all.size(), unknown,
              largest);
  EXPECT_EQ(checker.violations() + checker.undecided(), 0u);
  EXPECT_LT(largest, static_cast<size_t>(unknown) + 10u * 8 * 20);
}

// One wrong read among hundreds of thousands of operations is found soon after it, and only there.
TEST(Stream, OneWrongReadIsFoundWhereItIs) {
  for (uint64_t seed = 3; seed < 6; ++seed) {
    Random random(seed);
    Shape shape = LongShape();
    shape.operations = 2000;
    auto all = LongHistory(shape, 10, &random);
    // A hit that another process read again, later, when the key had another version for long.
    size_t at = all.size() / 2;
    while (all[at].kind != Kind::kGet || all[at].outcome != Outcome::kOk) ++at;
    Operation stale = all[at];
    size_t later = at;
    for (int stores = 0; stores < 40; ++later) {
      stores += all[later].key == stale.key && IsStore(all[later].kind);
    }
    stale.start = stale.end = all[later].start;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(later), stale);
    IntervalChecker checker({.initial = Initial::kAbsent, .recent_count = all.size()});
    Check(all, 100, &checker);
    const auto violations = checker.TakeViolations();
    ASSERT_EQ(violations.size(), 1u);
    EXPECT_EQ(violations[0].key, stale.key);
    EXPECT_EQ(violations[0].instant, stale.start);
    EXPECT_TRUE(checker.TakeViolations().empty());
  }
}

// The version was met before the operation that says to have stored it had started; by then nobody
// knows any more which unknown store was taken for it.
TEST(Stream, AVersionThatWasMetBeforeItsStoreStarted) {
  IntervalChecker checker;
  checker.Feed(Unknown(Put(0, 1, 1, 0)));
  Operation exists = Exists(2, 3, 2);
  exists.version = 10;
  checker.Feed(exists);
  checker.Advance(5);
  EXPECT_EQ(checker.violations(), 0u);
  checker.Feed(Put(6, 7, 3, 10));
  checker.Finish();
  EXPECT_EQ(checker.violations(), 1u);
}

// What a later GET shows of a version that was only met: a REPLACE, so there was a value before.
TEST(Stream, AStoreThatIsToldLateMayHaveBeenAReplace) {
  for (const bool has_put : {true, false}) {
    IntervalChecker checker;
    checker.Feed(Unknown(With(Kind::kReplace, Put(0, 1, 1, 0))));
    if (has_put) checker.Feed(Unknown(Put(0, 1, 2, 0)));
    checker.Feed(Unknown(Put(0, 1, 3, 0)));
    Operation exists = Exists(2, 3, 4);
    exists.version = 10;
    checker.Feed(exists);
    checker.Advance(4);
    EXPECT_EQ(checker.violations(), 0u);
    checker.Feed(Hit(4, 5, 1, 10));
    checker.Feed(Hit(6, 7, 3, 11));  // so that this one was not there before
    checker.Finish();
    EXPECT_EQ(checker.violations(), has_put ? 0u : 1u);
  }
}

TEST(Stream, NothingIsRememberedUnlessAskedTo) {
  IntervalChecker checker({.initial = Initial::kAbsent, .recent_count = 0});
  checker.Feed(Hit(0, 1, 1, 10));
  checker.Finish();
  const auto violations = checker.TakeViolations();
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_TRUE(violations[0].window.empty());
  EXPECT_FALSE(violations[0].window_is_whole);
}

TEST(Stream, TheLastOperationsAreRememberedInTheirOrder) {
  IntervalChecker checker({.initial = Initial::kAbsent, .recent_count = 5});
  std::vector<Operation> wanted;
  for (Instant i = 0; i < 8; ++i) {
    const auto number = static_cast<uint64_t>(i + 1);
    Operation operation = i < 7 ? Put(i * 2, i * 2 + 1, number, number) : Hit(99, 100, 1, 1);
    operation.key = i == 5 ? 1 : 0;
    checker.Feed(operation);
    if (i >= 3 && operation.key == 0) wanted.push_back(operation);
  }
  checker.Finish();
  const auto violations = checker.TakeViolations();
  ASSERT_EQ(violations.size(), 1u);
  EXPECT_EQ(violations[0].window, wanted);
  EXPECT_FALSE(violations[0].window_is_whole);
}

TEST(Stream, AKeyIsNotLookedAtAfterItsViolation) {
  IntervalChecker checker;
  checker.Feed(Hit(0, 1, 1, 10));
  checker.Advance(5);
  EXPECT_EQ(checker.violations(), 1u);
  checker.Feed(Hit(6, 7, 2, 9));
  checker.Finish();
  EXPECT_EQ(checker.violations(), 1u);
}

// A violation is told at the first horizon that shows it.
TEST(Stream, AViolationIsToldAtOnce) {
  IntervalChecker checker;
  checker.Feed(Put(0, 1, 1, 10));
  checker.Feed(Put(2, 3, 2, 11));
  checker.Advance(4);
  EXPECT_EQ(checker.violations(), 0u);
  checker.Feed(Hit(4, 6, 1, 10));
  checker.Advance(7);
  EXPECT_EQ(checker.violations(), 1u);
}

// Beyond the checker's limits a key is undecided, which is neither right nor wrong.
TEST(Stream, TooManyOpenDeletesAreUndecided) {
  std::vector<Operation> history;
  for (Instant i = 1; i <= 65; ++i) {
    history.push_back(Put(2 * i, 2 * i + 1, static_cast<uint64_t>(i), static_cast<uint64_t>(i)));
    history.push_back(Deletes(0, 1000));
  }
  EXPECT_EQ(CheckIntervals(history), SearchResult::kUndecided);
  history.pop_back();
  EXPECT_EQ(CheckIntervals(history), SearchResult::kGood);
  IntervalChecker checker;
  for (const Operation& operation : history) checker.Feed(operation);
  checker.Feed(Deletes(0, 1000));
  checker.Finish();
  EXPECT_EQ(checker.undecided(), 1u);
  EXPECT_EQ(checker.violations(), 0u);
}

// Each version that is only met, of a store without an answer, may have come from absent or not.
TEST(Stream, TooManyWaysAreUndecided) {
  for (const int versions : {6, 13}) {
    IntervalChecker checker;
    for (int i = 1; i <= versions; ++i) {
      const auto version = static_cast<uint64_t>(i);
      Operation exists = Exists(10 * i + 5, 10 * i + 6, MakeValueId(1, version));
      exists.version = version;
      checker.Feed(Unknown(Put(10 * i, 0, version, 0)));
      checker.Feed(Unknown(Deletes(10 * i, 0)));
      checker.Feed(exists);
      checker.Advance(exists.end + 1);
      EXPECT_LT(checker.size(), 3000u);
    }
    checker.Finish();
    EXPECT_EQ(checker.violations(), 0u);
    EXPECT_EQ(checker.undecided(), versions == 13 ? 1u : 0u);
  }
}

}  // namespace
}  // namespace plov::torture
