// Whom a replica waits for: others that are silent, lost, full, or leave.
#include <gtest/gtest.h>

#include <vector>

#include "tests/cluster/replica_rules.h"

namespace plov::test {
namespace {

TEST_F(ReplicaRules, SilentMemberIsDroppedAlsoBeforeItServes) {
  settings_.drop_us = 80;
  Replica b = Primary();
  host_.proposed.reset();
  for (uint64_t now = 1110; now <= 1180; now += 10) b.Tick(now);
  EXPECT_FALSE(host_.proposed);
  b.Tick(1181);
  ASSERT_TRUE(host_.proposed);
  EXPECT_EQ(host_.proposed->in_sync, std::vector{kB});
  b.Heard(Accepted(HeldOf(3, "b", {kB})), 1190);
  EXPECT_EQ(host_.oath, 0u) << "the lease of the first oath still runs";
  b.Tick(2200);
  EXPECT_EQ(host_.oath, 3u);
}

TEST_F(ReplicaRules, WhoTakesALongMessageIsNotSilent) {
  settings_.drop_us = 80;
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1110);
  host_.proposed.reset();
  for (uint64_t now = 1120; now <= 1500; now += 10) {
    b.HearOf("c", now);
    b.Tick(now);
  }
  EXPECT_FALSE(host_.proposed);
  for (uint64_t now = 1510; now <= 1600; now += 10) b.Tick(now);
  EXPECT_TRUE(host_.proposed);
}

TEST_F(ReplicaRules, WhoSendsALongMessageIsNotSilent) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  c.Receive(First(1, "a", kC), 10);
  for (uint64_t now = 20; now <= 1000; now += 100) {
    c.HearPart(now);
    c.Tick(now);
  }
  EXPECT_FALSE(host_.proposed);
  c.Tick(1400);
  EXPECT_TRUE(host_.proposed);
}

TEST_F(ReplicaRules, PrimaryWhoseServerIsGoneIsNotWaitedFor) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kB, kC}));
  c.Receive(First(1, "a", kC), 1000);
  c.Lost("b", 1010);
  c.Tick(1020);
  EXPECT_FALSE(host_.proposed);
  c.Lost("a", 1030);
  c.Tick(1040);
  ASSERT_TRUE(host_.proposed);
  EXPECT_EQ(host_.proposed->primary, "c");
}

TEST_F(ReplicaRules, MemberWhoseServerIsGoneIsDroppedAtOnce) {
  settings_.drop_us = 800;
  Replica b = Primary();
  host_.proposed.reset();
  b.Lost("a", 1110);
  b.Tick(1120);
  EXPECT_FALSE(host_.proposed);
  b.Lost("c", 1130);
  b.Tick(1140);
  ASSERT_TRUE(host_.proposed);
  EXPECT_EQ(host_.proposed->in_sync, std::vector{kB});
}

TEST_F(ReplicaRules, MemberThatIsFullIsKnownUntilItIsNot) {
  Replica b = Primary();
  EXPECT_EQ(b.full_member(), nullptr);
  Ack ack = AckOf(2, 0, 1100);
  ack.full = cluster::Full::kLog;
  b.Receive(ack, 1110);
  ASSERT_NE(b.full_member(), nullptr);
  EXPECT_EQ(b.full_member()->replica.server, "c");
  EXPECT_EQ(b.full_member()->full, cluster::Full::kLog);
  ack.full = cluster::Full::kNot;
  b.Receive(ack, 1120);
  EXPECT_EQ(b.full_member(), nullptr);
}

TEST_F(ReplicaRules, MemberThatLeavesIsDroppedAtOnce) {
  settings_.lease_us = 0;
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1110);
  b.Tick(1120);
  ASSERT_TRUE(b.serves());
  host_.proposed.reset();
  b.Tick(1130);
  EXPECT_FALSE(host_.proposed);
  Ack ack = AckOf(2, 0, 1120);
  ack.leaves = true;
  b.Receive(ack, 1140);
  b.Tick(1150);
  ASSERT_TRUE(host_.proposed);
  EXPECT_EQ(host_.proposed->in_sync, std::vector{kB});
}

// A Join of its server's former life comes late, from before that ended.
TEST_F(ReplicaRules, WhoIsBeingAddedIsWaitedFor) {
  settings_.lease_us = 0;
  Replica b = Make(kB, HeldOf(1, "a", {kA, kB}));
  b.Receive(First(1, "a", kB), 10);
  b.Tick(1000);
  b.Heard(Accepted(HeldOf(2, "b", {kB})), 1100);
  b.Receive(cluster::Join{2, kC, {}}, 1110);
  host_.proposed.reset();
  Ack ack = AckOf(2, 0, 1110);
  ack.has_caught_up = true;
  b.Receive(ack, 1120);
  b.Tick(1130);
  ASSERT_TRUE(host_.proposed);
  ASSERT_EQ(host_.proposed->in_sync.size(), 2u);
  b.Receive(cluster::Join{2, {"c", 0x77}, {}}, 1140);
  const Position at = b.Write("one", 1150);
  EXPECT_NE(host_.published, at) << "c lacks it, and may be a member already";
  b.Receive(AckOf(2, 1, 1150), 1160);
  EXPECT_EQ(host_.published, at);
}

TEST_F(ReplicaRules, WhoLeavesAcknowledgesUntilItIsDropped) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  c.Receive(First(1, "a", kC), 10);
  EXPECT_FALSE(c.has_left());
  c.Leave(true);
  EXPECT_FALSE(c.has_left());
  c.Receive(Beat(1, "a", kC), 20);
  EXPECT_TRUE(host_.acks.back().second.leaves);
  EXPECT_TRUE(host_.acks.back().second.follows);
  EXPECT_EQ(host_.oath, 1u);
  c.Learn(HeldOf(2, "a", {kA}), 30);
  EXPECT_TRUE(c.has_left());
}

TEST_F(ReplicaRules, PrimaryThatLeavesHandsOverToWhoStays) {
  settings_.lease_us = 0;
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1110);
  b.Tick(1120);
  b.Leave(true);
  EXPECT_FALSE(b.has_left());
  b.Tick(1130);
  ASSERT_TRUE(host_.hand_over);
  EXPECT_EQ(host_.hand_over->to, kC.incarnation);
  EXPECT_EQ(host_.oath, 0u);
  EXPECT_FALSE(b.has_left());
}

TEST_F(ReplicaRules, NobodyHandsOverToOneThatLeaves) {
  settings_.lease_us = 0;
  Replica b = Primary();
  Ack ack = AckOf(2, 0, 1100);
  ack.leaves = true;
  b.Receive(ack, 1110);
  b.HandOverTo(kC.incarnation);
  b.Receive(ack, 1115);
  EXPECT_FALSE(host_.hand_over) << "whoever asks for it";
  b.Leave(true);
  b.Tick(1120);
  b.Tick(1130);
  EXPECT_FALSE(host_.hand_over);
  EXPECT_TRUE(b.has_left()) << "there is nothing to wait for";
}

}  // namespace
}  // namespace plov::test
