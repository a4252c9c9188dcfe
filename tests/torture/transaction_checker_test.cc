// Transactions that are strictly serializable, and each way in which they can fail to be.

#include "torture/transaction_checker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "tests/torture/transactions.h"

namespace plov::torture {
namespace {

// The reason of the first violation; empty: there is none.
std::string ReasonOf(const TransactionHistory& history) {
  TransactionChecker checker;
  for (const TransactionRecord& record : history) checker.Feed(record);
  checker.Finish();
  const auto violations = checker.TakeViolations();
  return violations.empty() ? "" : violations.front().reason;
}

testing::AssertionResult Fits(const TransactionHistory& history) {
  const std::string wrong = ReasonOf(history);
  if (wrong.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << wrong;
}

// In whatever order the clients' rings are looked at.
testing::AssertionResult Contradicts(TransactionHistory history, std::string_view reason) {
  std::minstd_rand random(1);
  for (int i = 0; i < 20; ++i) {
    const std::string wrong = ReasonOf(history);
    if (!wrong.contains(reason)) {
      return testing::AssertionFailure() << "it says '" << wrong << "'";
    }
    std::ranges::shuffle(history, random);
  }
  return testing::AssertionSuccess();
}

// k1 is value 1 at version 1, k2 value 2 at version 2.
TransactionRecord FirstCommit() { return Committed(0, 10, 1, {Puts(1, 1), Puts(2, 2)}); }

TEST(TransactionChecker, OrderOfVersionsIsRight) {
  EXPECT_TRUE(Fits({
      FirstCommit(),
      Snapshot(20, 30, {Found(1, 1, 1), Found(2, 2, 2), NotFound(3)}),
      Committed(40, 50, 10, {If(1, 1), If(3, 0), Puts(1, 3), Deletes(2), Puts(3, 4)}),
      Snapshot(60, 70, {Found(1, 3, 10), NotFound(2), Found(3, 4, 12)}),
      But(Outcome::kMismatch, Committed(60, 70, 0, {If(1, 1), Puts(1, 5)})),
      But(Outcome::kRefused, Committed(60, 70, 0, {Puts(1, 6)})),
      Committed(80, 90, 0, {If(1, 10), If(2, 0)}),
      Put(100, 110, 13, Puts(1, 7)),
      Get(120, 130, Found(1, 7, 13)),
  }));
}

TEST(TransactionChecker, ConcurrentOnesMayComeInAnyOrder) {
  const auto commit = Committed(20, 100, 3, {Puts(1, 3), Puts(2, 4)});
  EXPECT_TRUE(Fits({FirstCommit(), commit, Snapshot(30, 40, {Found(1, 1, 1), Found(2, 2, 2)}),
                    Snapshot(50, 60, {Found(1, 3, 3), Found(2, 4, 4)})}));
  EXPECT_TRUE(
      Fits({FirstCommit(), commit, Get(30, 60, Found(1, 3, 3)), Get(40, 70, Found(2, 2, 2))}));
}

TEST(TransactionChecker, FindsALostUpdate) {
  EXPECT_TRUE(
      Contradicts({FirstCommit(), Committed(20, 40, 3, {If(1, 1), Puts(1, 3)}),
                   Committed(25, 45, 4, {If(1, 1), Puts(1, 4)})},
                  "a commit of version 4 rests on version 1 of k1, which version 3 overwrote"));
}

TEST(TransactionChecker, FindsAWriteSkew) {
  EXPECT_TRUE(Contradicts({FirstCommit(), Committed(20, 40, 3, {If(1, 1), If(2, 2), Puts(1, 3)}),
                           Committed(25, 45, 4, {If(1, 1), If(2, 2), Puts(2, 4)})},
                          "rests on version 1 of k1, which version 3 overwrote"));
}

TEST(TransactionChecker, FindsASkewOverAnAbsence) {
  EXPECT_TRUE(Contradicts({Committed(20, 40, 3, {If(1, 0), If(2, 0), Puts(1, 3)}),
                           Committed(25, 45, 4, {If(1, 0), If(2, 0), Puts(2, 4)})},
                          "rests on the absence of k1, which version 3 wrote"));
}

TEST(TransactionChecker, FindsAFracturedRead) {
  EXPECT_TRUE(
      Contradicts({FirstCommit(), Committed(20, 60, 3, {Puts(1, 3), Puts(2, 4)}),
                   Snapshot(30, 50, {Found(1, 3, 3), Found(2, 2, 2)})},
                  "k2 was at version 2 behind version 4, and was overwritten by version 4"));
  EXPECT_TRUE(Contradicts({FirstCommit(), Committed(20, 60, 3, {Puts(1, 3), Deletes(2)}),
                           Snapshot(30, 50, {Found(1, 1, 1), NotFound(2)})},
                          "k1 was at version 1 behind version 4"));
  EXPECT_TRUE(Contradicts({Committed(20, 60, 3, {Puts(1, 3), Puts(2, 4)}),
                           Snapshot(30, 50, {Found(1, 3, 3), NotFound(2)})},
                          "k2 was absent behind version 4, and there since version 4"));
}

TEST(TransactionChecker, FindsASnapshotOfNoInstant) {
  const auto one = Put(20, 60, 3, Puts(1, 3));
  const auto two = Put(20, 60, 4, Puts(2, 4));
  EXPECT_TRUE(Fits({FirstCommit(), one, two, Snapshot(30, 50, {Found(1, 3, 3), Found(2, 2, 2)})}));
  EXPECT_TRUE(
      Contradicts({FirstCommit(), one, two, Snapshot(30, 50, {Found(1, 1, 1), Found(2, 4, 4)})},
                  "k1 was at version 1 behind version 4, and was overwritten by version 3"));
}

TEST(TransactionChecker, FindsAGetThatGoesBackOverACommit) {
  EXPECT_TRUE(Contradicts({FirstCommit(), Committed(20, 90, 3, {Puts(1, 3), Puts(2, 4)}),
                           Get(30, 40, Found(1, 3, 3)), Get(50, 60, Found(2, 2, 2))},
                          "k2 was at version 2 behind version 4"));
}

TEST(TransactionChecker, FindsWhatWasAnsweredAndIsNotThere) {
  EXPECT_TRUE(
      Contradicts({FirstCommit(), Snapshot(20, 30, {NotFound(1), NotFound(2)})}, "k1 was absent"));
  EXPECT_TRUE(Contradicts({FirstCommit(), Put(20, 30, 3, Puts(1, 3)), Get(40, 50, Found(1, 1, 1))},
                          "k1 was at version 1 behind version 3"));
}

TEST(TransactionChecker, FindsAVersionThatGoesBack) {
  EXPECT_TRUE(
      Contradicts({Put(0, 10, 5, Puts(1, 1)), Put(20, 30, 4, Puts(2, 2))},
                  "a write has version 4, and what had ended before it began comes up to 5"));
  EXPECT_TRUE(
      Contradicts({Committed(0, 30, 5, {Puts(1, 1), Puts(2, 2)}), Put(0, 30, 6, Puts(3, 3))},
                  "version 6 is that of two writes"));
}

TEST(TransactionChecker, FindsWhatWasRefused) {
  EXPECT_TRUE(Contradicts({FirstCommit(), Put(20, 30, 3, Puts(2, 3)),
                           But(Outcome::kMismatch, Committed(40, 50, 0, {If(2, 2), Puts(1, 4)})),
                           Get(60, 70, Found(1, 4, 4))},
                          "k1 was p0#4, of a write that was refused"));
  EXPECT_TRUE(
      Contradicts({FirstCommit(), But(Outcome::kRefused, Committed(20, 30, 0, {Puts(1, 4)})),
                   Get(40, 50, Found(1, 4, 4))},
                  "of a write that was refused"));
  EXPECT_TRUE(Contradicts({FirstCommit(), Get(40, 50, Found(1, 9, 4))},
                          "which was refused, or overwritten"));
}

TEST(TransactionChecker, FindsARefusalWithoutReason) {
  EXPECT_TRUE(Contradicts(
      {FirstCommit(), But(Outcome::kMismatch, Committed(40, 50, 0, {If(1, 1), Puts(1, 4)})),
       Put(60, 70, 3, Puts(1, 3))},
      "a commit was refused, and all that it rests on stood"));
  EXPECT_TRUE(
      Fits({FirstCommit(), But(Outcome::kMismatch, Committed(40, 50, 0, {If(1, 1), Puts(1, 4)})),
            Put(45, 70, 3, Puts(1, 3))}));
}

TEST(TransactionChecker, WhatHasNoAnswerCountsWhenItIsFound) {
  const auto commit =
      But(Outcome::kUnknown, Committed(20, 0, 0, {If(1, 1), Puts(1, 3), Puts(2, 4), Puts(3, 5)}));
  EXPECT_TRUE(Fits({FirstCommit(), commit, Snapshot(30, 40, {Found(1, 1, 1), Found(2, 2, 2)})}));
  EXPECT_TRUE(Fits({FirstCommit(), commit, Snapshot(30, 40, {Found(1, 1, 1), Found(2, 2, 2)}),
                    Snapshot(50, 60, {Found(1, 3, 7), Found(2, 4, 8), Found(3, 5, 9)})}));
}

TEST(TransactionChecker, FindsACommitWithoutAnswerThatIsSeenInPart) {
  const auto commit =
      But(Outcome::kUnknown, Committed(20, 0, 0, {Puts(1, 3), Puts(2, 4), Puts(3, 5)}));
  EXPECT_TRUE(
      Contradicts({FirstCommit(), commit, Get(30, 40, Found(1, 3, 7)), Get(50, 60, Found(2, 2, 2))},
                  "k2 was at version 2 behind version 9, and was overwritten by version 8"));
  EXPECT_TRUE(
      Contradicts({FirstCommit(), commit, Get(30, 40, Found(1, 3, 7)), Get(50, 60, NotFound(3))},
                  "k3 was absent behind version 9, and there since version 9"));
  EXPECT_TRUE(Contradicts(
      {FirstCommit(), commit, Get(30, 40, Found(1, 3, 7)), Get(50, 60, Found(2, 4, 10))},
      "at version 10, and was written as 8"));
}

// That it was applied becomes known when another key of it has been found to be as it was.
TEST(TransactionChecker, FindsAPartThatIsSeenLate) {
  const auto commit = But(Outcome::kUnknown, Committed(20, 0, 0, {Puts(1, 3), Puts(2, 4)}));
  EXPECT_TRUE(Contradicts({FirstCommit(), commit, Put(30, 40, 9, Puts(3, 5)),
                           Get(50, 60, Found(2, 2, 2)), Get(70, 80, Found(1, 3, 7))},
                          "k2 was still at version 2 for what came behind version 8"));
  EXPECT_TRUE(Contradicts(
      {commit, Put(30, 40, 9, Puts(3, 5)), Get(50, 60, NotFound(2)), Get(70, 80, Found(1, 3, 7))},
      "k2 was still at version 0 for what came behind version 8"));
}

TEST(TransactionChecker, ADeleteWithoutAnswerExplainsAnAbsence) {
  const auto deletes = But(Outcome::kUnknown, Committed(20, 0, 0, {Deletes(1)}));
  EXPECT_TRUE(Fits({FirstCommit(), deletes, Get(30, 40, NotFound(1)), Get(50, 60, Found(2, 2, 2)),
                    Committed(70, 80, 9, {If(1, 0), Puts(2, 3)})}));
  EXPECT_TRUE(Contradicts({FirstCommit(), deletes, Get(30, 40, NotFound(2))}, "k2 was absent"));
}

TEST(TransactionChecker, AnAbsenceMayHaveComeLater) {
  EXPECT_TRUE(Fits({FirstCommit(), Committed(20, 90, 5, {Deletes(1)}), Put(20, 90, 6, Puts(1, 3)),
                    Committed(20, 90, 7, {Deletes(1), Puts(2, 4)}),
                    Snapshot(30, 40, {NotFound(1), Found(2, 4, 8)})}));
  EXPECT_TRUE(
      Contradicts({FirstCommit(), Committed(20, 90, 5, {Deletes(1)}), Put(20, 90, 6, Puts(1, 3)),
                   Put(20, 90, 7, Puts(2, 4)), Snapshot(30, 40, {NotFound(1), Found(2, 4, 7)})},
                  "k1 was absent behind version 7, and there since version 6"));
}

TEST(TransactionChecker, FindsWhatMakesNoSense) {
  TransactionRecord record = FirstCommit();
  record.count = kTransactionKeys + 1;
  EXPECT_TRUE(Contradicts({record}, "makes no sense"));
  EXPECT_TRUE(Contradicts({Snapshot(0, 10, {Puts(1, 1)})}, "makes no sense"));
  EXPECT_TRUE(Contradicts({Committed(10, 0, 1, {Puts(1, 1)})}, "makes no sense"));
  EXPECT_TRUE(Contradicts({Committed(0, 10, 0, {Puts(1, 1)})}, "makes no sense"));
}

TEST(TransactionChecker, SaysWhichOperationsContradictEachOther) {
  TransactionChecker checker;
  for (const auto& record :
       {FirstCommit(), Put(0, 5, 3, Puts(5, 9)), Committed(20, 60, 4, {Puts(1, 3), Puts(2, 4)}),
        Snapshot(30, 50, {Found(1, 3, 4), Found(2, 2, 2)})}) {
    checker.Feed(record);
  }
  checker.Finish();
  const auto violations = checker.TakeViolations();
  ASSERT_EQ(violations.size(), 1);
  const auto& records = violations[0].records;
  ASSERT_EQ(records.size(), 3);
  EXPECT_EQ(records[0].version, 1);
  EXPECT_EQ(records[1].version, 4);
  EXPECT_EQ(records[2].kind, TransactionKind::kSnapshot);
  EXPECT_EQ(violations[0].instant, 50);
}

// What a kill leaves, of a life that ended so: k1 at 1, then at 3 with k2, and at 9 without an answer but found.
class TransactionLife : public testing::Test {
 protected:
  std::string WrongAfter(TransactionItems found) {
    TransactionChecker checker;
    checker.Feed(FirstCommit());
    checker.Feed(Committed(20, 30, 3, {Puts(1, 3), Puts(2, 4)}));
    checker.Feed(But(Outcome::kUnknown, Committed(40, 0, 0, {Puts(1, 5), Puts(2, 6)})));
    checker.Feed(Get(50, 60, Found(1, 5, 9)));
    checker.Finish();
    EXPECT_TRUE(checker.TakeViolations().empty());
    checker.EndLife(Snapshot(100, 110, found));
    // The next life goes on from there, with versions that the former one may have had.
    uint64_t next = 1;
    for (const TransactionItem& item : found) {
      checker.Feed(Get(120, 130, item));
      next = std::max(next, item.version + 1);
    }
    checker.Feed(Put(140, 150, next, Puts(1, 7)));
    checker.Feed(Get(160, 170, Found(1, 7, next)));
    checker.Finish();
    const auto violations = checker.TakeViolations();
    return violations.empty() ? "" : violations.front().reason;
  }
};

TEST_F(TransactionLife, MayLoseWhatHadNoAnswer) {
  EXPECT_EQ(WrongAfter({Found(1, 3, 3), Found(2, 4, 4)}), "");
  EXPECT_EQ(WrongAfter({Found(1, 5, 9), Found(2, 6, 10)}), "");
}

TEST_F(TransactionLife, MayNotLoseAnAnsweredOneNorAPart) {
  EXPECT_NE(WrongAfter({Found(1, 1, 1), Found(2, 2, 2)}), "");
  EXPECT_NE(WrongAfter({Found(1, 5, 9), Found(2, 4, 4)}), "");
  EXPECT_NE(WrongAfter({Found(1, 3, 3), Found(2, 6, 10)}), "");
  EXPECT_NE(WrongAfter({NotFound(1), Found(2, 4, 4)}), "");
}

// A server that is right, whose writes some clients do not hear of; and what it costs to hold.
TEST(TransactionChecker, IsRightAndBoundedInALongRun) {
  std::minstd_rand random(3);
  TransactionChecker checker;
  std::array<TransactionItem, 8> state{};
  uint64_t version = 0;
  ValueId value = 0;
  size_t held = 0;
  for (uint32_t key = 0; key < state.size(); ++key) state[key].key = key;
  for (Instant now = 0; now < 400'000; now += 10) {
    TransactionRecord record{.start = now, .end = now + 25, .outcome = Outcome::kOk};
    if (random() % 2 == 0) {
      record.kind = TransactionKind::kSnapshot;
      for (const TransactionItem& item : state) record.Add(item);
    } else {
      record.kind = TransactionKind::kCommit;
      record.version = version + 1;
      const TransactionItem base = state[random() % state.size()];
      // A client knows a version from what it has read.
      checker.Feed(Get(now, now + 1, base));
      record.start = now + 2;
      record.Add(If(base.key, base.version));
      for (uint32_t i = 0; i < 3; ++i) {
        const auto key = static_cast<uint32_t>(random() % state.size());
        const bool deletes = random() % 4 == 0 && i > 0;
        record.Add(deletes ? Deletes(key) : Puts(key, ++value));
        ++version;
        state[key] = deletes ? NotFound(key) : Found(key, value, version);
      }
      if (random() % 100 == 0) record = But(Outcome::kUnknown, record);
    }
    checker.Feed(record);
    checker.Advance(now - 50);
    held = std::max(held, checker.held());
  }
  checker.Finish();
  for (const auto& violation : checker.TakeViolations()) ADD_FAILURE() << violation.reason;
  EXPECT_GT(checker.TakeUnknownFound(), 100);
  EXPECT_LT(held, 2000);
}

}  // namespace
}  // namespace plov::torture
