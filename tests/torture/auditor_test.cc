// The way of operations from a client's ring to the checker.

#include "torture/auditor.h"

#include <gtest/gtest.h>

#include "torture/outcome.h"

namespace plov::torture {
namespace {

class AuditorTest : public testing::Test {
 protected:
  // Issues the operations as a client does, all at `start`, and finishes them unless told not to.
  void Write(size_t client, std::vector<Operation> operations, bool finish = true) {
    OperationRing& to = memory().rings[client];
    for (size_t i = 0; i < operations.size(); ++i) to.Next(i) = operations[i];
    to.Issue(operations.size());
    if (finish) to.Finish(operations.back().end);
  }
  RunMemory& memory() { return *mapping_->memory(); }

  std::expected<RunMapping, Error> mapping_ = RunMapping::Create();
  Auditor auditor_{mapping_->memory(), 2};
};

Operation Put(Instant start, Instant end, uint64_t sequence, uint64_t version) {
  return {.start = start,
          .end = end,
          .value = MakeValueId(0, sequence),
          .version = version,
          .kind = Kind::kPut};
}

Operation Get(Instant start, Instant end, uint64_t sequence, uint64_t version) {
  Operation get = Put(start, end, sequence, version);
  get.kind = Kind::kGet;
  get.process = 1;
  return get;
}

TEST_F(AuditorTest, PassesAGoodHistory) {
  auditor_.Open(0);
  auditor_.Open(1);
  Write(0, {Put(10, 20, 1, 5)});
  Write(1, {Get(15, 30, 1, 5)});
  Write(0, {Put(40, 50, 2, 6)});
  Write(1, {Get(60, 70, 2, 6)});
  auditor_.EndHistory();
  EXPECT_EQ(auditor_.violations(), 0);
  EXPECT_EQ(auditor_.audited().total(), 4);
  EXPECT_EQ(auditor_.audited().histories, 1);
}

TEST_F(AuditorTest, FindsAStaleGetWhileClientsGoOn) {
  auditor_.Open(0);
  auditor_.Open(1);
  Write(0, {Put(10, 20, 1, 5)});
  Write(0, {Put(30, 40, 2, 6)});
  Write(1, {Get(50, 60, 1, 5)});
  auditor_.EndHistory();
  EXPECT_EQ(auditor_.violations(), 1);
  ASSERT_EQ(auditor_.audited().found.size(), 1);
  EXPECT_EQ(auditor_.audited().found[0].window.size(), 3);
}

TEST_F(AuditorTest, CountsStaleGetsOfAnyReplica) {
  Auditor auditor(&memory(), 2, {}, /*max_age=*/100);
  for (uint64_t history = 1; history <= 2; ++history) {
    auditor.Open(0);
    auditor.Open(1);
    Write(1, {Get(50, 60, 1, 5), Get(50, 60, 2, 6)});
    Write(0, {Put(10, 20, 1, 5), Put(30, 40, 2, 6)});
    auditor.EndHistory();
    EXPECT_EQ(auditor.violations(), 0);
    EXPECT_EQ(auditor.audited().replica_gets, 2 * history);
    EXPECT_EQ(auditor.audited().stale_gets, history);
  }
}

// What a killed client had under way may have been applied: a GET may see it, or never.
TEST_F(AuditorTest, TakesWhatAKilledClientHadUnderWayForUnknown) {
  auditor_.Open(0);
  auditor_.Open(1);
  Operation pending = Put(10, 0, 1, 0);
  pending.outcome = Outcome::kOk;  // the client was killed while it wrote the outcome
  pending.version = 77;
  Write(0, {pending}, false);
  auditor_.Close(0);
  Write(1, {Get(50, 60, 1, 5)});
  auditor_.EndHistory();
  EXPECT_EQ(auditor_.violations(), 0);
  EXPECT_EQ(auditor_.audited().of(Outcome::kUnknown), 1);
  EXPECT_EQ(auditor_.audited().total(), 2);
}

TEST_F(AuditorTest, AnotherHistoryKnowsNothingOfTheFormer) {
  auditor_.Open(0);
  Write(0, {Put(10, 20, 1, 5)});
  auditor_.EndHistory();
  Write(0, {Get(30, 40, 1, 5)});
  auditor_.EndHistory();
  EXPECT_EQ(auditor_.violations(), 1) << "a value of an empty server's former life";
  EXPECT_EQ(auditor_.audited().histories, 2);
}

// The next life is judged from what the survey has found, and not from what was acknowledged.
TEST_F(AuditorTest, ALifeGoesOnWithWhatIsLeft) {
  Auditor auditor(&memory(), 2, LifeChecker(Commit::kAsync, true));
  auditor.Open(0);
  auditor.Open(1);
  Write(0, {Put(10, 20, 1, 5), Put(30, 40, 2, 6)});
  auditor.EndLife(100, std::vector{Get(110, 120, 1, 5)});
  EXPECT_EQ(auditor.violations(), 0);
  Write(1, {Get(130, 140, 1, 5)});
  auditor.EndLife(200, std::vector{Get(210, 220, 1, 5)});
  EXPECT_EQ(auditor.violations(), 0);
  EXPECT_EQ(auditor.audited().gone_back, 1);
  Write(1, {Get(230, 240, 2, 6)});
  auditor.EndHistory();
  EXPECT_EQ(auditor.violations(), 1) << "back from the dead";
}

TEST(OperationRing, HoldsBackTheHorizonForWhatIsUnderWay) {
  auto mapping = RunMapping::Create();
  OperationRing& ring = mapping->memory()->rings[0];
  ring.Open(100);
  EXPECT_EQ(ring.horizon(), 100);
  ring.Next(0) = Put(110, 120, 1, 5);
  ring.Issue(1);
  ring.Rest(130);
  EXPECT_EQ(ring.horizon(), 110);
  ring.Finish(140);
  EXPECT_EQ(ring.horizon(), 110) << "finished, and not taken";
  EXPECT_EQ(ring.TakeFinished(8, [](const Operation&) {}), 1);
  EXPECT_EQ(ring.horizon(), 140);
}

TEST(OperationRing, IsFullUntilItIsTaken) {
  auto mapping = RunMapping::Create();
  OperationRing& ring = mapping->memory()->rings[0];
  ring.Open(0);
  for (uint64_t i = 0; i < OperationRing::kOperations; ++i) {
    ASSERT_TRUE(ring.HasRoom(1));
    ring.Next(0) = Put(1, 2, i + 1, i + 1);
    ring.Issue(1);
    ring.Finish(2);
  }
  EXPECT_FALSE(ring.HasRoom(1));
  uint64_t expected = 1;
  EXPECT_EQ(ring.TakeFinished(3, [&](const Operation& o) { EXPECT_EQ(o.version, expected++); }), 3);
  EXPECT_TRUE(ring.HasRoom(3));
  EXPECT_FALSE(ring.HasRoom(4));
}

TEST(Outcome, SaysNotAppliedOnlyWhereTheClientPromisesIt) {
  EXPECT_EQ(OutcomeOf(Code::kUnavailable), Outcome::kRefused);
  EXPECT_EQ(OutcomeOf(Code::kNoSpace), Outcome::kRefused);
  EXPECT_EQ(OutcomeOf(Code::kUnknown), Outcome::kUnknown);
  EXPECT_EQ(OutcomeOf(Code::kTimeout), Outcome::kUnknown);
  EXPECT_EQ(OutcomeOf(Code::kProtocol), Outcome::kUnknown);
  EXPECT_EQ(OutcomeOf(Code::kNotFound), Outcome::kAbsent);
  EXPECT_EQ(OutcomeOf(Code::kExists), Outcome::kExists);
  EXPECT_EQ(OutcomeOf(Code::kVersionMismatch), Outcome::kMismatch);
}

}  // namespace
}  // namespace plov::torture
