// Lookup, rule R6: what is READ again, how often, and what is never followed.
#include <gtest/gtest.h>

#include <limits>
#include <ostream>
#include <set>

#include "tests/cuckoo/lookup_fixture.h"

namespace plov::cuckoo {
namespace {

constexpr uint32_t kRereads = kImmediateRereads + kPausedRereads;

class LookupBudget : public LookupFixture {
 protected:
  // Feeds torn bytes until the lookup wants no more; returns its last word.
  template <typename Salt>
  Action FeedTornToTheEnd(Salt&& salt_of) {
    for (uint32_t attempt = 0; attempt <= kRereads; ++attempt) {
      const Action action = FeedTorn(salt_of(attempt));
      if (action == Action::kPause) {
        EXPECT_EQ(lookup_.Resume(), Action::kRead);
      } else if (action != Action::kRead) {
        return action;
      }
    }
    return Action::kRead;
  }
};

constexpr auto kAlike = [](uint32_t) { return uint64_t{1}; };
constexpr auto kEachAnother = [](uint32_t attempt) { return uint64_t{1} + attempt; };

TEST_F(LookupBudget, ATornBucketIsReadAgainAtOnce) {
  Start();
  for (uint32_t attempt = 1; attempt <= kImmediateRereads; ++attempt) {
    ASSERT_EQ(FeedTorn(attempt), Action::kRead) << attempt;
    ASSERT_TRUE(Wants(0));
  }
  EXPECT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
  EXPECT_EQ(stats_.torn_buckets, kImmediateRereads);
  EXPECT_EQ(stats_.bucket_reads, 1 + kImmediateRereads);
}

TEST_F(LookupBudget, ThenAfterPausesThatDoubleThenTheServerIsAsked) {
  Start();
  for (uint32_t i = 0; i < kImmediateRereads; ++i) ASSERT_EQ(FeedTorn(), Action::kRead);
  for (uint32_t i = 0; i < kPausedRereads; ++i) {
    ASSERT_EQ(FeedTorn(), Action::kPause) << i;
    EXPECT_GE(lookup_.pause_us(), 1u << i);
    EXPECT_LE(lookup_.pause_us(), 2u << i);
    ASSERT_EQ(lookup_.Resume(), Action::kRead);
    ASSERT_TRUE(Wants(0));
  }
  EXPECT_EQ(FeedTorn(), Action::kAskServer);
}

TEST_F(LookupBudget, ReadersOfOneKeyDoNotPauseInStep) {
  std::set<uint32_t> pauses;
  for (int reader = 0; reader < 20; ++reader) {
    ++now_us_;
    Start();
    for (uint32_t i = 0; i < kRereads; ++i) FeedTorn();
    pauses.insert(lookup_.pause_us());
  }
  EXPECT_GT(pauses.size(), 10u);
}

TEST_F(LookupBudget, APauseMayEndWithAHit) {
  Start();
  for (uint32_t i = 0; i < kRereads; ++i) ASSERT_NE(FeedTorn(), Action::kAskServer);
  EXPECT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
}

TEST_F(LookupBudget, OnlyBytesThatNeverChangeAreSuspect) {
  Start();
  ASSERT_EQ(FeedTornToTheEnd(kAlike), Action::kAskServer);
  EXPECT_TRUE(lookup_.suspect());
  Start();
  ASSERT_EQ(FeedTornToTheEnd(kEachAnother), Action::kAskServer);
  EXPECT_FALSE(lookup_.suspect());
  for (const uint32_t odd : {0u, 1u, kImmediateRereads, kRereads}) {
    Start();
    ASSERT_EQ(FeedTornToTheEnd([odd](uint32_t i) { return i == odd ? 2u : 1u; }),
              Action::kAskServer);
    EXPECT_FALSE(lookup_.suspect()) << odd;
  }
}

// One torn READ, which is usual under a writer, and then a home that changes all the time.
TEST_F(LookupBudget, AHomeThatKeepsChangingIsNotSuspect) {
  for (const uint32_t torn : {0u, 1u, 3u}) {
    Start();
    for (uint32_t i = 0; i < torn; ++i) ASSERT_EQ(FeedTorn(), Action::kRead);
    Action action = Feed(Listing({1}, 1));
    for (uint32_t version = 2; action == Action::kRead; ++version) {
      ASSERT_LT(version, 100u) << "no budget";
      ASSERT_TRUE(Wants(1));
      ASSERT_EQ(Feed(Empty()), Action::kRead);
      ASSERT_TRUE(Wants(0));
      action = Feed(Listing({1}, version));
    }
    ASSERT_EQ(action, Action::kAskServer);
    EXPECT_FALSE(lookup_.suspect()) << torn << " torn READs";
  }
}

TEST_F(LookupBudget, TornIsNeverAbsentInAnyPlace) {
  Start();
  EXPECT_EQ(FeedTornToTheEnd(kAlike), Action::kAskServer);
  Start();
  Feed(Listing({2}));
  ASSERT_TRUE(Wants(2));
  EXPECT_EQ(FeedTornToTheEnd(kEachAnother), Action::kAskServer);
  Start();
  Feed(Listing({1}));
  Feed(Empty());
  ASSERT_TRUE(Wants(0));
  EXPECT_EQ(FeedTornToTheEnd(kAlike), Action::kAskServer);
}

TEST_F(LookupBudget, ZeroedMemoryIsTorn) {
  Start();
  EXPECT_EQ(FeedTornToTheEnd([](uint32_t) { return uint64_t{0}; }), Action::kAskServer);
}

TEST_F(LookupBudget, ATornRecordEndsTooAndGoesByItsBucket) {
  Image record = RecordOf(key_, "rice", 5);
  const Image whole = record;
  for (const bool is_alike : {true, false}) {
    record.back() ^= std::byte{1};
    Action action = Start();
    for (uint32_t i = 0; i <= kRereads; ++i) {
      ASSERT_TRUE(Wants(0)) << i;
      ASSERT_EQ(Feed(ReferenceTo(record, 5)), Action::kRead);
      if (!is_alike) record.back() = whole.back() ^ std::byte(1 + i);
      action = FeedRecord(record);
    }
    ASSERT_EQ(action, Action::kAskServer);
    EXPECT_EQ(lookup_.suspect(), is_alike);
    record = whole;
  }
}

TEST_F(LookupBudget, ANewLookupHasANewBudget) {
  Start();
  FeedTornToTheEnd(kAlike);
  Start();
  EXPECT_FALSE(lookup_.suspect());
  ASSERT_EQ(FeedTorn(), Action::kRead);
  EXPECT_EQ(Feed(Empty()), Action::kAbsent);
}

// Versions have 32 bits: after long enough a changed home could look unchanged.
TEST_F(LookupBudget, AnOldConfirmationCountsAsChanged) {
  Start();
  Feed(Listing({1}, 40));
  now_us_ += kConfirmationUsMax + 1;
  ASSERT_EQ(Feed(Empty()), Action::kRead);
  ASSERT_EQ(Feed(Listing({1}, 40)), Action::kRead);
  ASSERT_TRUE(Wants(1)) << "looked for again";
  EXPECT_EQ(stats_.restarts, 1u);
  Feed(Empty());
  ASSERT_TRUE(Wants(0));
  EXPECT_EQ(Feed(Listing({1}, 40)), Action::kAbsent) << "this one is young";
}

TEST_F(LookupBudget, AConfirmationIsAsOldAsItsEnd) {
  Start();
  Feed(Listing({1}, 40));
  Feed(Empty());
  now_us_ += kConfirmationUsMax + 1;  // while the confirmation is on its way
  ASSERT_EQ(Feed(Listing({1}, 40)), Action::kRead);
  EXPECT_TRUE(Wants(1));
}

TEST_F(LookupBudget, ATornFirstReadDoesNotMakeAConfirmationYounger) {
  Start();
  now_us_ += kConfirmationUsMax;
  Feed(Listing({1}, 40));
  Feed(Empty());
  EXPECT_EQ(Feed(Listing({1}, 40)), Action::kAbsent) << "ten seconds are allowed";
}

TEST_F(LookupBudget, AnEverOldConfirmationEndsAtTheServer) {
  Action action = Start();
  Feed(Listing({1}, 40));
  for (uint32_t i = 0; i < 100 && action == Action::kRead; ++i) {
    Feed(Empty());
    now_us_ += kConfirmationUsMax + 1;
    action = Feed(Listing({1}, 40));
  }
  EXPECT_EQ(action, Action::kAskServer);
}

struct Target {
  uint64_t offset;
  uint32_t record_bytes;
};

void PrintTo(const Target& target, std::ostream* out) {
  *out << target.record_bytes << "At" << target.offset;
}

class LookupTarget : public LookupFixture, public ::testing::WithParamInterface<Target> {};

// A sealed bucket that says so is damage, and no READ follows it.
TEST_P(LookupTarget, OutsideTheRegionIsNeverRead) {
  Bucket bucket = Empty();
  bucket.SetReference({hash_, 5, GetParam().offset, GetParam().record_bytes, 0}, kBytes);
  Start();
  EXPECT_EQ(Feed(bucket), Action::kAskServer);
  EXPECT_TRUE(lookup_.suspect());
  EXPECT_EQ(stats_.record_reads, 0u);
}

constexpr uint64_t kRegionEnd = 1 << 20;
constexpr auto kMostBytes = static_cast<uint32_t>(verify::kRecordBytesMax);
INSTANTIATE_TEST_SUITE_P(Targets, LookupTarget,
                         ::testing::Values(Target{kRegionEnd, 48}, Target{kRegionEnd - 40, 48},
                                           Target{kRegionEnd - 48, 49}, Target{kRegionEnd + 8, 48},
                                           Target{~uint64_t{7}, 48}, Target{~uint64_t{0}, 48},
                                           Target{4097, 48}, Target{4100, 48}, Target{4096, 39},
                                           Target{4096, 0}, Target{4096, kMostBytes + 1},
                                           Target{0, kMostBytes},
                                           Target{4096, std::numeric_limits<uint32_t>::max()}));

TEST_F(LookupBudget, TheLastRecordOfTheRegionIsRead) {
  const Image record = RecordOf(key_, "rice", 5);
  const uint64_t offset = kRegionBytes - verify::RoundUpToWord(record.size());
  Start();
  ASSERT_EQ(Feed(ReferenceTo(record, 5, offset)), Action::kRead);
  ASSERT_TRUE(WantsRecord(offset, record.size()));
  EXPECT_EQ(FeedRecord(record), Action::kHit);
}

// The cache is only a hint, also when its memory is damaged.
TEST_F(LookupBudget, ARememberedRecordOutsideTheRegionIsNeverRead) {
  cache_.Remember(hash_, Location::Record(kRegionBytes, 48, 5));
  const Action action = Start();
  EXPECT_TRUE(action == Action::kAskServer || (action == Action::kRead && Wants(0)));
  EXPECT_EQ(stats_.record_reads, 0u);
}

}  // namespace
}  // namespace plov::cuckoo
