// Lookup, rule R5, bucket by bucket: which READ says that a key may have travelled.
#include <gtest/gtest.h>

#include "tests/cuckoo/lookup_fixture.h"

namespace plov::cuckoo {
namespace {

class LookupGrowth : public LookupFixture {
 protected:
  LookupGrowth() { AddNextTable(); }

  static Bucket Retired() {
    Bucket retired;
    retired.Retire(kBytes);
    return retired;
  }
};

// The flag is that of the READ whose version was confirmed, not that of an earlier one.
TEST_F(LookupGrowth, ForwardThatCameWithANewVersionIsHeededAfterItsConfirmation) {
  Start();
  Feed(Listing({1}, 40));
  Feed(Empty());
  ASSERT_EQ(Feed(Forwarding(Listing({1}, 41))), Action::kRead);
  ASSERT_TRUE(Wants(1)) << "not confirmed yet";
  Feed(Empty());
  ASSERT_TRUE(Wants(0));
  ASSERT_EQ(Feed(Forwarding(Listing({1}, 41))), Action::kRead);
  ASSERT_TRUE(Wants(0, 1));
  EXPECT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
}

TEST_F(LookupGrowth, AMissInTheNextTableIsConfirmedThere) {
  Start();
  Feed(Forwarding(Empty()));
  ASSERT_TRUE(Wants(0, 1));
  Feed(Listing({1}, 3));
  ASSERT_TRUE(Wants(1, 1));
  Feed(Empty());
  ASSERT_TRUE(Wants(0, 1));
  ASSERT_EQ(Feed(Listing({2}, 4)), Action::kRead) << "changed meanwhile";
  ASSERT_TRUE(Wants(2, 1));
  Feed(Empty());
  ASSERT_TRUE(Wants(0, 1));
  EXPECT_EQ(Feed(Listing({2}, 4)), Action::kAbsent);
}

// The age of a confirmation counts from the first READ in that table.
TEST_F(LookupGrowth, AConfirmationInTheNextTableAgesForItself) {
  Start();
  now_us_ += kConfirmationUsMax;
  Feed(Forwarding(Empty()));
  Feed(Listing({1}, 3));
  Feed(Empty());
  ASSERT_TRUE(Wants(0, 1));
  now_us_ += kConfirmationUsMax;
  EXPECT_EQ(Feed(Listing({1}, 3)), Action::kAbsent);
}

TEST_F(LookupGrowth, AnOldConfirmationInTheNextTableCountsAsChanged) {
  Start();
  Feed(Forwarding(Empty()));
  Feed(Listing({1}, 3));
  Feed(Empty());
  now_us_ += kConfirmationUsMax + 1;
  EXPECT_EQ(Feed(Listing({1}, 3)), Action::kRead);
  EXPECT_TRUE(Wants(1, 1));
}

// Our view is old: the next table is the first by now, and grows itself.
TEST_F(LookupGrowth, ForwardInTheNextTableMeansReadTheSuperblock) {
  Start();
  Feed(Forwarding(Empty()));
  Feed(Forwarding(Listing({1}, 3)));
  Feed(Empty());
  ASSERT_TRUE(Wants(0, 1)) << "a miss that is not confirmed is none";
  EXPECT_EQ(Feed(Forwarding(Listing({1}, 3))), Action::kRefresh);
}

TEST_F(LookupGrowth, RetiredAnywhereInTheNextTableMeansReadTheSuperblock) {
  Start();
  Feed(Forwarding(Empty()));
  EXPECT_EQ(Feed(Retired()), Action::kRefresh);
  Start();
  Feed(Forwarding(Empty()));
  Feed(Listing({1}));
  EXPECT_EQ(Feed(Retired()), Action::kRefresh);
  Start();
  Feed(Forwarding(Empty()));
  Feed(Listing({1}));
  Feed(Empty());
  EXPECT_EQ(Feed(Retired()), Action::kRefresh);
}

// A retired bucket keeps the flags it had; they mean nothing any more.
TEST_F(LookupGrowth, RetiredIsHeededBeforeForward) {
  Start();
  EXPECT_EQ(Feed(Forwarding(Retired())), Action::kRefresh);
}

TEST_F(LookupGrowth, AKeyFoundUnderForwardAfterItsWaysIsAHitInTheOldTable) {
  Start();
  Feed(Forwarding(Listing({2})));
  ASSERT_TRUE(Wants(2));
  EXPECT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
}

// Begun again under the superblock that lists only the next table.
TEST_F(LookupGrowth, ALocationOfTheNextTableHoldsWhenThatIsTheFirst) {
  Start();
  Feed(Forwarding(Empty()));
  ASSERT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
  view_.tables = {view_.tables[1], Geometry{}};
  ASSERT_EQ(Start(), Action::kRead);
  ASSERT_TRUE(Wants(0, 0));
  EXPECT_EQ(stats_.known_reads, 1);
  EXPECT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
}

TEST_F(LookupGrowth, ALocationOfARetiredTableIsForgottenWithoutARead) {
  Start();
  ASSERT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
  view_.tables = {view_.tables[1], Geometry{}};
  stats_ = {};
  ASSERT_EQ(Start(), Action::kRead);
  ASSERT_TRUE(Wants(0, 0));
  EXPECT_EQ(stats_.bucket_reads, 1);
  EXPECT_EQ(stats_.known_misses, 1);
  EXPECT_FALSE(cache_.Find(hash_).has_value());
}

// What is remembered of a key that has travelled leads to the old table first, then after it.
TEST_F(LookupGrowth, ALocationThatAKeyHasLeftIsForgottenAndTheKeyFound) {
  Start();
  ASSERT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
  Start();
  ASSERT_EQ(Feed(Forwarding(Empty())), Action::kRead);
  ASSERT_TRUE(Wants(0, 0)) << "a remembered bucket is no home";
  Feed(Forwarding(Empty()));
  ASSERT_TRUE(Wants(0, 1));
  EXPECT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
}

}  // namespace
}  // namespace plov::cuckoo
