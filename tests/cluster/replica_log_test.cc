// Replicas that have a log: what they say that they hold, and come back with.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster/kept.h"
#include "cluster/kept_history.h"
#include "tests/cluster/replica_rules.h"

namespace plov::test {
namespace {

using cluster::Entry;
using cluster::Kept;
using cluster::KeptHistory;
using cluster::MakeEntry;

class LoggedReplica : public ReplicaRules {
 protected:
  LoggedReplica() { settings_.has_log = true; }

  // Of a primary's first entries, those after `before`.
  static std::vector<Entry> Entries(const Position& before, uint64_t epoch,
                                    const std::vector<std::string>& all) {
    std::vector<Entry> entries;
    Position at = before;
    for (const std::string& data : all) {
      entries.push_back(MakeEntry(at, epoch, data));
      at = entries.back().at;
    }
    return entries;
  }
  const Ack& LastAck() { return host_.acks.back().second; }
};

TEST_F(LoggedReplica, TellsOnlyWhatItsLogHas) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  Append first = First(1, "a", kC);
  first.entries = Entries({}, 1, {"one", "two"});
  c.Receive(first, 10);
  EXPECT_EQ(host_.oath, 0u) << "it may come back in another configuration";
  EXPECT_TRUE(LastAck().follows);
  EXPECT_EQ(LastAck().end, 0u);
  c.HasKept(host_.kept.size(), 20);
  EXPECT_EQ(host_.oath, 1u);
  EXPECT_EQ(LastAck().end, 2u);

  Append next = Beat(1, "a", kC);
  next.before = c.tail().end();
  next.entries = Entries(next.before, 1, {"three"});
  const size_t acks = host_.acks.size();
  c.Receive(next, 30);
  EXPECT_EQ(host_.acks.size(), acks) << "it tells when its log has it";
  c.Receive(Beat(1, "a", kC), 40);
  EXPECT_EQ(LastAck().end, 2u) << "a beat is answered";
  c.HasKept(host_.kept.size(), 50);
  EXPECT_EQ(LastAck().end, 3u);
}

TEST_F(LoggedReplica, PrimaryPublishesWhatItsOwnLogHas) {
  Replica b = Make(kB, HeldOf(1, "a", {kA, kB}));
  b.Receive(First(1, "a", kB), 10);
  b.Tick(1000);
  b.Heard(Accepted(HeldOf(2, "b", {kB})), 1100);
  b.Tick(3000);
  EXPECT_FALSE(b.serves()) << "it may come back in the epoch before";
  b.HasKept(host_.kept.size(), 3010);
  ASSERT_TRUE(b.serves());
  const Position at = b.Write("one", 3020);
  EXPECT_NE(host_.published, at);
  b.HasKept(host_.kept.size(), 3030);
  EXPECT_EQ(host_.published, at);
}

// A primary that came back may not have all that it sent before.
TEST_F(LoggedReplica, WhoTakesOverFromItselfIsFollowedAnew) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  Append first = First(1, "a", kC);
  first.entries = Entries({}, 1, {"sent and not kept"});
  c.Receive(first, 10);
  c.HasKept(host_.kept.size(), 20);
  Held again = HeldOf(2, "a", {kA, kC});
  again.shard.begun = 2;
  c.Learn(again, 30);
  c.HasKept(host_.kept.size(), 35);
  EXPECT_EQ(host_.oath, 0u);
  Append other = First(2, "a", kC);
  other.entries = Entries({}, 2, {"another"});
  c.Receive(other, 40);
  EXPECT_EQ(host_.given_up, "");
  EXPECT_EQ(LastAck().end, 0u) << "the one entry is not the other";
  c.HasKept(host_.kept.size(), 50);
  EXPECT_EQ(LastAck().end, 1u);
  EXPECT_EQ(*c.tail().Unpublished().front().data, "another");
}

TEST_F(LoggedReplica, ComesBackWithWhatItGave) {
  std::vector<std::string> published;
  const auto publish = [&](const Entry& entry) {
    published.push_back(*entry.data);
    return true;
  };
  KeptHistory history("c", publish);
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  Append first = First(1, "a", kC);
  first.entries = Entries({}, 1, {"one", "two"});
  c.Receive(first, 10);
  Append next = Beat(1, "a", kC);
  next.before = c.tail().end();
  next.entries = Entries(next.before, 1, {"three"});
  next.published = 2;
  c.Receive(next, 20);
  Append last = Beat(1, "a", kC);
  last.before = c.tail().end();
  last.entries = Entries(last.before, 1, {"four"});
  c.Receive(last, 30);
  for (const Append& kept : host_.kept) EXPECT_TRUE(history.Take(kept));
  EXPECT_EQ(published, (std::vector<std::string>{"one", "two"}));
  const auto memory = history.memory();
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->tail.published().number, 2u);
  EXPECT_EQ(memory->tail.end(), c.tail().end());
  EXPECT_EQ(memory->held.shard, HeldOf(1, "a", {kA, kC}).shard);
  KeptHistory of_a("a", publish);
  for (const Append& kept : host_.kept) EXPECT_TRUE(of_a.Take(kept));
  EXPECT_FALSE(of_a.memory()) << "the log is c's";
  Append of_another = host_.kept.back();
  of_another.to = kB.incarnation;
  EXPECT_FALSE(history.Take(of_another));
}

TEST_F(LoggedReplica, WhoComesBackTakesNobodyForDeadSoon) {
  settings_.return_us = 5000;
  settings_.drop_us = 80;
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  for (uint64_t now = 10; now <= 5000; now += 90) c.Tick(now);
  EXPECT_FALSE(host_.proposed);
  c.Tick(5400);
  EXPECT_TRUE(host_.proposed);

  host_ = {};
  Replica a = Make(kA, HeldOf(1, "a", {kA, kC}));
  a.Tick(400);
  ASSERT_TRUE(host_.proposed) << "it is the primary";
  a.Heard(Accepted(HeldOf(2, "a", {kA, kC})), 500);
  host_.proposed.reset();
  for (uint64_t now = 510; now < 5000; now += 10) a.Tick(now);
  EXPECT_FALSE(host_.proposed);
  a.Tick(5000);
  ASSERT_TRUE(host_.proposed);
  EXPECT_EQ(host_.proposed->in_sync, std::vector{kA});
}

TEST(Kept, WhatIsReplacedDoesNotCount) {
  Kept kept;
  kept.Give(1, 7);
  kept.CutAfter(6);
  kept.Give(2, 8);
  kept.SetDurable(1);
  EXPECT_EQ(kept.number(), 6u) << "7 is another one now";
  EXPECT_EQ(kept.epoch(), 1u);
  kept.SetDurable(2);
  EXPECT_EQ(kept.number(), 8u);
  EXPECT_EQ(kept.epoch(), 2u);
  kept.CutAfter(3);
  EXPECT_EQ(kept.number(), 3u);
}

}  // namespace
}  // namespace plov::test
