// The safe time of a replica: what READs of it begin with is no older.
#include <utility>

#include "tests/cluster/replica_rules.h"

namespace plov::test {
namespace {

class ReplicaSafeTime : public ReplicaRules {
 protected:
  ReplicaSafeTime() { settings_.lease_us = 0; }

  // b, that serves.
  Replica Serving() {
    Replica b = Primary();
    b.Receive(AckOf(2, 0, 1100), 1200);
    b.Tick(1201);
    EXPECT_TRUE(b.serves());
    return b;
  }
  // From c, when its clock shows that.
  static Ack AckAt(uint64_t clock_us, uint64_t sent_us, uint64_t end = 0) {
    Ack ack = AckOf(2, end, sent_us);
    ack.clock_us = clock_us;
    return ack;
  }
  Append SentNext(Replica* b, uint64_t now_us) {
    host_.appends.clear();
    b->Tick(now_us);
    EXPECT_EQ(host_.appends.size(), 1u);
    return host_.appends.empty() ? Append{} : host_.appends.back();
  }
};

TEST_F(ReplicaSafeTime, ComesBackOnceThePrimaryIsKnownToHaveBeenOneStill) {
  Replica b = Serving();
  const uint64_t sent_us = SentNext(&b, 1300).sent_us;
  b.Receive(AckAt(70'000, sent_us), 1310);
  EXPECT_EQ(SentNext(&b, 1400).safe_us, 0u) << "c may have another primary since";
  b.Receive(AckAt(70'100, sent_us + 1), 1410);
  EXPECT_EQ(SentNext(&b, 1500).safe_us, 70'000u);
  b.Receive(AckAt(70'200, 1500), 1510);
  EXPECT_EQ(SentNext(&b, 1600).safe_us, 70'100u) << "what it was asked for last";
}

TEST_F(ReplicaSafeTime, OfThePrimaryItselfIsWhenItAsked) {
  Replica b = Serving();
  const uint64_t sent_us = SentNext(&b, 1300).sent_us;
  host_.safe_us = 0;
  b.Tick(1310);
  EXPECT_EQ(host_.safe_us, 0u);
  b.Receive(AckAt(70'000, sent_us), 1320);
  b.Tick(1321);
  EXPECT_LE(host_.safe_us, 1300u);
  EXPECT_GT(host_.safe_us, 1100u);
}

TEST_F(ReplicaSafeTime, IsShownWhenAllIsPublished) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  Append first = First(1, "a", kC);
  first.entries.push_back(cluster::MakeEntry({}, 1, "one"));
  c.Receive(first, 10);
  Append beat = Beat(1, "a", kC);
  beat.before = first.entries.back().at;
  beat.published = 2;
  beat.safe_us = 5;
  c.Receive(beat, 20);
  EXPECT_EQ(host_.published.number, 1u);
  EXPECT_EQ(host_.safe_us, 0u) << "it has not the second";
  beat.entries.push_back(cluster::MakeEntry(beat.before, 1, "two"));
  beat.safe_us = 15;
  c.Receive(beat, 30);
  EXPECT_EQ(host_.published.number, 2u);
  EXPECT_EQ(host_.safe_us, 5u);
}

// What was published before its stream began may be missing.
TEST_F(ReplicaSafeTime, IsNotThatOfAReplicaThatCatchesUp) {
  Replica c(kC, settings_, {}, &host_, 0);
  c.Learn(HeldOf(1, "a", {kA}), 5);
  Append first = First(1, "a", kC);
  first.before = {7, 0x77};
  first.published = 7;
  first.safe_us = 5;
  c.Receive(first, 10);
  EXPECT_EQ(host_.safe_us, 0u);
  c.CaughtUp();
  first.is_first = false;
  c.Receive(first, 20);
  EXPECT_EQ(host_.safe_us, 5u);
}

// Nobody READs a table that lacks what it was to have.
TEST_F(ReplicaSafeTime, IsNotShownByWhoCannotStore) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  host_.is_full = true;
  Append first = First(1, "a", kC);
  first.entries.push_back(cluster::MakeEntry({}, 1, "one"));
  first.published = 1;
  first.safe_us = 5;
  c.Receive(first, 10);
  EXPECT_NE(host_.given_up, "");
  EXPECT_EQ(host_.safe_us, 0u);
}

}  // namespace
}  // namespace plov::test
