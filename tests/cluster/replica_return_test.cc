// A replica that comes back with what it has published: what it asks for, and what its primary sends.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster/kept_history.h"
#include "cluster/past.h"
#include "tests/cluster/replica_rules.h"

namespace plov::test {
namespace {

using cluster::Entry;
using cluster::Join;
using cluster::Past;

std::vector<Entry> Entries(Position at, int count) {
  std::vector<Entry> entries;
  for (int i = 0; i < count; ++i) {
    entries.push_back(cluster::MakeEntry(at, 1, std::to_string(at.number + 1)));
    at = entries.back().at;
  }
  return entries;
}

TEST(Past, HasTheLastOfWhatWasPublished) {
  const std::vector<Entry> entries = Entries({}, 10);
  Past past({});
  for (const Entry& entry : entries) past.Add(entry);
  EXPECT_EQ(past.At(0), Position{});
  EXPECT_EQ(past.After(0, SIZE_MAX).size(), 10u);
  EXPECT_EQ(past.After(4, 0).size(), 1u) << "one goes in any case";
  EXPECT_EQ(past.After(4, 0).front().at, entries[4].at);
  EXPECT_EQ(past.After(4, 3 * sizeof(Entry)).size(), 2u);
  EXPECT_TRUE(past.After(10, 100).empty());
  past.Trim(0, 3);
  EXPECT_FALSE(past.At(2));
  EXPECT_EQ(past.At(3), entries[2].at);
  past.Trim(0, 100);
  EXPECT_EQ(past.At(10), entries[9].at);
  EXPECT_FALSE(past.At(11));
}

class ReplicaReturns : public ReplicaRules {
 protected:
  // A member in epoch 1 that has published two entries and holds a third.
  Replica Member() {
    Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
    Append first = First(1, "a", kC);
    first.entries = Entries({}, 3);
    first.published = 2;
    c.Receive(first, 10);
    return c;
  }
};

TEST_F(ReplicaReturns, WhoWasDroppedAsksForWhatItLacksAsAnotherOne) {
  Replica c = Member();
  const Position has = host_.published;
  ASSERT_EQ(has.number, 2u);
  c.Learn(HeldOf(2, "a", {kA}), 20);
  EXPECT_EQ(host_.given_up, "");
  EXPECT_NE(c.self().incarnation, kC.incarnation);
  EXPECT_EQ(c.tail().end(), has) << "what was not published may never be";
  EXPECT_EQ(host_.oath, 0u);
  c.Tick(settings_.detect_us);
  ASSERT_EQ(host_.joins.size(), 1u);
  EXPECT_EQ(host_.joins[0].replica, c.self());
  EXPECT_EQ(host_.joins[0].has, has);
  Append first = First(2, "a", c.self());
  first.before = has;
  first.entries = Entries(has, 2);
  first.published = 5;
  c.Receive(first, 40);
  EXPECT_TRUE(host_.acks.back().second.follows);
  EXPECT_FALSE(host_.acks.back().second.has_caught_up) << "there is more";
  EXPECT_EQ(host_.published.number, 4u);
  Append next = Beat(2, "a", c.self());
  next.before = host_.published;
  next.entries = Entries(next.before, 1);
  next.published = 5;
  c.Receive(next, 50);
  EXPECT_TRUE(host_.acks.back().second.has_caught_up);
}

TEST_F(ReplicaReturns, WhoseRestNobodyHasBeginsAnew) {
  Replica c = Member();
  c.Learn(HeldOf(2, "a", {kA}), 20);
  Append first = First(2, "a", c.self());
  first.before = {7, 7};
  c.Receive(first, 40);
  EXPECT_NE(host_.given_up, "");
}

TEST_F(ReplicaReturns, WhoWroteWhatMayNeverBeForgetsIt) {
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1200);
  b.Tick(2200);
  ASSERT_TRUE(b.serves());
  b.Write("x", 2210);
  b.Learn(HeldOf(3, "c", {kC}), 2300);
  EXPECT_EQ(host_.given_up, "");
  ASSERT_EQ(host_.dropped.size(), 1u);
  EXPECT_EQ(*host_.dropped[0].data, "x");
  EXPECT_TRUE(b.tail().empty());
}

TEST_F(ReplicaReturns, WhoIsToGoDoesNotJoinAgain) {
  for (const bool for_good : {false, true}) {
    host_ = {};
    Replica c = Member();
    c.Leave(for_good);
    c.Learn(HeldOf(2, "a", {kA}), 20);
    EXPECT_TRUE(c.has_left());
    c.Tick(1000);
    EXPECT_TRUE(host_.joins.empty());
    EXPECT_EQ(host_.given_up.empty(), !for_good) << "else its log is of use";
  }
}

TEST_F(ReplicaReturns, PrimarySendsThePastPieceByPiece) {
  settings_.lease_us = 0;
  settings_.piece_bytes = 3 * sizeof(Entry);
  settings_.past_bytes = settings_.past_bytes_max = 8 * sizeof(Entry);
  Replica b = Make(kB, HeldOf(1, "a", {kA, kB}));
  b.Receive(First(1, "a", kB), 10);
  b.Tick(1000);
  b.Heard(Accepted(HeldOf(2, "b", {kB})), 1100);
  ASSERT_TRUE(b.serves());
  std::vector<Position> at;
  for (int i = 0; i < 10; ++i) at.push_back(b.Write("data", 1200));
  const auto ack = [&](uint64_t end) {
    Ack one = AckOf(2, end, 0);
    host_.appends.clear();
    b.Receive(one, 1300);
  };
  host_.appends.clear();
  b.Receive(Join{2, kC, at[4]}, 1250);
  ASSERT_EQ(host_.appends.size(), 1u);
  EXPECT_TRUE(host_.appends[0].is_first);
  EXPECT_EQ(host_.appends[0].before, at[4]);
  ASSERT_EQ(host_.appends[0].entries.size(), 2u);
  host_.appends.clear();
  at.push_back(b.Write("data", 1260));
  EXPECT_TRUE(host_.appends.empty()) << "it lacks what comes before";
  ack(5);
  EXPECT_TRUE(host_.appends.empty()) << "the first piece is under way";
  ack(7);
  ASSERT_EQ(host_.appends.size(), 1u);
  EXPECT_EQ(host_.appends[0].before, at[6]);
  ack(9);
  ASSERT_EQ(host_.appends.size(), 1u);
  EXPECT_EQ(host_.appends[0].entries.back().at, at[10]);
  host_.appends.clear();
  b.Write("data", 1350);
  EXPECT_EQ(host_.appends.size(), 1u) << "it has all now";
  // One with another history, or from before what is known, gets what is not published, and finds that it lacks more.
  for (const Position& has : {Position{5, 1}, at[0]}) {
    b.Receive(Join{2, {"c", ++host_.incarnation}, has}, 1400);
    EXPECT_EQ(host_.appends.back().before, b.tail().published());
  }
}

TEST_F(ReplicaReturns, LogTellsOfTheOneThatItIsNow) {
  settings_.has_log = true;
  Replica c = Member();
  c.Learn(HeldOf(2, "a", {kA}), 20);
  uint64_t published = 0;
  cluster::KeptHistory history("c", [&](const Entry& entry) {
    published = entry.at.number;
    return true;
  });
  for (const Append& kept : host_.kept) ASSERT_TRUE(history.Take(kept));
  EXPECT_EQ(published, 2u);
  EXPECT_EQ(history.incarnation(), c.self().incarnation);
  const auto memory = history.memory();
  ASSERT_TRUE(memory);
  Replica again(c.self(), settings_, memory, &host_, 1000);
  host_.joins.clear();
  again.Tick(1005);
  EXPECT_TRUE(host_.joins.empty()) << "it may have been added since";
  again.Learn(HeldOf(2, "a", {kA}), 1007);
  EXPECT_NE(again.self(), c.self());
  again.Tick(1010);
  ASSERT_EQ(host_.joins.size(), 1u);
  EXPECT_EQ(host_.joins[0].has, c.tail().published());
}

// Its primary counts on what it has acknowledged, and may send again what it has published long ago.
TEST_F(ReplicaReturns, PieceOfThePastUndoesNothing) {
  settings_.has_log = true;
  const Tail tail = Member().tail();
  Replica c(kC, settings_, Replica::Memory{tail, HeldOf(2, "a", {kA})}, &host_, 1000);
  Append piece = First(2, "a", kC);
  piece.entries = Entries({}, 1);
  piece.published = 3;
  c.Receive(piece, 1010);
  EXPECT_EQ(host_.given_up, "");
  EXPECT_EQ(c.tail().end(), tail.end());
  EXPECT_FALSE(host_.kept.back().is_first);
  c.HasKept(host_.kept.size(), 1020);
  EXPECT_EQ(host_.acks.back().second.end, 3u);
}

TEST_F(ReplicaReturns, WhoWasAddedBeforeItsPowerWasCutIsAMember) {
  const Tail tail = Member().tail();
  Replica c(kC, settings_, Replica::Memory{tail, HeldOf(2, "a", {kA})}, &host_, 1000);
  c.Learn(HeldOf(3, "a", {kA, kC}), 1010);
  EXPECT_EQ(c.self(), kC);
  EXPECT_EQ(c.tail().end(), tail.end());
  c.Tick(2000);
  EXPECT_TRUE(host_.proposed) << "it may take over";
}

TEST_F(ReplicaReturns, WhoWasReplacedIsNotWaitedFor) {
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1200);
  b.Tick(2200);
  ASSERT_TRUE(b.serves());
  host_.proposed.reset();
  b.Receive(Join{2, kC, {}}, 2210);
  b.Tick(2220);
  EXPECT_FALSE(host_.proposed) << "it is the member itself";
  b.Receive(Join{2, {"c", 0x77}, {}}, 2230);
  b.Tick(2240);
  ASSERT_TRUE(host_.proposed);
  EXPECT_EQ(host_.proposed->in_sync, std::vector{kB});
}

// What the former one has on disk is not known to be there of the one that it is now.
TEST_F(ReplicaReturns, NothingIsSaidBeforeTheLogKnowsWhoItIs) {
  settings_.has_log = true;
  Replica c = Member();
  c.Learn(HeldOf(2, "a", {kA}), 20);
  for (const uint64_t now : {uint64_t{30}, uint64_t{3000}}) {
    Append first = First(2, "a", c.self());
    first.before = c.tail().published();
    c.Receive(first, now);
    ASSERT_EQ(host_.acks.back().second.from, c.self().incarnation);
    EXPECT_EQ(host_.acks.back().second.end, 0u);
    c.HasKept(host_.kept.size(), now);
    EXPECT_EQ(host_.acks.back().second.end, 2u);
    c.Tick(now + 1000);  // the primary is silent
  }
}

}  // namespace
}  // namespace plov::test
