// GETs of any replica: what was the newest at most max_age before they began is right, older is not.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/torture/generate.h"
#include "tests/torture/operations.h"
#include "torture/interval_checker.h"
#include "torture/shrink.h"
#include "torture/stale_counter.h"

namespace plov::torture {
namespace {

constexpr Instant kMaxAge = 1000;

std::vector<Violation> Check(const std::vector<Operation>& history, Instant max_age = kMaxAge) {
  IntervalChecker checker({.recent_count = history.size(), .max_age = max_age});
  for (const Operation& operation : history) checker.Feed(operation);
  checker.Finish();
  EXPECT_EQ(checker.undecided(), 0u);
  return checker.TakeViolations();
}

TEST(MaxAge, WhatWasTheNewestSoLongBeforeIsRight) {
  const std::vector<Operation> stores = {Put(5000, 5010, 1, 1), Put(6000, 6010, 2, 2),
                                         Deletes(9000, 9010)};
  const auto with = [&stores](const Operation& get) {
    std::vector<Operation> history = stores;
    history.push_back(get);
    return Check(history).size();
  };
  EXPECT_EQ(with(Hit(7010, 7020, 1, 1)), 0u);
  EXPECT_EQ(with(Hit(7011, 7020, 1, 1)), 1u);
  EXPECT_EQ(with(Miss(6010, 6020)), 0u) << "before the first PUT";
  EXPECT_EQ(with(Miss(6011, 6020)), 1u);
  EXPECT_EQ(with(Hit(10'010, 10'020, 2, 2)), 0u) << "deleted";
  EXPECT_EQ(with(Hit(10'011, 10'020, 2, 2)), 1u);
  EXPECT_EQ(with(Hit(5900, 5999, 2, 2)), 1u) << "not stored yet";
  EXPECT_EQ(Check({stores[0], stores[1], Hit(6011, 6020, 1, 1)}, 0).size(), 1u);
}

// One client's GETs may go back, and miss its own writes.
TEST(MaxAge, GetsInOrderNeedNotFindStatesInOrder) {
  EXPECT_TRUE(Check({Put(5000, 5010, 1, 1), Put(6000, 6010, 2, 2), Hit(6100, 6110, 2, 2),
                     Hit(6200, 6210, 1, 1), Hit(6300, 6310, 2, 2)})
                  .empty());
}

TEST(MaxAge, TheToolsOwnGetsFindTheNewest) {
  Operation get = Hit(6011, 6020, 1, 1);
  get.process = kTool;
  EXPECT_EQ(Check({Put(5000, 5010, 1, 1), Put(6000, 6010, 2, 2), get}).size(), 1u);
}

TEST(MaxAge, AWriteIsNotOlderThanItIs) {
  const std::vector<Operation> history = {Put(5000, 5010, 1, 1), Miss(5020, 5030, Kind::kReplace)};
  auto wrong = history;
  wrong[1].value = 2;
  EXPECT_EQ(Check(wrong).size(), 1u);
}

// GETs of right histories that come later than they did, each by max_age at most.
TEST(MaxAge, ALateGetIsNeverWrong) {
  size_t late = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    Shape shape;
    shape.operations = 60;
    std::vector<Operation> history = GoodHistory(shape, &random);
    for (Operation& operation : history) {
      if (operation.kind != Kind::kGet || IsOpen(operation)) continue;
      const auto by = static_cast<Instant>(Below(&random, 31));
      operation.start += by;
      operation.end += by;
    }
    history = ByStart(history);
    IntervalChecker checker({.max_age = 30});
    for (size_t i = 0; i < history.size(); ++i) {
      checker.Advance(history[i].start);
      checker.Feed(history[i]);
    }
    checker.Finish();
    ASSERT_EQ(checker.violations(), 0u) << Show(history);
    late += Check(history, 0).size();
  }
  EXPECT_GT(late, 100u) << "too few of them would be wrong without max_age";
}

TEST(MaxAge, AViolationIsTheGetAndWhatItMissed) {
  constexpr Instant kPuts = 20'000;
  std::vector<Operation> history;
  for (Instant i = 1; i <= kPuts; ++i) {
    const auto number = static_cast<uint64_t>(i);
    history.push_back(Put(i * 10, i * 10 + 3, number, number));
    history.push_back(Hit(i * 10 + 4, i * 10 + 6, number, number));
  }
  const Instant start = kPuts * 5;
  const auto too_old = static_cast<uint64_t>((start - kMaxAge) / 10 - 2);
  history.push_back(Hit(start, start + 7, too_old, too_old));
  const auto violations = Check(history);
  ASSERT_EQ(violations.size(), 1u);
  const Finding finding = Explain(violations[0], Initial::kAbsent);
  EXPECT_TRUE(finding.is_minimal);
  EXPECT_EQ(finding.instant, start + 7);
  ASSERT_EQ(finding.history.size(), 3u) << Timeline(finding, 40);
  EXPECT_EQ(finding.history.back().start, start - kMaxAge) << "as the checker takes it";
}

TEST(StaleCounter, CountsHitsOfWhatHadBeenOverwritten) {
  Operation of_tool = Hit(200, 210, 1, 1), of_other = Hit(200, 210, 9, 1);
  of_tool.process = kTool;
  of_other.key = 7;
  const std::vector<Operation> history = {
      Hit(20, 30, 1, 1),  // the newest that was acknowledged when it began
      Hit(21, 30, 1, 1),  // stale, and fed before the PUT that it missed
      Put(0, 10, 1, 1),
      Put(11, 20, 2, 2),
      Unknown(Put(40, 50, 3, 0)),
      Hit(60, 70, 2, 2),
      Hit(60, 70, 1, 1),  // stale
      Miss(60, 70),
      Ends(Outcome::kRefused, Hit(60, 70, 0, 0)),
      of_tool,
      of_other,
  };
  for (const bool in_pieces : {false, true}) {
    StaleCounter counter;
    for (const Operation& operation : history) {
      counter.Feed(operation);
      if (in_pieces) counter.Advance(operation.end > 50 ? 50 : 0);
    }
    counter.Finish();
    EXPECT_EQ(counter.gets(), 6u);
    EXPECT_EQ(counter.stale(), 2u);
  }
}

}  // namespace
}  // namespace plov::torture
