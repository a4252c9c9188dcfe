// Lookup, rule R4: locations that the client remembers.
#include <gtest/gtest.h>

#include <cstddef>

#include "tests/cuckoo/lookup_fixture.h"

namespace plov::cuckoo {
namespace {

class LookupKnown : public LookupFixture {
 protected:
  void RememberRecord(const Image& record, uint64_t version, uint64_t offset = kRecordOffset) {
    cache_.Remember(hash_, Location::Record(offset, static_cast<uint32_t>(record.size()), version));
  }
  void RememberBucket(uint8_t way, uint32_t generation = 7) {
    cache_.Remember(hash_, Location::Bucket(way, generation));
  }

  static Image Dead(Image record) {
    record[offsetof(verify::RecordHeader, mask)] &= ~std::byte{verify::kLiveBit};
    return record;
  }

  // What was remembered is gone, and the lookup begins at home.
  void ExpectForgotten() {
    EXPECT_TRUE(Wants(0));
    EXPECT_FALSE(cache_.Find(hash_).has_value());
    EXPECT_EQ(stats_.known_misses, 1u);
    EXPECT_EQ(Feed(Empty()), Action::kAbsent);
  }
};

TEST_F(LookupKnown, ARecordIsOneRead) {
  const Image record = RecordOf(key_, "rice", 5);
  RememberRecord(record, 5);
  ASSERT_EQ(Start(), Action::kRead);
  ASSERT_TRUE(WantsRecord(kRecordOffset, record.size()));
  ASSERT_EQ(FeedRecord(record), Action::kHit);
  EXPECT_EQ(lookup_.item().value, "rice");
  EXPECT_EQ(lookup_.item().version, 5u);
  EXPECT_EQ(stats_.bucket_reads, 0u);
  EXPECT_EQ(stats_.record_reads, 1u);
  EXPECT_EQ(stats_.known_reads, 1u);
  EXPECT_EQ(stats_.known_misses, 0u);
  EXPECT_TRUE(cache_.Find(hash_).has_value());
}

TEST_F(LookupKnown, ARecordThatIsNotLiveIsForgotten) {
  const Image record = RecordOf(key_, "rice", 5);
  RememberRecord(record, 5);
  Start();
  ASSERT_EQ(FeedRecord(Dead(record)), Action::kRead);
  ExpectForgotten();
}

TEST_F(LookupKnown, ARecordOfAnotherVersionIsForgotten) {
  const Image record = RecordOf(key_, "rice", 6);
  RememberRecord(record, 5);
  Start();
  ASSERT_EQ(FeedRecord(record), Action::kRead);
  ExpectForgotten();
}

TEST_F(LookupKnown, ARecordOfAnotherKeyIsForgotten) {
  const Image record = RecordOf("plipf", "rice", 5);
  RememberRecord(record, 5);
  Start();
  ASSERT_EQ(FeedRecord(record), Action::kRead);
  ExpectForgotten();
}

TEST_F(LookupKnown, ATornRecordIsForgottenAndNotReadAgain) {
  Image record = RecordOf(key_, "rice", 5);
  record.back() ^= std::byte{1};
  RememberRecord(record, 5);
  Start();
  ASSERT_EQ(FeedRecord(record), Action::kRead);
  ExpectForgotten();
}

TEST_F(LookupKnown, ABucketIsOneRead) {
  for (uint8_t way = 0; way < 3; ++way) {
    stats_ = {};
    RememberBucket(way);
    ASSERT_EQ(Start(), Action::kRead);
    ASSERT_TRUE(Wants(way));
    ASSERT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
    EXPECT_EQ(stats_.bucket_reads, 1u);
    EXPECT_EQ(stats_.known_reads, 1u);
    EXPECT_TRUE(cache_.Find(hash_).has_value());
  }
}

TEST_F(LookupKnown, ABucketThatHoldsTheKeyByReferenceNowIsStillAHit) {
  const Image record = RecordOf(key_, "much more rice", 9);
  RememberBucket(1);
  Start();
  ASSERT_EQ(Feed(ReferenceTo(record, 9)), Action::kRead);
  ASSERT_EQ(FeedRecord(record), Action::kHit);
  ASSERT_TRUE(cache_.Find(hash_).has_value());
  EXPECT_TRUE(cache_.Find(hash_)->is_record);
}

// Not there is not absent: only the home knows.
TEST_F(LookupKnown, ABucketWithoutTheKeyIsForgotten) {
  const Image other = RecordOf("plipf", "item", 5);
  for (const Bucket& bucket : {Empty(), Inline("another", "item"), Overflowing()}) {
    stats_ = {};
    RememberBucket(1);
    Start();
    ASSERT_EQ(Feed(bucket), Action::kRead);
    ExpectForgotten();
  }
  stats_ = {};
  RememberBucket(2);
  Start();
  ASSERT_EQ(Feed(ReferenceTo(other, 5)), Action::kRead);
  ASSERT_EQ(FeedRecord(other), Action::kRead) << "another key with the same hash";
  ExpectForgotten();
}

TEST_F(LookupKnown, ARememberedHomeWithoutTheKeyIsReadAgain) {
  RememberBucket(0);
  Start();
  ASSERT_EQ(Feed(Empty()), Action::kRead);
  ExpectForgotten();
}

TEST_F(LookupKnown, ATornBucketIsForgotten) {
  RememberBucket(1);
  Start();
  ASSERT_EQ(FeedTorn(), Action::kRead);
  ExpectForgotten();
}

TEST_F(LookupKnown, ABucketOfAForgottenGenerationIsForgottenWithoutARead) {
  RememberBucket(1, 6);
  ASSERT_EQ(Start(), Action::kRead);
  EXPECT_EQ(stats_.bucket_reads, 1u);
  ExpectForgotten();
}

TEST_F(LookupKnown, ABucketOfTheNextTableIsReadThere) {
  AddNextTable();
  cache_.Remember(hash_, Location::Bucket(2, 8));
  ASSERT_EQ(Start(), Action::kRead);
  ASSERT_TRUE(Wants(2, 1));
  ASSERT_EQ(Feed(Empty()), Action::kRead);
  EXPECT_TRUE(Wants(0, 0)) << "and the lookup begins in the first table";
}

TEST_F(LookupKnown, ARetiredBucketMeansReadTheSuperblock) {
  Bucket retired;
  retired.Retire(kBytes);
  RememberBucket(1);
  Start();
  EXPECT_EQ(Feed(retired), Action::kRefresh);
}

TEST_F(LookupKnown, HitsAreRemembered) {
  const Image record = RecordOf(key_, "rice", 5);
  Start();
  Feed(ReferenceTo(record, 5));
  ASSERT_EQ(FeedRecord(record), Action::kHit);
  ASSERT_TRUE(cache_.Find(hash_).has_value());
  EXPECT_EQ(cache_.Find(hash_)->stamp, 5u);
  EXPECT_EQ(cache_.Find(hash_)->offset, kRecordOffset);
  EXPECT_EQ(cache_.Find(hash_)->bytes, record.size());

  cache_.Clear();
  Start();
  Feed(Listing({2}));
  ASSERT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
  ASSERT_EQ(Start(), Action::kRead);
  EXPECT_TRUE(Wants(2));
}

TEST_F(LookupKnown, AbsenceIsNeverRemembered) {
  Start();
  ASSERT_EQ(Feed(Empty()), Action::kAbsent);
  Start();
  Feed(Listing({1}));
  Feed(Empty());
  ASSERT_EQ(Feed(Listing({1})), Action::kAbsent);
  EXPECT_FALSE(cache_.Find(hash_).has_value());
}

}  // namespace
}  // namespace plov::cuckoo
