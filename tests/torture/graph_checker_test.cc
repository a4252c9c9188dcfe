// Transactions over two shards, whose versions have nothing to do with each other: k1 and k3 are of one, k2 and k4 of the
// other. Each way in which they fail to be strictly serializable, and beside it one that looks like it and is right.

#include "torture/graph_checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/torture/transactions.h"

namespace plov::torture {
namespace {

std::string GraphReasonOf(const TransactionHistory& history) {
  GraphChecker checker;
  for (const TransactionRecord& record : history) checker.Feed(record);
  checker.Finish();
  const auto violations = checker.TakeViolations();
  return violations.empty() ? "" : violations.front().reason;
}

testing::AssertionResult HasOrder(const TransactionHistory& history) {
  const std::string wrong = GraphReasonOf(history);
  if (wrong.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << wrong;
}

// In whatever order the clients' rings are looked at.
testing::AssertionResult HasNoOrder(TransactionHistory history, std::string_view reason) {
  std::minstd_rand random(1);
  for (int i = 0; i < 20; ++i) {
    const std::string wrong = GraphReasonOf(history);
    if (!wrong.contains(reason)) return testing::AssertionFailure() << "it says '" << wrong << "'";
    std::ranges::shuffle(history, random);
  }
  return testing::AssertionSuccess();
}

// k1 is value 1 at version 5, k2 value 2 at version 1000; then come others.
TransactionHistory After(std::initializer_list<TransactionRecord> others) {
  TransactionHistory history{Put(0, 10, 5, Puts(1, 1)), Put(0, 10, 1000, Puts(2, 2))};
  history.insert(history.end(), others.begin(), others.end());
  return history;
}

TransactionRecord By(uint32_t process, TransactionRecord record) {
  record.process = process;
  return record;
}

TEST(GraphChecker, VersionsOfTwoShardsHaveNoOrder) {
  EXPECT_TRUE(HasOrder(After({
      Put(20, 30, 1001, Puts(4, 3)),
      Put(40, 50, 6, Puts(3, 4)),
      Snapshot(60, 70, {Found(1, 1, 5), Found(2, 2, 1000), Found(3, 4, 6), Found(4, 3, 1001)}),
      Committed(80, 90, 1002, {If(1, 5), If(2, 1000), Puts(1, 5), Deletes(2), Puts(4, 6)}),
      Snapshot(100, 110, {Found(1, 5, 1002), NotFound(2), Found(3, 4, 6), Found(4, 6, 1004)}),
      But(Outcome::kMismatch, Committed(120, 130, 0, {If(1, 5), Puts(2, 7)})),
      But(Outcome::kRefused, Committed(120, 130, 0, {Puts(1, 8)})),
      Committed(120, 130, 0, {If(1, 1002), If(2, 0)}),
      // Of different shards two versions may be the same.
      Put(140, 150, 1005, Puts(3, 9)),
      Put(140, 150, 1005, Puts(2, 10)),
      Get(160, 170, Found(3, 9, 1005)),
  })));
}

TEST(GraphChecker, FindsALostUpdate) {
  const auto one = Committed(20, 40, 6, {If(1, 5), Puts(1, 3)});
  EXPECT_TRUE(HasNoOrder(After({one, Committed(25, 45, 7, {If(1, 5), Puts(1, 4)})}),
                         "COMMIT found k1 at version 5, which p0's COMMIT overwrote"));
  EXPECT_TRUE(HasOrder(After({one, Committed(25, 45, 7, {If(1, 6), Puts(1, 4)})})));
}

TEST(GraphChecker, FindsAWriteSkew) {
  const auto one = Committed(20, 40, 1001, {If(1, 5), If(2, 1000), Puts(1, 3)});
  EXPECT_TRUE(HasNoOrder(After({one, Committed(25, 45, 1001, {If(1, 5), If(2, 1000), Puts(2, 4)})}),
                         "these have no order"));
  EXPECT_TRUE(
      HasOrder(After({one, Committed(25, 45, 1002, {If(1, 1001), If(2, 1000), Puts(2, 4)})})));
}

TEST(GraphChecker, FindsASkewOverAnAbsence) {
  const auto one = Committed(20, 40, 1001, {If(3, 0), If(4, 0), Puts(3, 3)});
  EXPECT_TRUE(HasNoOrder(After({one, Committed(25, 45, 1001, {If(3, 0), If(4, 0), Puts(4, 4)})}),
                         "found k3 absent, which p0's COMMIT overwrote with version 1001"));
  EXPECT_TRUE(HasOrder(After({one, Committed(25, 45, 1002, {If(3, 1001), If(4, 0), Puts(4, 4)})})));
}

TEST(GraphChecker, FindsACommitThatIsSeenInPart) {
  const auto snapshot = Snapshot(30, 50, {Found(1, 3, 1001), Found(2, 2, 1000)});
  EXPECT_TRUE(HasNoOrder(After({Committed(20, 60, 1001, {Puts(1, 3), Puts(2, 4)}), snapshot}),
                         "p0's COMMIT left k1 at version 1001, which p0's SNAPSHOT found"));
  EXPECT_TRUE(
      HasOrder(After({Put(20, 60, 1001, Puts(1, 3)), Put(20, 60, 1002, Puts(2, 4)), snapshot})));
  EXPECT_TRUE(HasNoOrder(After({Committed(20, 60, 1001, {Puts(1, 3), Deletes(2)}),
                                Snapshot(30, 50, {Found(1, 1, 5), NotFound(2)})}),
                         "p0's COMMIT left k2 absent, which p0's SNAPSHOT found"));
}

TEST(GraphChecker, FindsALongFork) {
  const auto one = Put(20, 90, 6, Puts(1, 3));
  const auto two = Put(20, 90, 1001, Puts(2, 4));
  const auto first = Snapshot(30, 80, {Found(1, 3, 6), Found(2, 2, 1000)});
  EXPECT_TRUE(
      HasNoOrder(After({one, two, first, Snapshot(30, 80, {Found(1, 1, 5), Found(2, 4, 1001)})}),
                 "these have no order"));
  EXPECT_TRUE(
      HasOrder(After({one, two, first, Snapshot(30, 80, {Found(1, 3, 6), Found(2, 4, 1001)})})));
}

TEST(GraphChecker, FindsAnOrderThatIsNotThatOfTime) {
  const auto snapshot = Snapshot(15, 90, {Found(1, 1, 5), Found(2, 4, 1001)});
  EXPECT_TRUE(
      HasNoOrder(After({Put(20, 30, 6, Puts(1, 3)), Put(40, 50, 1001, Puts(2, 4)), snapshot}),
                 "PUT ended before p0's PUT began"));
  // Where they touch they overlap.
  EXPECT_TRUE(
      HasOrder(After({Put(20, 40, 6, Puts(1, 3)), Put(40, 50, 1001, Puts(2, 4)), snapshot})));
}

TEST(GraphChecker, FindsAStaleRead) {
  const auto put = Put(20, 30, 6, Puts(1, 3));
  EXPECT_TRUE(HasNoOrder(After({put, Get(40, 50, Found(1, 1, 5))}),
                         "version 5, which version 6 had overwritten before this began"));
  EXPECT_TRUE(HasOrder(After({put, Get(30, 50, Found(1, 1, 5))})));
  EXPECT_TRUE(HasNoOrder(After({Get(40, 50, NotFound(1))}), "k1 was absent, and there since"));
  EXPECT_TRUE(HasNoOrder(After({Get(40, 50, Found(1, 3, 6)), Put(60, 70, 6, Puts(1, 3))}),
                         "GET ended before p0's PUT began"));
}

TEST(GraphChecker, FindsACycleThroughThree) {
  const auto put = Put(0, 10, 7, Puts(3, 3));
  const auto one = Committed(20, 60, 1001, {If(1, 5), Puts(2, 4)});
  const auto two = Committed(20, 60, 1001, {If(2, 1000), Puts(3, 5)});
  EXPECT_TRUE(HasNoOrder(After({put, one, two, Committed(20, 60, 1002, {If(3, 7), Puts(1, 6)})}),
                         "these have no order"));
  EXPECT_TRUE(HasOrder(After({put, one, two, Committed(20, 60, 1002, {If(3, 1001), Puts(1, 6)})})));
}

TEST(GraphChecker, FindsAReadThatGoesBack) {
  const auto put = Put(20, 90, 6, Puts(1, 3));
  const auto first = Snapshot(30, 40, {Found(1, 3, 6), Found(2, 2, 1000)});
  EXPECT_TRUE(HasNoOrder(After({put, first, Snapshot(50, 60, {Found(1, 1, 5), Found(2, 2, 1000)})}),
                         "SNAPSHOT ended before p0's SNAPSHOT began"));
  EXPECT_TRUE(HasOrder(After({put, first, Snapshot(35, 60, {Found(1, 1, 5), Found(2, 2, 1000)})})));
  EXPECT_TRUE(HasNoOrder(After({Committed(20, 90, 1001, {Puts(1, 3), Puts(2, 4)}),
                                Get(30, 40, Found(1, 3, 1001)), Get(50, 60, Found(2, 2, 1000))}),
                         "GET ended before p0's GET began"));
}

TEST(GraphChecker, FindsTheFirstOfTwoWritesOfACommit) {
  const auto commit = Committed(20, 60, 6, {Puts(1, 3), Puts(1, 4)});
  EXPECT_TRUE(HasNoOrder(After({commit, Get(30, 50, Found(1, 3, 6))}), "these have no order"));
  EXPECT_TRUE(HasOrder(After({commit, Get(30, 50, Found(1, 4, 7))})));
}

TEST(GraphChecker, FindsVersionsThatGoBack) {
  EXPECT_TRUE(HasNoOrder(After({Put(20, 30, 4, Puts(1, 3))}),
                         "a write of k1 has version 4, and version 5 was there before it began"));
  EXPECT_TRUE(HasNoOrder(After({Put(20, 30, 5, Puts(1, 3))}), "version 5 of k1 is that of two"));
  EXPECT_TRUE(HasNoOrder(After({Committed(20, 30, 6, {If(2, 1000), Puts(1, 3)})}),
                         "rests on version 1000 of k2, which is not below"));
  EXPECT_TRUE(
      HasNoOrder(After({Get(20, 30, Found(1, 1, 6))}), "at version 6, and was written as 5"));
}

TEST(GraphChecker, FindsWhatWasRefusedOrNeverWritten) {
  for (const Outcome outcome : {Outcome::kMismatch, Outcome::kRefused}) {
    EXPECT_TRUE(HasNoOrder(After({Put(11, 15, 6, Puts(1, 7)),
                                  But(outcome, Committed(20, 30, 0, {If(1, 5), Puts(2, 4)})),
                                  Get(40, 50, Found(2, 4, 1001))}),
                           "of a write that was refused"));
  }
  EXPECT_TRUE(HasNoOrder(After({Get(40, 50, Found(1, 9, 6))}), "or no write"));
  EXPECT_TRUE(HasNoOrder(After({Committed(40, 50, 0, {If(1, 4)})}), "which no write gave it"));
}

TEST(GraphChecker, FindsARefusalWithoutReason) {
  const auto refused = But(Outcome::kMismatch, Committed(40, 50, 0, {If(1, 5), Puts(2, 4)}));
  EXPECT_TRUE(
      HasNoOrder(After({refused, Put(60, 70, 6, Puts(1, 3))}), "all that it rests on stood"));
  EXPECT_TRUE(HasOrder(After({refused, Put(45, 70, 6, Puts(1, 3))})));
  const auto present = But(Outcome::kMismatch, Committed(40, 50, 0, {If(3, 0), Puts(2, 4)}));
  EXPECT_TRUE(HasNoOrder(After({present}), "all that it rests on stood"));
  EXPECT_TRUE(
      HasNoOrder(After({Put(11, 12, 6, Puts(3, 3)), Committed(20, 30, 7, {Deletes(3)}), present}),
                 "all that it rests on stood"));
  EXPECT_TRUE(
      HasOrder(After({Put(11, 12, 6, Puts(3, 3)), Committed(20, 40, 7, {Deletes(3)}), present})));
}

TEST(GraphChecker, WhatHasNoAnswerCountsWhenItIsFound) {
  const auto commit =
      But(Outcome::kUnknown, Committed(20, 0, 0, {If(1, 5), Puts(1, 3), Deletes(4), Puts(2, 4)}));
  const auto old = Snapshot(30, 40, {Found(1, 1, 5), Found(2, 2, 1000)});
  EXPECT_TRUE(HasOrder(After({commit, old})));
  EXPECT_TRUE(HasOrder(
      After({commit, old, Get(50, 60, Found(1, 3, 1005)), Get(50, 60, Found(2, 4, 1007))})));
  // Another key of it was found to be as it was, before: it may have been applied between the two.
  EXPECT_TRUE(HasOrder(After({commit, Put(30, 40, 9, Puts(3, 5)), Get(50, 60, Found(2, 2, 1000)),
                              Get(70, 80, Found(1, 3, 1005))})));
  EXPECT_TRUE(
      HasNoOrder(After({commit, Get(50, 60, Found(1, 3, 1005)), Get(70, 80, Found(2, 2, 1000))}),
                 "k2 was at version 1000, which version 1007 had overwritten before this began"));
  EXPECT_TRUE(
      HasNoOrder(After({commit, Get(50, 60, Found(1, 3, 1005)), Get(70, 80, Found(2, 4, 1006))}),
                 "at version 1006, and was written as 1007"));
  // What it rested on was overwritten by the time that it was applied.
  EXPECT_TRUE(
      HasNoOrder(After({commit, Put(20, 30, 6, Puts(1, 9)), Get(40, 50, Found(1, 3, 1005))}),
                 "these have no order"));
}

TEST(GraphChecker, ADeleteWithoutAnswerExplainsAnAbsence) {
  const auto deletes = But(Outcome::kUnknown, Committed(20, 0, 0, {Deletes(1)}));
  EXPECT_TRUE(HasOrder(After({deletes, Get(30, 40, NotFound(1)), Get(50, 60, Found(2, 2, 1000)),
                              Committed(70, 80, 1001, {If(1, 0), Puts(2, 3)})})));
  EXPECT_TRUE(HasNoOrder(After({deletes, Get(30, 40, NotFound(2))}), "k2 was absent"));
}

// k1 is absent twice; which of the two a snapshot has met, something else shows.
TEST(GraphChecker, AnAbsenceIsOneOfThoseThatTheOthersAllow) {
  const TransactionHistory base = After({Committed(20, 90, 1001, {Deletes(1), Puts(2, 3)}),
                                         Committed(20, 90, 1003, {Puts(1, 4), Puts(2, 5)}),
                                         Committed(20, 90, 1005, {Deletes(1), Puts(2, 6)})});
  const auto with = [&base](std::initializer_list<TransactionRecord> others) {
    TransactionHistory history = base;
    history.insert(history.end(), others.begin(), others.end());
    return history;
  };
  EXPECT_TRUE(HasOrder(with({Snapshot(30, 80, {NotFound(1), Found(2, 3, 1002)})})));
  EXPECT_TRUE(HasOrder(with({Snapshot(30, 80, {NotFound(1), Found(2, 6, 1006)})})));
  EXPECT_TRUE(HasNoOrder(with({Snapshot(30, 80, {NotFound(1), Found(2, 5, 1004)})}),
                         "these have no order"));
  EXPECT_TRUE(HasNoOrder(with({Snapshot(30, 80, {NotFound(1), Found(2, 2, 1000)})}),
                         "these have no order"));
  // A write that is between the two, and another one that comes behind the first.
  EXPECT_TRUE(HasNoOrder(with({Get(30, 40, Found(1, 4, 1003)), Get(50, 60, NotFound(1)),
                               Get(70, 80, Found(2, 5, 1004))}),
                         "these have no order"));
}

// The GET has ended before all that can still come, but a commit that has not comes before it.
TEST(GraphChecker, KeepsWhatACycleMayStillCloseOver) {
  GraphChecker checker(0);
  for (const auto& record :
       After({Committed(20, 100, 1001, {Puts(1, 3), Puts(2, 4)}), Get(30, 40, Found(1, 3, 1001)),
              Get(50, 200, Found(2, 2, 1000))})) {
    checker.Feed(record);
  }
  checker.Advance(150);
  EXPECT_EQ(checker.held(), 4);  // without the two first PUTs; the last GET twice
  checker.Finish();
  const auto violations = checker.TakeViolations();
  ASSERT_EQ(violations.size(), 1);
  EXPECT_EQ(violations[0].records.size(), 3);
}

TEST(GraphChecker, FindsWhatMakesNoSense) {
  EXPECT_TRUE(HasNoOrder({Snapshot(0, 10, {Puts(1, 1)})}, "makes no sense"));
  EXPECT_TRUE(HasNoOrder({Committed(0, 10, 0, {Puts(1, 1)})}, "makes no sense"));
}

TEST(GraphChecker, NamesTheCycle) {
  GraphChecker checker;
  for (const auto& record :
       After({By(1, Put(0, 5, 6, Puts(3, 9))),
              By(2, Committed(20, 60, 1001, {Puts(1, 3), Puts(2, 4)})),
              By(3, Get(21, 25, NotFound(4))),
              By(4, Snapshot(30, 70, {Found(1, 3, 1001), Found(2, 2, 1000)}))})) {
    checker.Feed(record);
  }
  checker.Finish();
  const auto violations = checker.TakeViolations();
  ASSERT_EQ(violations.size(), 1);
  EXPECT_EQ(
      violations[0].reason,
      "these have no order: p4's SNAPSHOT found k2 at version 1000, which p2's COMMIT overwrote "
      "with version 1002; p2's COMMIT left k1 at version 1001, which p4's SNAPSHOT found");
  const auto& records = violations[0].records;
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].process, 2);
  EXPECT_EQ(records[1].process, 4);
  EXPECT_EQ(violations[0].instant, 70);
}

}  // namespace
}  // namespace plov::torture
