// The rules S1 to S8 of a replica.
#include "tests/cluster/replica_rules.h"

#include <utility>
#include <vector>

namespace plov::test {
namespace {

// A primary that waits for nobody publishes what it writes at once: a replica that joins gets that, too, before it has
// acknowledged anything.
TEST_F(ReplicaRules, WhoJoinsMissesNothingThatIsWrittenMeanwhile) {
  Replica a = Make(kA, HeldOf(1, "a", {kA}));
  a.Tick(1000);
  ASSERT_TRUE(host_.proposed);
  a.Heard(Accepted(HeldOf(2, "a", {kA})), 1010);
  a.Tick(5000);
  ASSERT_TRUE(a.serves());
  a.Receive(cluster::Join{2, kB}, 5001);
  a.Write("one", 5002);
  a.Write("two", 5003);
  KeepingHost host;
  Replica b(kB, settings_, {}, &host, 5000);
  b.Learn(HeldOf(2, "a", {kA}), 5000);
  for (const Append& append : host_.appends) b.Receive(append, 5004);
  EXPECT_EQ(host.given_up, "");
  EXPECT_EQ(b.tail().end(), a.tail().end());
}

TEST_F(ReplicaRules, OathIsClearedBeforeItProposes) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  c.Receive(First(1, "a", kC), 10);
  EXPECT_EQ(host_.oath, 1u);
  c.Tick(1000);
  ASSERT_TRUE(host_.proposed);
  EXPECT_EQ(host_.proposed->primary, "c");
  EXPECT_EQ(host_.proposed->in_sync, std::vector{kC});
  EXPECT_EQ(host_.oath, 0u);
}

TEST_F(ReplicaRules, NothingIsAcknowledgedWithoutAnOath) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  c.Receive(First(1, "a", kC), 10);
  c.Tick(1000);
  host_.acks.clear();
  c.Receive(First(1, "a", kC), 1010);
  EXPECT_TRUE(host_.acks.empty());
  // Its proposal was refused, and nothing else accepted.
  c.Heard({Verdict::kRefused, HeldOf(1, "a", {kA, kC}), ""}, 1020);
  EXPECT_EQ(host_.oath, 1u);
  c.Receive(First(1, "a", kC), 1030);
  EXPECT_EQ(host_.acks.size(), 1u);
}

TEST_F(ReplicaRules, LeasesAreWaitedForFromTheOathOn) {
  Replica b = Primary();
  EXPECT_EQ(host_.oath, 0u);
  b.Receive(AckOf(2, 0, 1100), 1200);
  b.Tick(1000 + 1100);  // the lease, and what clocks may differ by
  EXPECT_FALSE(b.serves());
  b.Tick(1000 + 1101);
  EXPECT_TRUE(b.serves());
  EXPECT_EQ(host_.oath, 2u);
}

TEST_F(ReplicaRules, EntryIsPublishedWhenAllHoldIt) {
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1200);
  b.Tick(2200);
  const Position at = b.Write("x", 2210);
  EXPECT_EQ(host_.published.number, 0u);
  b.Receive(AckOf(2, 1, 2210), 2220);
  EXPECT_EQ(host_.published, at);
}

// c acknowledged entries of b's first reign, which another primary has taken away since.
TEST_F(ReplicaRules, AcknowledgementsOfAFormerReignDoNotCount) {
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1200);
  b.Tick(2200);
  b.Write("x", 2210);
  EXPECT_FALSE(host_.is_deposed);
  b.Learn(HeldOf(3, "c", {kB, kC}), 2300);
  EXPECT_TRUE(host_.is_deposed);
  EXPECT_EQ(host_.oath, 0u);
  b.Tick(3000);
  b.Heard(Accepted(HeldOf(4, "b", {kB, kC})), 3100);
  b.Receive(AckOf(2, 1, 2210), 4300);
  b.Tick(4300);
  EXPECT_EQ(host_.published.number, 0u);
  EXPECT_FALSE(b.serves());
}

TEST_F(ReplicaRules, QuestionEndsWithItsEpoch) {
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1200);
  b.Tick(2200);
  b.Tick(5000);
  const auto question = b.Ask();
  b.Press(question, 5000);
  EXPECT_FALSE(b.MayAnswer(question, 5000));
  b.Receive(AckOf(2, 0, 5000), 5010);
  EXPECT_FALSE(b.MayAnswer(question, 5000 + 901)) << "neither after it nor within a lease";
  EXPECT_TRUE(b.MayAnswer(question, 5010));
  b.Receive(AckOf(2, 0, 5001), 5020);
  EXPECT_TRUE(b.MayAnswer(question, 9000)) << "sent after it, though at the same time";
  b.Learn(HeldOf(3, "c", {kB, kC}), 9100);
  b.Tick(9600);
  b.Heard(Accepted(HeldOf(4, "b", {kB, kC})), 9700);
  b.Receive(AckOf(4, 0, 10'800), 10'900);
  b.Tick(10'900);
  ASSERT_TRUE(b.serves());
  EXPECT_FALSE(b.MayAnswer(question, 10'900));
}

// The same primary two epochs later: another may have been between.
TEST_F(ReplicaRules, OathIsNotKeptOverAnEpochThatWasNotSeen) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  c.Receive(First(1, "a", kC), 10);
  c.Learn(HeldOf(2, "a", {kA, kC, kB}), 20);
  EXPECT_EQ(host_.oath, 2u);
  c.Learn(HeldOf(4, "a", {kA, kC}), 30);
  EXPECT_EQ(host_.oath, 0u);
  c.Receive(First(4, "a", kC), 40);
  EXPECT_EQ(host_.oath, 4u);
}

TEST_F(ReplicaRules, NoOathAfterAStartBeforeThePrimaryIsHeard) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  c.Learn(HeldOf(1, "a", {kA, kC}), 5);
  EXPECT_EQ(host_.oath, 0u);
  c.Receive(Beat(1, "a", kC), 10);
  EXPECT_EQ(host_.oath, 0u);
  ASSERT_EQ(host_.acks.size(), 1u);
  EXPECT_FALSE(host_.acks[0].second.follows);
}

TEST_F(ReplicaRules, FormerPrimaryHearsThatItIsOne) {
  Replica c = Make(kC, HeldOf(2, "b", {kB, kC}));
  c.Receive(First(1, "a", kC), 10);
  ASSERT_EQ(host_.acks.size(), 1u);
  EXPECT_EQ(host_.acks[0].first, "a");
  EXPECT_EQ(host_.acks[0].second.epoch, 2u);
  Replica a = Make(kA, HeldOf(1, "a", {kA, kC}));
  a.Receive(host_.acks[0].second, 20);
  EXPECT_EQ(host_.reads, 1);
}

TEST_F(ReplicaRules, WithTooFewInSyncThereAreNoWrites) {
  settings_.min_replicas = 2;
  settings_.lease_us = 0;
  settings_.drop_us = 80;
  Replica b = Primary();
  b.Tick(1110);
  EXPECT_TRUE(b.takes_writes());
  for (uint64_t now = 1120; now <= 1190; now += 10) b.Tick(now);
  b.Heard(Accepted(HeldOf(3, "b", {kB})), 1200);
  EXPECT_TRUE(b.serves());
  EXPECT_FALSE(b.takes_writes());
}

TEST_F(ReplicaRules, SettingsAreTheConfigurations) {
  const auto settings = cluster::SettingsOf(WholeConfig());
  EXPECT_EQ(settings.lease_us, 250'000u);
  EXPECT_EQ(settings.detect_us, 300'000u);
  EXPECT_EQ(settings.drop_us, 80'000u);
  EXPECT_EQ(settings.beat_us, 26'000u);
  EXPECT_EQ(settings.rate_error_ppm, 100'000u);
  EXPECT_EQ(settings.min_replicas, 1u);
}

TEST_F(ReplicaRules, HandOverWaitsForWhatIsWritten) {
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1200);
  b.Tick(2200);
  b.Write("x", 2210);
  b.HandOverTo(kA.incarnation);
  EXPECT_TRUE(b.takes_writes()) << "a is no member";
  b.HandOverTo(kC.incarnation);
  EXPECT_FALSE(b.takes_writes());
  EXPECT_FALSE(host_.hand_over);
  b.Receive(AckOf(2, 1, 2210), 2220);
  ASSERT_TRUE(host_.hand_over);
  EXPECT_EQ(host_.hand_over->to, kC.incarnation);
  EXPECT_EQ(host_.oath_at_close, 0u);
  EXPECT_TRUE(host_.is_deposed);
  EXPECT_FALSE(b.serves());
  host_.proposed.reset();
  b.Tick(2520);
  EXPECT_FALSE(host_.proposed);
  b.Tick(2521);  // c does not take over
  EXPECT_TRUE(host_.proposed);
}

TEST_F(ReplicaRules, WhoIsHandedOverToWaitsForNoLeases) {
  Replica c = Make(kC, HeldOf(2, "b", {kB, kC}));
  c.Receive(First(2, "b", kC), 10);
  c.Receive(cluster::HandOver{.epoch = 1, .to = kC.incarnation}, 20);
  EXPECT_FALSE(host_.proposed);
  c.Receive(cluster::HandOver{.epoch = 2, .to = kC.incarnation}, 30);
  ASSERT_TRUE(host_.proposed);
  EXPECT_EQ(host_.proposed->in_sync.size(), 2u) << "b stays a member";
  c.Heard(Accepted(HeldOf(3, "c", {kB, kC})), 40);
  EXPECT_TRUE(c.serves());
  EXPECT_EQ(host_.oath, 3u);
}

TEST_F(ReplicaRules, WhoCannotStoreAnEntryShowsNoOathAndAcknowledgesNothing) {
  Replica b = Primary();
  host_.is_full = true;
  b.Receive(AckOf(2, 0, 1100), 1200);
  b.Tick(2200);
  ASSERT_TRUE(b.serves());
  b.Write("x", 2210);
  b.Receive(AckOf(2, 1, 2210), 2220);
  EXPECT_NE(host_.given_up, "");
  EXPECT_EQ(host_.oath, 0u);
  EXPECT_FALSE(b.serves());
  host_.appends.clear();
  b.Tick(9000);
  EXPECT_TRUE(host_.appends.empty());

  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  Append append = First(1, "a", kC);
  append.entries = {cluster::MakeEntry({}, 1, "x")};
  append.published = 1;
  host_.acks.clear();
  c.Receive(append, 10);
  EXPECT_EQ(host_.oath, 0u);
  EXPECT_TRUE(host_.acks.empty());
}

TEST_F(ReplicaRules, OathOfAFormerLifeGoes) {
  host_.oath = 1;  // in memory that is mapped again
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  EXPECT_EQ(host_.oath, 0u);
}

// The reply came late, and c was in the next epoch already.
TEST_F(ReplicaRules, LateReplyOfTheRegisterDropsNobody) {
  const Member d{"d", 0xd};
  settings_.drop_us = 80;
  settings_.lease_us = 0;
  Replica b = Make(kB, HeldOf(1, "a", {kA, kB, kC, d}));
  b.Tick(1000);
  b.Heard(Accepted(HeldOf(2, "b", {kB, kC, d})), 1010);
  for (uint64_t now = 1020; now <= 1100; now += 10) {
    b.Tick(now);
    b.Receive(AckOf(2, 0, now), now);
  }
  ASSERT_EQ(host_.proposed->in_sync, (std::vector{kB, kC}));
  for (uint64_t now = 1110; now < 1300; now += 10) {
    b.Tick(now);
    b.Receive(AckOf(3, 0, 0), now);
  }
  host_.proposed.reset();
  b.Heard(Accepted(HeldOf(3, "b", {kB, kC})), 1300);
  b.Tick(1301);
  EXPECT_FALSE(host_.proposed);
}

TEST_F(ReplicaRules, PauseOfThePrimaryDropsNobody) {
  settings_.drop_us = 80;
  Replica b = Primary();
  uint64_t now = 1100;
  for (; now < 2000; now += 10) {
    b.Tick(now);
    b.Receive(AckOf(2, 0, now), now + 5);
  }
  host_.proposed.reset();
  b.Tick(now + 81);
  EXPECT_FALSE(host_.proposed);
}

TEST_F(ReplicaRules, MemberLearnsFromThePrimaryToo) {
  Replica c = Make(kC, HeldOf(1, "a", {kA, kB, kC}));
  c.Receive(First(1, "a", kC), 10);
  Append append = Beat(2, "a", kC);
  append.held = HeldOf(2, "a", {kA, kC});
  c.Receive(append, 20);
  EXPECT_EQ(host_.reads, 0);
  EXPECT_EQ(host_.oath, 2u);
  EXPECT_EQ(host_.acks.back().second.epoch, 2u);
}

TEST_F(ReplicaRules, WhoJoinsLooksBeforeItGivesUp) {
  Replica c(kC, settings_, std::nullopt, &host_, 0);
  c.Learn(HeldOf(1, "a", {kA}), 5);
  c.Receive(First(1, "a", kC), 10);
  c.CaughtUp();
  c.Receive(Beat(1, "a", kC), 20);  // a proposes {a, c}, which is accepted, and dies
  host_.reads = 0;
  c.Tick(321);
  EXPECT_EQ(host_.given_up, "");
  EXPECT_EQ(host_.reads, 1);
  EXPECT_EQ(c.self(), kC);
  c.Tick(621);
  EXPECT_EQ(host_.given_up, "");
  EXPECT_NE(c.self(), kC);
}

TEST_F(ReplicaRules, LostMemoryUnderAnOldNameIsNone) {
  Replica c(kC, settings_, std::nullopt, &host_, 0);
  c.Learn(HeldOf(7, "a", {kA, kC}), 5);
  EXPECT_NE(host_.given_up, "");
}

TEST_F(ReplicaRules, ClockThatWasReadEarlierIsNoSilence) {
  settings_.drop_us = 80;
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1111);
  host_.proposed.reset();
  b.Tick(1110);
  EXPECT_FALSE(host_.proposed);
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  c.Receive(First(1, "a", kC), 11);
  c.Tick(10);
  EXPECT_FALSE(host_.proposed);
}

TEST_F(ReplicaRules, AnswerWaitsForTheWriteThatItRestsOn) {
  settings_.lease_us = 0;
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1200);
  const Position at = b.Write("put k if absent", 2210);
  const auto question = b.Ask(at.number);  // the same of another client: it is there already
  b.Receive(AckOf(2, 0, 2221), 2230);
  EXPECT_FALSE(b.MayAnswer(question, 2230));
  b.Receive(AckOf(2, 1, 2222), 2240);
  EXPECT_TRUE(b.MayAnswer(question, 2240));
}

TEST_F(ReplicaRules, AnswerToAWriteNeedsNoMessageButItsOwn) {
  settings_.lease_us = 0;
  Replica b = Primary();
  b.Receive(AckOf(2, 0, 1100), 1200);
  const auto question = b.Ask(1);
  host_.appends.clear();
  b.Write("put k", 2210);
  b.Press(question, 2210);
  ASSERT_EQ(host_.appends.size(), 1u);
  b.Receive(AckOf(2, 1, host_.appends.front().sent_us), 2230);
  EXPECT_TRUE(b.MayAnswer(question, 2230));
}

TEST_F(ReplicaRules, NothingIsHandedOverToOneThatWasNotHeard) {
  settings_.lease_us = 0;
  Replica b = Primary();
  b.Tick(1110);
  ASSERT_TRUE(b.serves());
  b.HandOverTo(kC.incarnation);
  b.Tick(1120);
  EXPECT_FALSE(host_.hand_over);
  EXPECT_TRUE(b.takes_writes());
}

// Its oath would be off until the coordinator answers.
TEST_F(ReplicaRules, NothingIsProposedWhileTheCoordinatorIsAway) {
  settings_.drop_us = 80;
  Replica c = Make(kC, HeldOf(1, "a", {kA, kC}));
  c.Receive(First(1, "a", kC), 10);
  host_.can_propose = false;
  c.Tick(1000);
  EXPECT_FALSE(host_.proposed);
  EXPECT_EQ(host_.oath, 1u);
  host_.can_propose = true;
  Replica b = Primary();
  host_.proposed.reset();
  host_.can_propose = false;
  for (uint64_t now = 1110; now <= 1300; now += 10) b.Tick(now);
  EXPECT_FALSE(host_.proposed);
}

}  // namespace
}  // namespace plov::test
