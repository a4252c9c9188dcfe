// Sessions: every answer to "was this write applied?".
#include "server/sessions.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace plov::server {
namespace {

using State = Session::State;

constexpr bool kFirstTime = false;
constexpr bool kRetry = true;

// The verdict alone, for where the reply is of no interest.
State Find(const Session& session, uint64_t sequence, bool retry) {
  WriteReply reply;
  return session.Find(sequence, retry, &reply);
}

WriteReply ReplyOf(uint64_t sequence) { return {Code::kOk, 1000 + sequence}; }

TEST(Session, FirstSightOfAWriteIsNew) {
  Session session;
  EXPECT_EQ(Find(session, 1, kFirstTime), State::kNew);
  session.Remember(1, ReplyOf(1));
  EXPECT_EQ(Find(session, 2, kFirstTime), State::kNew);
}

TEST(Session, AppliedWriteGetsItsOwnReplyAgain) {
  Session session;
  session.Remember(1, {Code::kOk, 77});
  session.Remember(2, {Code::kVersionMismatch, 5});
  for (const bool retry : {kFirstTime, kRetry}) {
    WriteReply reply;
    EXPECT_EQ(session.Find(1, retry, &reply), State::kDone);
    EXPECT_EQ(reply.status, Code::kOk);
    EXPECT_EQ(reply.version, 77u);
    EXPECT_EQ(session.Find(2, retry, &reply), State::kDone);
    EXPECT_EQ(reply.status, Code::kVersionMismatch);
    EXPECT_EQ(reply.version, 5u);
  }
}

TEST(Session, NumberIsRememberedWithItsReplyAlone) {
  Session session;
  WriteReply reply;
  session.Remember(1, {Code::kOk, 77, -5});
  session.Remember(2, {Code::kOk, 78});
  EXPECT_EQ(session.Find(1, kRetry, &reply), State::kDone);
  EXPECT_EQ(reply, (WriteReply{Code::kOk, 77, -5}));
  EXPECT_EQ(session.Find(2, kRetry, &reply), State::kDone);
  EXPECT_EQ(reply.number, std::nullopt);
  session.Remember(1 + kSessionWindow, {Code::kOk, 400});
  session.Find(1 + kSessionWindow, kRetry, &reply);
  EXPECT_EQ(reply.number, std::nullopt) << "of the one that was in its place";
}

TEST(Session, NumberOfARestoredWriteIsTheOneThatItStored) {
  Sessions sessions;
  sessions.Restore(verify::Logged{.version = 9, .client_id = 3, .sequence = 4, .value = "-12"});
  sessions.Restore(verify::Logged{.version = 10, .client_id = 3, .sequence = 5, .value = "text"});
  sessions.EndRestore(true);
  const Session* session = sessions.Enter(7, 3);
  WriteReply reply;
  EXPECT_EQ(session->Find(4, kRetry, &reply), State::kDone);
  EXPECT_EQ(reply.number, -12);
  session->Find(5, kRetry, &reply);
  EXPECT_EQ(reply.number, std::nullopt);
}

TEST(Session, RetryToASessionThatNeverSawTheClientIsForgotten) {
  const Session session;
  EXPECT_EQ(Find(session, 1, kRetry), State::kForgotten);
}

TEST(Session, RetryOfAWriteBeforeTheSessionBeganIsForgotten) {
  Session session;
  session.Remember(300, ReplyOf(300));
  EXPECT_EQ(Find(session, 299, kRetry), State::kForgotten);
  EXPECT_EQ(Find(session, 301, kRetry), State::kNew) << "it was there when 301 was sent first";
}

TEST(Session, RetryAfterReturnOfAWriteThatNeverArrivedIsNew) {
  Session session;
  session.Return();
  EXPECT_EQ(Find(session, 1, kRetry), State::kNew);
}

TEST(Session, ReturnForgetsNoReply) {
  Session session;
  session.Remember(1, ReplyOf(1));
  session.Return();
  EXPECT_EQ(Find(session, 1, kRetry), State::kDone);
  EXPECT_EQ(Find(session, 2, kRetry), State::kNew);
}

TEST(Session, WholeWindowIsRemembered) {
  Session session;
  for (uint64_t sequence = 1; sequence <= kSessionWindow; ++sequence) {
    session.Remember(sequence, ReplyOf(sequence));
  }
  for (uint64_t sequence = 1; sequence <= kSessionWindow; ++sequence) {
    WriteReply reply;
    ASSERT_EQ(session.Find(sequence, kRetry, &reply), State::kDone) << sequence;
    EXPECT_EQ(reply.version, ReplyOf(sequence).version);
  }
}

TEST(Session, WritesThatLeftTheWindowAreForgottenNotNew) {
  Session session;
  constexpr uint64_t kLast = 3 * kSessionWindow + 17;
  for (uint64_t sequence = 1; sequence <= kLast; ++sequence) {
    ASSERT_EQ(Find(session, sequence, kFirstTime), State::kNew) << sequence;
    session.Remember(sequence, ReplyOf(sequence));
  }
  for (uint64_t sequence = 1; sequence <= kLast; ++sequence) {
    const bool kept = sequence + kSessionWindow > kLast;
    EXPECT_EQ(Find(session, sequence, kRetry), kept ? State::kDone : State::kForgotten);
    EXPECT_EQ(Find(session, sequence, kFirstTime), kept ? State::kDone : State::kForgotten);
  }
}

TEST(Sessions, RetryOfAFormerLifesWriteIsForgottenHoweverOftenTheClientReturns) {
  Sessions sessions(true);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Find(*sessions.Enter(1), 5, kRetry), State::kForgotten);
    sessions.Leave(1);
  }
  Session* session = sessions.Enter(1);
  EXPECT_EQ(Find(*session, 6, kFirstTime), State::kNew);
  session->Remember(6, ReplyOf(6));
  EXPECT_EQ(Find(*session, 7, kRetry), State::kNew) << "first sent to this life";
}

// As long as the session is known, and no longer.
TEST(Sessions, ClaimGoesWithItsSession) {
  Sessions sessions;
  const auto take = [&](uint64_t id) {
    return sessions.claims()->Take(id, fabric::Claimant().claim());
  };
  EXPECT_EQ(take(1), fabric::Claims::Outcome::kNew);
  const auto come_and_go = [&](const SessionOwner& owner) {
    sessions.Enter(owner);
    sessions.Leave(owner);
  };
  come_and_go(1);
  come_and_go({1, uid_t{5}});  // another's of the same id
  for (uint64_t id = 2; id <= kIdleSessionsMax; ++id) come_and_go(id);
  EXPECT_EQ(take(1), fabric::Claims::Outcome::kNew) << "the oldest was dropped";
  for (uint64_t id = 2; id <= 1 + kIdleSessionsMax; ++id) come_and_go({id, uid_t{6}});
  EXPECT_NE(take(1), fabric::Claims::Outcome::kNew) << "a user's session says nothing of it";
  sessions.Follow();  // clients claim their ids from another server then
  EXPECT_EQ(take(1), fabric::Claims::Outcome::kNew);
}

TEST(Sessions, ConnectedClientHasOneSession) {
  Sessions sessions;
  Session* const session = sessions.Enter(7);
  EXPECT_EQ(sessions.Enter(7), session);
  EXPECT_NE(sessions.Enter(8), session);
  EXPECT_EQ(sessions.size(), 2u);
}

TEST(Sessions, ClientThatReturnsFindsItsReplies) {
  Sessions sessions;
  sessions.Enter(7)->Remember(1, ReplyOf(1));
  sessions.Leave(7);
  Session* const session = sessions.Enter(7);
  EXPECT_EQ(Find(*session, 1, kRetry), State::kDone);
  EXPECT_EQ(Find(*session, 2, kRetry), State::kNew) << "lost on the way: it was never applied";
}

TEST(Sessions, ClientThatReturnsBeforeItsFirstWriteArrivedMayRetryIt) {
  Sessions sessions;
  sessions.Enter(7);
  sessions.Leave(7);
  EXPECT_EQ(Find(*sessions.Enter(7), 1, kRetry), State::kNew);
}

// Idle clients `from` to `to`, in this order.
void ComeAndGo(Sessions* sessions, uint64_t from, uint64_t to) {
  for (uint64_t id = from; id <= to; ++id) {
    sessions->Enter(id)->Remember(1, ReplyOf(id));
    sessions->Leave(id);
  }
}

TEST(Sessions, OldestIdleSessionsAreDroppedBeyondTheLimit) {
  Sessions sessions;
  ComeAndGo(&sessions, 1, kIdleSessionsMax);
  EXPECT_EQ(sessions.size(), kIdleSessionsMax);
  ComeAndGo(&sessions, kIdleSessionsMax + 1, kIdleSessionsMax + 3);
  EXPECT_EQ(sessions.size(), kIdleSessionsMax);
  EXPECT_EQ(Find(*sessions.Enter(3), 1, kRetry), State::kForgotten);
  EXPECT_EQ(Find(*sessions.Enter(4), 1, kRetry), State::kDone);
}

TEST(Sessions, VisitMakesASessionYoungAgain) {
  Sessions sessions;
  ComeAndGo(&sessions, 1, kIdleSessionsMax);
  sessions.Enter(1);
  sessions.Leave(1);
  ComeAndGo(&sessions, kIdleSessionsMax + 1, kIdleSessionsMax + 1);
  EXPECT_EQ(Find(*sessions.Enter(1), 1, kRetry), State::kDone);
  EXPECT_EQ(Find(*sessions.Enter(2), 1, kRetry), State::kForgotten);
}

TEST(Sessions, SessionOfAConnectedClientIsNeverDropped) {
  Sessions sessions;
  Session* const connected = sessions.Enter(1'000'000);
  connected->Remember(1, ReplyOf(9));
  ComeAndGo(&sessions, 1, 2 * kIdleSessionsMax);
  EXPECT_EQ(sessions.size(), kIdleSessionsMax + 1);
  EXPECT_EQ(sessions.Enter(1'000'000), connected);
  EXPECT_EQ(Find(*connected, 1, kRetry), State::kDone);
}

TEST(Sessions, SessionWithTwoConnectionsIsKeptUntilBothEnd) {
  Sessions sessions;
  sessions.Enter(1'000'000)->Remember(1, ReplyOf(9));
  sessions.Enter(1'000'000);
  sessions.Leave(1'000'000);
  ComeAndGo(&sessions, 1, 2 * kIdleSessionsMax);
  EXPECT_EQ(Find(*sessions.Enter(1'000'000), 1, kRetry), State::kDone);
}

// The first session saw the write, the second did not: the client's return to the second proves
// nothing.
TEST(Sessions, ReturnToASessionAfterADroppedOneDoesNotMakeRetriesNew) {
  Sessions sessions;
  ComeAndGo(&sessions, 1, kIdleSessionsMax + 1);  // 1 is dropped
  sessions.Enter(1);
  sessions.Leave(1);
  EXPECT_EQ(Find(*sessions.Enter(1), 1, kRetry), State::kForgotten);
}

verify::Logged WriteOf(uint64_t owner, uint64_t sequence) {
  return {.version = 1000 + sequence, .client_id = owner, .sequence = sequence};
}

TEST(Sessions, WhatTheLogHasIsAnsweredAndWhatCameAfterItIsNew) {
  Sessions sessions;
  for (const uint64_t sequence : {3u, 4u, 6u}) sessions.Restore(WriteOf(77, sequence));
  sessions.EndRestore(false);
  Session* const session = sessions.Enter(1, 77);
  WriteReply reply;
  EXPECT_EQ(session->Find(4, kRetry, &reply), State::kDone);
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_EQ(reply.version, 1004u);
  EXPECT_EQ(Find(*session, 7, kRetry), State::kNew);
  EXPECT_EQ(Find(*session, 2, kRetry), State::kForgotten) << "before what the log has";
  EXPECT_EQ(Find(*session, 5, kRetry), State::kForgotten) << "refused, and 6 came after it";
  sessions.Leave(1);
  EXPECT_EQ(sessions.Enter(1, 77), session);
}

TEST(Sessions, OfAClientThatALogHasNothingOfOnlyAWholeLogKnows) {
  for (const bool is_whole : {false, true}) {
    Sessions sessions;
    sessions.Restore(WriteOf(77, 1));
    sessions.EndRestore(is_whole);
    EXPECT_EQ(Find(*sessions.Enter(2, 78), 1, kRetry), is_whole ? State::kNew : State::kForgotten);
  }
}

TEST(Sessions, OfALogTheClientsThatWroteLastAreRemembered) {
  Sessions sessions;
  for (uint64_t owner = 1; owner <= kIdleSessionsMax; ++owner) sessions.Restore(WriteOf(owner, 1));
  sessions.Restore(WriteOf(1, 2));
  sessions.Restore(WriteOf(kIdleSessionsMax + 1, 1));  // now 2 is dropped
  sessions.EndRestore(true);
  EXPECT_EQ(sessions.size(), kIdleSessionsMax);
  EXPECT_EQ(Find(*sessions.Enter(1, 1), 1, kRetry), State::kDone);
  EXPECT_EQ(Find(*sessions.Enter(2, 2), 1, kRetry), State::kForgotten);
}

// A replica that hands over, and takes over again.
TEST(Sessions, WhatClientsLeftAndWhatAnotherServerDecidedIsOneSession) {
  Sessions sessions;
  Session* session = sessions.Enter(1, 77);
  session->Remember(1, ReplyOf(1));
  session->Remember(2, {Code::kExists, 5});
  sessions.Leave(1);
  sessions.Follow();
  sessions.Restore(WriteOf(77, 3));
  sessions.Restore(WriteOf(78, 1));
  sessions.EndRestore(true);
  session = sessions.Enter(1, 77);
  WriteReply reply;
  for (const uint64_t sequence : {1u, 2u, 3u}) {
    EXPECT_EQ(session->Find(sequence, kRetry, &reply), State::kDone) << sequence;
  }
  EXPECT_EQ(Find(*session, 4, kRetry), State::kNew);
  EXPECT_EQ(Find(*sessions.Enter(2, 78), 1, kRetry), State::kDone);
  EXPECT_EQ(Find(*sessions.Enter(3, 79), 1, kRetry), State::kNew) << "nothing of it was applied";
}

TEST(Sessions, WhatWasDroppedBeforeAnotherServerDecidedStaysUnknown) {
  Sessions sessions;
  for (uint64_t id = 1; id <= kIdleSessionsMax + 1; ++id) {
    sessions.Enter(id, id)->Remember(1, ReplyOf(1));
    sessions.Leave(id);
  }
  sessions.Follow();
  sessions.EndRestore(true);
  EXPECT_EQ(Find(*sessions.Enter(1, 1), 1, kRetry), State::kForgotten);
  EXPECT_EQ(Find(*sessions.Enter(2, 2), 1, kRetry), State::kDone);
}

using Known = std::vector<verify::LoggedSession>;

// What a snapshot has of them.
Known Taken(const Sessions& sessions, bool* are_all = nullptr) {
  Sessions::Pass pass(&sessions);
  while (pass.Step()) continue;
  if (are_all != nullptr) *are_all = pass.are_all();
  return pass.Take();
}

TEST(SessionKnown, IsTheLastWriteThatWasApplied) {
  Session session;
  EXPECT_EQ(session.known(), std::nullopt);
  session.Remember(5, {Code::kNotFound, 0});
  EXPECT_EQ(session.known(), (verify::LoggedSession{0, 4, 0})) << "what it saw was not applied";
  session.Remember(6, ReplyOf(6));
  session.Remember(7, {Code::kVersionMismatch, 3});
  EXPECT_EQ(session.known(), (verify::LoggedSession{0, 6, 1006}));
}

TEST(SessionKnown, NothingIsOfAClientThatReturnedWithoutAWrite) {
  Session session;
  session.Return();
  EXPECT_EQ(session.known(), verify::LoggedSession{});
}

TEST(SessionKnown, IsTheSameAfterMoreRefusalsThanItsWindowHolds) {
  Session session;
  session.Remember(1, ReplyOf(1));
  for (uint64_t sequence = 2; sequence < 3 * kSessionWindow; ++sequence) {
    session.Remember(sequence, {Code::kNotFound, 0});
  }
  EXPECT_EQ(session.known(), (verify::LoggedSession{0, 1, 1001}));
}

// A snapshot's word and what the session itself would say are one.
TEST(SessionKnown, RestoredItAnswersTheLastAndTakesWhatComesAfter) {
  for (const uint64_t version : {uint64_t{0}, uint64_t{77}}) {
    Session session;
    session.Restore({.client_id = 1, .sequence = 300, .version = version});
    WriteReply reply;
    EXPECT_EQ(session.Find(300, kRetry, &reply), version == 0 ? State::kForgotten : State::kDone);
    EXPECT_EQ(reply.version, version);
    for (const uint64_t sequence : {1u, 44u, 299u}) {
      EXPECT_EQ(Find(session, sequence, kRetry), State::kForgotten) << sequence;
    }
    EXPECT_EQ(Find(session, 301, kRetry), State::kNew);
    EXPECT_EQ(session.known(), (verify::LoggedSession{0, 300, version}));
    session.Restore(301, ReplyOf(301));  // the log goes on
    EXPECT_EQ(Find(session, 301, kRetry), State::kDone);
  }
}

TEST(SessionsTaken, IdleOnesComeFirst) {
  Sessions sessions;
  for (uint64_t id = 1; id <= 5; ++id) sessions.Enter(id, 10 * id)->Remember(id, ReplyOf(id));
  for (const uint64_t id : {2u, 4u}) sessions.Leave(id);
  bool are_all = false;
  const Known known = Taken(sessions, &are_all);
  ASSERT_EQ(known.size(), 5u);
  for (size_t i = 0; i < known.size(); ++i) {
    const uint64_t id = known[i].client_id / 10;
    EXPECT_EQ(id == 2 || id == 4, i < 2);
    EXPECT_EQ(known[i], (verify::LoggedSession{10 * id, id, 1000 + id}));
  }
  EXPECT_TRUE(are_all);
}

// It is known that nothing of it was applied, so its first write can be.
TEST(SessionsTaken, AClientThatHasWrittenNothingIsThere) {
  Sessions sessions;
  sessions.Enter(1, 10);
  EXPECT_EQ(Taken(sessions), (Known{{10, 0, 0}}));
  Sessions next;
  next.Restore(verify::LoggedSession{10, 0, 0});
  next.EndRestore(false);
  EXPECT_EQ(Find(*next.Enter(1, 10), 1, kRetry), State::kNew);
  EXPECT_EQ(Find(*next.Enter(2, 20), 1, kRetry), State::kForgotten);
}

TEST(SessionsTaken, AClientThatMayHaveHadADroppedSessionIsNot) {
  Sessions sessions(true);
  sessions.Enter(1, 10);
  sessions.Enter(2, 20)->Remember(7, {Code::kNotFound, 0});
  bool are_all = true;
  EXPECT_EQ(Taken(sessions, &are_all), (Known{{20, 6, 0}})) << "of it only what came before";
  EXPECT_FALSE(are_all);
}

TEST(SessionsTaken, AreNotAllOnceOneWasDropped) {
  for (const uint64_t clients : {kIdleSessionsMax, kIdleSessionsMax + 1}) {
    Sessions sessions;
    ComeAndGo(&sessions, 1, clients);
    bool are_all = false;
    Taken(sessions, &are_all);
    EXPECT_EQ(are_all, clients == kIdleSessionsMax);
  }
  Sessions restored;
  restored.EndRestore(false);
  bool are_all = true;
  Taken(restored, &are_all);
  EXPECT_FALSE(are_all);
}

TEST(SessionsTaken, RestoredOnesAreToo) {
  Sessions sessions;
  sessions.Restore(verify::LoggedSession{10, 5, 50});
  sessions.Restore(WriteOf(20, 6));
  sessions.EndRestore(true);
  EXPECT_EQ(Taken(sessions), (Known{{10, 5, 50}, {20, 6, 1006}}));
  sessions.Enter(1, 10);
  EXPECT_EQ(Taken(sessions), (Known{{20, 6, 1006}, {10, 5, 50}})) << "its client has come back";
}

// Clients come back and more come than there are buckets: who was there before the pass is taken.
TEST(SessionsTaken, NoneIsMissedWhileClientsCome) {
  constexpr uint64_t kBefore = 1000;
  Sessions sessions;
  for (uint64_t id = 1; id <= kBefore; ++id) {
    if (id % 2 == 0) sessions.Restore(verify::LoggedSession{id, id, id});
  }
  sessions.EndRestore(true);
  for (uint64_t id = 1; id <= kBefore; id += 2) sessions.Enter(id, id)->Remember(id, ReplyOf(id));
  Sessions::Pass pass(&sessions);
  uint64_t next = kBefore + 1;
  uint64_t returning = 2;
  while (pass.Step()) {
    for (uint64_t end = returning + 100; returning < end && returning <= kBefore; returning += 2) {
      sessions.Enter(returning, returning);
    }
    for (const uint64_t end = next + 100; next < end && next < 5000; ++next)
      sessions.Enter(next, next);
  }
  std::map<uint64_t, uint64_t> sequences;
  for (const auto& known : pass.Take()) sequences[known.client_id] = known.sequence;
  for (uint64_t id = 1; id <= kBefore; ++id) EXPECT_EQ(sequences[id], id);
  EXPECT_GT(next, 2 * kBefore) << "the buckets were too few";
}

TEST(SessionsTaken, TooManyRestoredDropTheIdleOnes) {
  Sessions sessions;
  Known known;
  for (uint64_t id = 1; id <= kIdleSessionsMax; ++id) sessions.Enter(id, id);
  ComeAndGo(&sessions, 10'000, 10'001);  // of no log
  for (uint64_t id = 20'000; id < 20'002; ++id) {
    sessions.Enter(id, id);
    sessions.Leave(id);
  }
  known = Taken(sessions);
  ASSERT_EQ(known.size(), kIdleSessionsMax + 2);
  Sessions next;
  for (const verify::LoggedSession& session : known) next.Restore(session);
  next.EndRestore(true);
  for (uint64_t id = 1; id <= kIdleSessionsMax; ++id) {
    EXPECT_EQ(Find(*next.Enter(id, id), 1, kRetry), State::kNew);
  }
  EXPECT_EQ(Find(*next.Enter(20'000, 20'000), 1, kRetry), State::kForgotten);
}

TEST(LoggedOwner, IsNoOtherUsersAndOfNoOtherLog) {
  const verify::LogId log{1, 2};
  const uint64_t number = LoggedOwner({7, 1000}, log);
  EXPECT_EQ(LoggedOwner({7, 1000}, log), number);
  EXPECT_NE(LoggedOwner({7, 1001}, log), number);
  EXPECT_NE(LoggedOwner({7, 0}, log), LoggedOwner({7}, log));
  EXPECT_NE(LoggedOwner({8, 1000}, log), number);
  EXPECT_NE(LoggedOwner({7, 1000}, {1, 3}), number);
  EXPECT_NE(LoggedOwner({7, 1000}, {3, 2}), number);
}

// A former primary's: what it wrote last was never done.
TEST(Sessions, ForgottenWritesAreNew) {
  Sessions sessions;
  Session* session = sessions.Enter(1, 101);
  for (uint64_t sequence = 1; sequence <= 3; ++sequence) {
    session->Remember(sequence, ReplyOf(sequence));
  }
  session->Remember(4, {Code::kExists, 0});
  sessions.Leave(1);
  sessions.Follow();
  verify::Logged write;
  write.client_id = 101;
  write.sequence = 2;
  write.version = ReplyOf(3).version;
  sessions.Forget(write);  // of another life: it was done again
  write.sequence = 3;
  sessions.Forget(write);
  write.client_id = 102;
  sessions.Forget(write);
  sessions.ForgetRefusals();
  sessions.EndRestore(true);
  session = sessions.Enter(1, 101);
  EXPECT_EQ(Find(*session, 2, kRetry), State::kDone);
  EXPECT_EQ(Find(*session, 3, kRetry), State::kNew);
  EXPECT_EQ(Find(*session, 4, kRetry), State::kNew) << "it was refused for what was not done";
  EXPECT_EQ(session->known()->sequence, 2u);
  EXPECT_EQ(session->known()->version, ReplyOf(2).version);
}

TEST(Sessions, LeaveOfAnUnknownClientIsHarmless) {
  Sessions sessions;
  sessions.Leave(5);
  EXPECT_EQ(sessions.size(), 0u);
}

}  // namespace
}  // namespace plov::server
