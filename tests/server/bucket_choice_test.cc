// The bucket size that a growth chooses, and what becomes of items whose buckets become wider.
#include "server/bucket_choice.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/server/store_world.h"

namespace plov::server {
namespace {

StoreOptions Growing() {
  StoreOptions options = StoreWorld::SmallOptions();
  options.memory_bytes = 64 * kMiB;
  options.bucket_bytes = 0;
  options.grows = true;
  return options;
}

std::string KeyOf(uint64_t i) { return "key" + std::to_string(100'000 + i); }

class Widening : public ::testing::Test {
 protected:
  // Items of one size, until the table has grown and nothing is left to do.
  void Fill(size_t value_bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      const std::string key = KeyOf(i);
      const std::string value(value_bytes, static_cast<char>('a' + i % 26));
      const Extras extras{.flags = i % 5 == 0 ? 7u : 0u,
                          .ttl_seconds = i % 7 == 0 ? 100u : 0u,
                          .expected_version = {}};
      const WriteReply reply = world_.Put(key, value, extras);
      ASSERT_EQ(reply.status, Code::kOk) << i;
      model_[key] = {value, reply.version, extras.flags,
                     ExpiryAfter(world_.now_us, extras.ttl_seconds)};
    }
    while (world_.store().OnIdle()) world_.store().growth().OnConfirmed(UINT64_MAX);
    world_.Refresh();
    ASSERT_GT(world_.store().growth().growths(), 0);
  }
  uint32_t bucket_bytes() const { return world_.geometry().bucket_bytes; }
  size_t record_bytes() { return world_.store().records().allocated_bytes(); }

  StoreWorld world_{Growing()};
  Model model_;
};

TEST_F(Widening, ItemsThatFitAWideBucketAndNoNarrowOneAllEndInline) {
  Fill(64, 3000);
  EXPECT_EQ(bucket_bytes(), 128);
  EXPECT_EQ(record_bytes(), 0) << "with those that were stored before, or during a growth";
  EXPECT_TRUE(Holds(&world_, model_));
}

TEST_F(Widening, TinyItemsStayInNarrowBuckets) {
  Fill(16, 3000);
  EXPECT_EQ(bucket_bytes(), 64);
  EXPECT_TRUE(Holds(&world_, model_));
}

TEST_F(Widening, LargeItemsStayInRecordsOfNarrowBuckets) {
  Fill(300, 3000);
  EXPECT_EQ(bucket_bytes(), 64);
  EXPECT_TRUE(Holds(&world_, model_));
}

// What does not fit stays in its record, and what was narrow stays inline.
TEST_F(Widening, OfAMixtureEachFindsItsForm) {
  for (uint64_t i = 0; i < 40; ++i) {
    const size_t bytes = i % 2 == 0 ? 8 : 500;
    const std::string key = "other" + std::to_string(i);
    const std::string value(bytes, 'o');
    model_[key] = {value, world_.Put(key, value).version, 0, 0};
  }
  Fill(72, 3000);
  EXPECT_EQ(bucket_bytes(), 128);
  EXPECT_EQ(record_bytes(), 20 * RecordArea::PlacedBytes(verify::RecordBytes(7, 500)));
  EXPECT_TRUE(Holds(&world_, model_));
}

TEST_F(Widening, ASettledSizeIsKept) {
  StoreOptions options = Growing();
  options.bucket_bytes = 64;
  world_ = StoreWorld(options);
  Fill(64, 2000);
  EXPECT_EQ(bucket_bytes(), 64);
  EXPECT_EQ(world_.store().growth().choice().wide.item_bytes, 0);
}

// W11: also those beyond what a narrow bucket has.
TEST_F(Widening, AllWordsOfAWideBucketLieUnderTheMask) {
  ASSERT_EQ(world_.Put("tiny", "t").status, Code::kOk);
  Fill(64, 900);
  ASSERT_EQ(bucket_bytes(), 128);
  const verify::Bucket bucket = world_.BucketAt(world_.IndexOf("tiny").value()).value();
  ASSERT_EQ(bucket.kind(), verify::BucketKind::kInline);
  for (size_t i = 5; i < verify::kBucketWordsMax; ++i)
    EXPECT_EQ(bucket.words()[i], bucket.words()[5]);
  EXPECT_NE(bucket.words()[5], 0);
}

// Damage must be seen, and an inline item has a seal of its own.
TEST_F(Widening, ADamagedRecordStaysOne) {
  ASSERT_EQ(world_.Put("damaged", std::string(64, 'd')).status, Code::kOk);
  world_.Flip(world_.ReferenceOf("damaged").offset + verify::kRecordHeaderBytes + 20);
  Fill(64, 900);
  ASSERT_EQ(bucket_bytes(), 128);
  EXPECT_EQ(world_.ReferenceOf("damaged").record_bytes, verify::RecordBytes(7, 64));
  EXPECT_FALSE(OneSidedReader(&world_).Get("damaged").hit());
}

// A reader that remembers the record must not take it for current once the inline item may change.
TEST_F(Widening, ARecordThatBecomesInlineIsNotLive) {
  ASSERT_EQ(world_.Put("remembered", std::string(64, 'r')).status, Code::kOk);
  const verify::Reference reference = world_.ReferenceOf("remembered");
  ASSERT_TRUE(world_.IsLiveAt(reference.offset, reference.version));
  Fill(64, 900);
  ASSERT_EQ(bucket_bytes(), 128);
  EXPECT_FALSE(world_.IsLiveAt(reference.offset, reference.version));
}

// A client may be READing it.
TEST_F(Widening, AHeldRecordKeepsItsMemory) {
  ASSERT_EQ(world_.Put("held", std::string(64, 'h')).status, Code::kOk);
  const verify::Reference reference = world_.ReferenceOf("held");
  world_.store().Hold(reference.offset, reference.record_bytes);
  Fill(64, 3000);
  ASSERT_EQ(bucket_bytes(), 128);
  const auto record = verify::CheckRecord(
      {world_.memory() + reference.offset, reference.record_bytes}, world_.view().record_seed);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->value(), std::string(64, 'h'));
  world_.store().Release(reference.offset);
  EXPECT_EQ(record_bytes(), 0);
}

TEST(BucketChoice, NothingIsChosenForAnEmptyTable) {
  std::array<uint64_t, 8 * verify::kBucketBytesMin / verify::kWordBytes> words{};
  const cuckoo::Geometry geometry{.generation = 1, .bucket_count = 8};
  cuckoo::Rewrites rewrites;
  auto table =
      cuckoo::Table::Create(reinterpret_cast<std::byte*>(words.data()), geometry, 1, &rewrites);
  ASSERT_TRUE(table);
  table->Format();
  EXPECT_FALSE(ChooseBuckets(&*table).is_wide());
}

}  // namespace
}  // namespace plov::server
