// Lookup, rules R1 to R3 and R5: where a key is looked for, and when it is absent.
#include "cuckoo/lookup.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "tests/cuckoo/lookup_fixture.h"

namespace plov::cuckoo {
namespace {

class LookupTest : public LookupFixture {
 protected:
  void ExpectHit(std::string_view value, uint64_t version) {
    EXPECT_EQ(lookup_.item().key, key_);
    EXPECT_EQ(lookup_.item().value, value);
    EXPECT_EQ(lookup_.item().version, version);
  }

  void ExpectReads(uint64_t buckets, uint64_t records) {
    EXPECT_EQ(stats_.bucket_reads, buckets);
    EXPECT_EQ(stats_.record_reads, records);
  }
};

TEST_F(LookupTest, AnInlineItemAtHomeIsOneRead) {
  ASSERT_EQ(Start(), Action::kRead);
  ASSERT_TRUE(Wants(0));
  ASSERT_EQ(Feed(Inline(key_, "rice", 5)), Action::kHit);
  ExpectHit("rice", 5);
  ExpectReads(1, 0);
  EXPECT_EQ(lookup_.key(), key_);
  EXPECT_EQ(lookup_.hash(), hash_);
}

TEST_F(LookupTest, AReferenceAtHomeIsTwoReads) {
  const Image record = RecordOf(key_, "rice", 5);
  Start();
  ASSERT_EQ(Feed(ReferenceTo(record, 5)), Action::kRead);
  ASSERT_TRUE(WantsRecord(kRecordOffset, record.size()));
  ASSERT_EQ(FeedRecord(record), Action::kHit);
  ExpectHit("rice", 5);
  ExpectReads(1, 1);
}

TEST_F(LookupTest, ARecordInTwoBuffersIsAHit) {
  Image record = RecordOf(key_, "rice", 5);
  const size_t head_bytes = verify::kRecordHeaderBytes + key_.size();
  Start();
  ASSERT_EQ(Feed(ReferenceTo(record, 5)), Action::kRead);
  const std::span<std::byte> bytes(record);
  ASSERT_EQ(lookup_.FeedRecord(bytes.first(head_bytes), bytes.subspan(head_bytes)), Action::kHit);
  ExpectHit("rice", 5);
}

// R1: the bucket decided; that the record was replaced since does not matter.
TEST_F(LookupTest, LiveDoesNotMatterBehindAReference) {
  Image record = RecordOf(key_, "rice", 5);
  record[offsetof(verify::RecordHeader, mask)] &= ~std::byte{verify::kLiveBit};
  Start();
  Feed(ReferenceTo(record, 5));
  EXPECT_EQ(FeedRecord(record), Action::kHit);
}

// R1: whole, but not the bytes that the bucket meant. Never READ the record again, but the bucket.
TEST_F(LookupTest, ARecordOfAnotherVersionLeadsBackToTheHome) {
  const Image record = RecordOf(key_, "rice", 5), newer = RecordOf(key_, "plov", 6);
  Start();
  Feed(ReferenceTo(record, 5));
  ASSERT_EQ(FeedRecord(newer), Action::kRead);
  ASSERT_TRUE(Wants(0));
  ASSERT_EQ(Feed(ReferenceTo(newer, 6)), Action::kRead);
  ASSERT_EQ(FeedRecord(newer), Action::kHit);
  ExpectHit("plov", 6);
  EXPECT_EQ(stats_.torn_records, 1u);
}

TEST_F(LookupTest, ATornRecordLeadsBackToTheHome) {
  Image record = RecordOf(key_, "rice", 5);
  record.back() ^= std::byte{1};
  Start();
  Feed(Listing({2}));
  ASSERT_TRUE(Wants(2));
  Feed(ReferenceTo(record, 5));
  ASSERT_EQ(FeedRecord(record), Action::kRead);
  EXPECT_TRUE(Wants(0));
}

TEST_F(LookupTest, ADisplacedItemIsFoundWhereItIsListed) {
  for (const uint32_t way : {1u, 2u}) {
    cache_.Clear();
    stats_ = {};
    Start();
    ASSERT_EQ(Feed(Listing({way})), Action::kRead);
    ASSERT_TRUE(Wants(way));
    ASSERT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
    ExpectReads(2, 0);
  }
}

TEST_F(LookupTest, EveryDirectoryEntryIsHeeded) {
  for (size_t index = 0; index < verify::kDirectoryEntries; ++index) {
    Bucket home = Inline("another", "item");
    for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
      home.set_entry(i, {1, FingerprintOf(hash_) ^ 1});
    }
    home.set_entry(index, {2, FingerprintOf(hash_)});
    Start();
    ASSERT_EQ(Feed(home), Action::kRead);
    EXPECT_TRUE(Wants(2)) << index;
  }
}

TEST_F(LookupTest, AMissIsOneReadWhenNothingMatchesIsListed) {
  Bucket others = Inline("another", "item");
  others.set_entry(0, {1, FingerprintOf(hash_) ^ 1});
  others.set_entry(1, {2, FingerprintOf(hash_) ^ 64});
  for (const Bucket& home : {Empty(), Inline("another", "item"), others}) {
    stats_ = {};
    Start();
    ASSERT_EQ(Feed(home), Action::kAbsent);
    ExpectReads(1, 0);
  }
}

// An entry {way 0, fingerprint 0} is a free one, also for a key whose fingerprint is 0.
TEST_F(LookupTest, AFreeEntryListsNobody) {
  ASSERT_EQ(StartWith(hash_ & ~uint64_t{verify::kFingerprintMask}), Action::kRead);
  EXPECT_EQ(Feed(Empty()), Action::kAbsent);
}

TEST_F(LookupTest, AMissUnderAForeignFingerprintIsConfirmed) {
  Start();
  Feed(Listing({1}, 40));
  ASSERT_TRUE(Wants(1));
  ASSERT_EQ(Feed(Inline("another", "item")), Action::kRead);
  ASSERT_TRUE(Wants(0)) << "a miss after another READ is confirmed at home";
  ASSERT_EQ(Feed(Listing({1}, 40)), Action::kAbsent);
  ExpectReads(3, 0);
  EXPECT_EQ(stats_.confirmations, 1u);
  EXPECT_EQ(stats_.restarts, 0u);
}

// R13: the key may have come to the way and gone under one and the same home.
TEST_F(LookupTest, AnAbsenceNamesTheVersionsOfTheWaysThatTheHomeLists) {
  using Ways = std::array<uint32_t, kWays - 1>;
  Start();
  Feed(Listing({2}, 40));
  ASSERT_TRUE(Wants(2));
  Feed(Empty(7));
  ASSERT_EQ(Feed(Listing({2}, 40)), Action::kAbsent);
  EXPECT_EQ(lookup_.absence().generation, 7u);
  EXPECT_EQ(lookup_.absence().home_version, 40u);
  EXPECT_EQ(lookup_.absence().way_versions, (Ways{0, 7}));
  Start();
  Feed(Listing({2}, 40));
  Feed(Empty(9));
  ASSERT_EQ(Feed(Listing({2}, 40)), Action::kAbsent);
  EXPECT_EQ(lookup_.absence().way_versions, (Ways{0, 9}));
}

TEST_F(LookupTest, AnAbsenceNamesNoWayThatTheLastHomeDoesNotList) {
  Start();
  Feed(Listing({1}, 40));
  Feed(Empty(7));
  ASSERT_EQ(Feed(Empty(41)), Action::kAbsent);
  EXPECT_EQ(lookup_.absence().home_version, 41u);
  EXPECT_EQ(lookup_.absence().way_versions, (std::array<uint32_t, kWays - 1>{}));
}

TEST_F(LookupTest, OverflowLooksAtBothWays) {
  Start();
  ASSERT_EQ(Feed(Overflowing(3)), Action::kRead);
  ASSERT_TRUE(Wants(1));
  ASSERT_EQ(Feed(Empty()), Action::kRead);
  ASSERT_TRUE(Wants(2));
  ASSERT_EQ(Feed(Empty()), Action::kRead);
  ASSERT_TRUE(Wants(0));
  ASSERT_EQ(Feed(Overflowing(3)), Action::kAbsent);
  ExpectReads(4, 0);
}

TEST_F(LookupTest, OverflowFindsAnUnlistedKeyInTheLastWay) {
  Start();
  Feed(Overflowing());
  Feed(Empty());
  ASSERT_TRUE(Wants(2));
  EXPECT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
}

TEST_F(LookupTest, AnEntryAndOverflowLookAtNoWayTwice) {
  Bucket home = Listing({1, 1, 2});
  home.set_overflow(true);
  Start();
  Feed(home);
  Feed(Empty());
  ASSERT_TRUE(Wants(2));
  Feed(Empty());
  EXPECT_TRUE(Wants(0));
}

// R3: what was not there may have moved behind the reader's back.
TEST_F(LookupTest, AChangedHomeStartsTheLookupOver) {
  Start();
  Feed(Listing({1}, 40));
  Feed(Empty());
  ASSERT_TRUE(Wants(0));
  ASSERT_EQ(Feed(Listing({2}, 41)), Action::kRead);
  ASSERT_TRUE(Wants(2)) << "the confirmation is the first READ of the new look-up";
  EXPECT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
  EXPECT_EQ(stats_.restarts, 1u);
}

TEST_F(LookupTest, AVersionAloneStartsTheLookupOver) {
  Start();
  Feed(Listing({1}, 40));
  Feed(Empty());
  ASSERT_EQ(Feed(Listing({1}, 41)), Action::kRead);
  ASSERT_TRUE(Wants(1));
  Feed(Empty());
  ASSERT_TRUE(Wants(0));
  EXPECT_EQ(Feed(Listing({1}, 41)), Action::kAbsent);
}

TEST_F(LookupTest, AConfirmationThatHoldsTheKeyIsAHit) {
  Start();
  Feed(Listing({1}, 40));
  Feed(Empty());
  ASSERT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
  ExpectHit("rice", 5);
}

TEST_F(LookupTest, AChangedHomeThatListsNothingIsAMiss) {
  Start();
  Feed(Listing({1}, 40));
  Feed(Empty());
  EXPECT_EQ(Feed(Empty(41)), Action::kAbsent);
  ExpectReads(3, 0);
}

TEST_F(LookupTest, APrefixOfTheKeyIsAnotherKey) {
  for (const char* other : {"pila", "pilaff", "pilaF", ""}) {
    Start();
    EXPECT_EQ(Feed(Inline(other, "item")), Action::kAbsent) << other;
  }
}

// Another key with the same 64-bit hash: its record says whose it is.
TEST_F(LookupTest, ARecordOfAnotherKeyWithTheSameHashIsNotTheKeys) {
  const Image other = RecordOf("plipf", "item", 5);
  Start();
  ASSERT_EQ(Feed(ReferenceTo(other, 5)), Action::kRead);
  ASSERT_EQ(FeedRecord(other), Action::kAbsent);

  Bucket home = ReferenceTo(other, 5);
  home.set_entry(0, {1, FingerprintOf(hash_)});
  Start();
  Feed(home);
  ASSERT_EQ(FeedRecord(other), Action::kRead) << "and the search goes on";
  ASSERT_TRUE(Wants(1));
  Feed(ReferenceTo(other, 5));
  ASSERT_EQ(FeedRecord(other), Action::kRead);
  ASSERT_TRUE(Wants(0));
  Feed(home);
  EXPECT_EQ(FeedRecord(other), Action::kAbsent);
}

// R5.
TEST_F(LookupTest, RetiredMeansReadTheSuperblock) {
  Bucket retired;
  retired.Retire(kBytes);
  Start();
  EXPECT_EQ(Feed(retired), Action::kRefresh);
  Start();
  Feed(Listing({1}));
  EXPECT_EQ(Feed(retired), Action::kRefresh);
  Start();
  Feed(Listing({1}));
  Feed(Empty());
  EXPECT_EQ(Feed(retired), Action::kRefresh);
}

TEST_F(LookupTest, ForwardDoesNotHinderAHit) {
  AddNextTable();
  Start();
  EXPECT_EQ(Feed(Forwarding(Inline(key_, "rice"))), Action::kHit);
  ExpectReads(1, 0);
}

TEST_F(LookupTest, AMissUnderForwardGoesOnInTheNextTable) {
  AddNextTable();
  Start();
  ASSERT_EQ(Feed(Forwarding(Empty())), Action::kRead);
  ASSERT_TRUE(Wants(0, 1));
  ASSERT_EQ(Feed(Listing({2})), Action::kRead);
  ASSERT_TRUE(Wants(2, 1));
  ASSERT_EQ(Feed(Inline(key_, "rice")), Action::kHit);
  ExpectReads(3, 0);
}

// The next table may be known long before a key's home has moved; it must not cost a READ.
TEST_F(LookupTest, AMissWithoutForwardDoesNotAskTheNextTable) {
  AddNextTable();
  Start();
  EXPECT_EQ(Feed(Empty()), Action::kAbsent);
  ExpectReads(1, 0);
}

TEST_F(LookupTest, AConfirmedMissUnderForwardGoesOnInTheNextTable) {
  AddNextTable();
  Start();
  Feed(Forwarding(Listing({1})));
  Feed(Empty());
  ASSERT_TRUE(Wants(0)) << "a miss that is not confirmed is none";
  ASSERT_EQ(Feed(Forwarding(Listing({1}))), Action::kRead);
  ASSERT_TRUE(Wants(0, 1));
  EXPECT_EQ(Feed(Empty()), Action::kAbsent);
}

TEST_F(LookupTest, ForwardSetMeanwhileIsHeeded) {
  AddNextTable();
  Start();
  Feed(Listing({1}, 40));
  Feed(Empty());
  ASSERT_EQ(Feed(Forwarding(Empty(41))), Action::kRead);
  EXPECT_TRUE(Wants(0, 1));
}

TEST_F(LookupTest, ATornRecordOfTheNextTableLeadsBackToTheFirst) {
  AddNextTable();
  Image record = RecordOf(key_, "rice", 5);
  record.back() ^= std::byte{1};
  Start();
  Feed(Forwarding(Empty()));
  Feed(ReferenceTo(record, 5));
  ASSERT_EQ(FeedRecord(record), Action::kRead);
  EXPECT_TRUE(Wants(0, 0));
}

TEST_F(LookupTest, ForwardToAnUnknownTableMeansReadTheSuperblock) {
  Start();
  EXPECT_EQ(Feed(Forwarding(Empty())), Action::kRefresh);
  AddNextTable();
  Start();
  Feed(Forwarding(Empty()));
  EXPECT_EQ(Feed(Forwarding(Empty())), Action::kRefresh) << "a third generation";
}

TEST_F(LookupTest, ABucketOfTheOtherTableIsTorn) {
  AddNextTable();
  Start();
  Bucket bucket = Inline(key_, "rice");
  bucket.Seal(kBytes, view_.tables[1].SeedOf(IndexOf(0, 1)));
  ASSERT_EQ(FeedRaw(bucket), Action::kRead);
  EXPECT_TRUE(Wants(0));
  bucket.Seal(kBytes, view_.tables[0].SeedOf(IndexOf(1)));
  ASSERT_EQ(FeedRaw(bucket), Action::kRead);
  EXPECT_TRUE(Wants(0)) << "the right table, but another bucket";
  EXPECT_EQ(stats_.torn_buckets, 2u);
}

}  // namespace
}  // namespace plov::cuckoo
