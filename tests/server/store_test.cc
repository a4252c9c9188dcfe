// The store's operations, one by one: replies, and what a client then finds in the region.
#include "server/store.h"

#include <gtest/gtest.h>

#include "tests/server/store_world.h"

namespace plov::server {
namespace {

// Every property holds for items in buckets and for items in records.
class StoreOf : public ::testing::TestWithParam<size_t> {
 protected:
  std::string Value(uint64_t seed) const {
    return GetParam() < 20 ? InlineValue(seed) : RecordValue(seed, GetParam());
  }

  StoreWorld world;
  OneSidedReader reader{&world};
};

INSTANTIATE_TEST_SUITE_P(Store, StoreOf, ::testing::Values(8, 200, 100'000),
                         [](const auto& size) { return "Value" + std::to_string(size.param); });

TEST_P(StoreOf, PutStoresAndSaysTheVersion) {
  const WriteReply reply = world.Put("key", Value(1), {.flags = 77});
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_NE(reply.version, 0u);
  EXPECT_EQ(reader.Get("key").item, (Stored{Value(1), reply.version, 77, 0}));
  EXPECT_TRUE(Holds(&world, {{"key", {Value(1), reply.version, 77, 0}}}));
}

TEST_P(StoreOf, PutReplacesWhatIsThere) {
  world.Put("key", Value(1), {.flags = 1});
  const WriteReply reply = world.Put("key", Value(2));
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_TRUE(Holds(&world, {{"key", {Value(2), reply.version, 0, 0}}}));
}

TEST_P(StoreOf, AddStoresOnlyWhereNothingIs) {
  const WriteReply first = world.Add("key", Value(1));
  EXPECT_EQ(first.status, Code::kOk);
  const WriteReply second = world.Add("key", Value(2));
  EXPECT_EQ(second.status, Code::kExists);
  EXPECT_EQ(second.version, first.version) << "it tells what is there";
  EXPECT_TRUE(Holds(&world, {{"key", {Value(1), first.version}}}));
}

TEST_P(StoreOf, ReplaceStoresOnlyWhereSomethingIs) {
  EXPECT_EQ(world.Replace("key", Value(1)).status, Code::kNotFound);
  EXPECT_TRUE(Holds(&world, {}));
  world.Put("key", Value(2));
  const WriteReply reply = world.Replace("key", Value(3));
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_TRUE(Holds(&world, {{"key", {Value(3), reply.version}}}));
}

TEST_P(StoreOf, DeleteRemovesAndSaysWhichVersion) {
  EXPECT_EQ(world.Delete("key").status, Code::kNotFound);
  const uint64_t version = world.Put("key", Value(1)).version;
  const WriteReply reply = world.Delete("key");
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_EQ(reply.version, version);
  EXPECT_TRUE(reader.Get("key").absent());
  EXPECT_TRUE(Holds(&world, {}));
  EXPECT_EQ(world.store().records().allocated_bytes(), 0u);
  EXPECT_EQ(world.Delete("key").status, Code::kNotFound);
}

TEST_P(StoreOf, ConditionalPutNeedsTheVersion) {
  EXPECT_EQ(world.Put("key", Value(1), {.expected_version = 1}).status, Code::kNotFound);
  const uint64_t version = world.Put("key", Value(1)).version;
  for (const uint64_t wrong : {uint64_t{0}, version - 1, version + 1}) {
    const WriteReply reply = world.Put("key", Value(2), {.expected_version = wrong});
    EXPECT_EQ(reply.status, Code::kVersionMismatch);
    EXPECT_EQ(reply.version, version) << "it tells the current one";
  }
  EXPECT_TRUE(Holds(&world, {{"key", {Value(1), version}}}));
  const WriteReply reply = world.Put("key", Value(3), {.expected_version = version});
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_TRUE(Holds(&world, {{"key", {Value(3), reply.version}}}));
}

TEST_P(StoreOf, ConditionalDeleteNeedsTheVersion) {
  EXPECT_EQ(world.Delete("key", {.expected_version = 1}).status, Code::kNotFound);
  const uint64_t version = world.Put("key", Value(1)).version;
  EXPECT_EQ(world.Delete("key", {.expected_version = version + 1}).status, Code::kVersionMismatch);
  EXPECT_TRUE(Holds(&world, {{"key", {Value(1), version}}}));
  EXPECT_EQ(world.Delete("key", {.expected_version = version}).status, Code::kOk);
  EXPECT_TRUE(Holds(&world, {}));
}

TEST_P(StoreOf, ExpiredItemIsAbsentForEveryOperation) {
  const auto put = [&] { return world.Put("key", Value(1), {.ttl_seconds = 10}).version; };
  const uint64_t version = put();
  world.now_us = kStartUs + 10'000'000;
  EXPECT_EQ(world.store().Get("key", world.now_us).error(), Code::kNotFound);
  EXPECT_EQ(world.Replace("key", Value(2)).status, Code::kNotFound);
  EXPECT_EQ(world.Put("key", Value(2), {.expected_version = version}).status, Code::kNotFound);
  EXPECT_EQ(world.Delete("key", {.expected_version = version}).status, Code::kNotFound);
  EXPECT_EQ(world.Delete("key").status, Code::kNotFound);
  put();
  world.now_us += 10'000'000;
  const WriteReply reply = world.Add("key", Value(3));
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_TRUE(Holds(&world, {{"key", {Value(3), reply.version}}}));
}

TEST_P(StoreOf, ItemLivesUntilTheSecondOfItsExpiry) {
  world.Put("key", Value(1), {.ttl_seconds = 10});
  world.now_us = kStartUs + 9'999'999;
  EXPECT_EQ(world.Add("key", Value(2)).status, Code::kExists);
  EXPECT_TRUE(world.store().Get("key", world.now_us).has_value());
  EXPECT_EQ(reader.Get("key").item.expiry, kStartSeconds + 10);
}

TEST_P(StoreOf, GetByMessageSaysWhatAReaderFinds) {
  const uint64_t version =
      world.Put("key", Value(1), {.flags = 3, .ttl_seconds = UINT32_MAX}).version;
  const auto hit = world.store().Get("key", world.now_us);
  ASSERT_TRUE(hit.has_value());
  const Stored stored{hit->item.value(), hit->item.version(), hit->item.flags(),
                      hit->item.expiry()};
  EXPECT_EQ(stored, (Stored{Value(1), version, 3, UINT32_MAX}));
  EXPECT_EQ(reader.Get("key").item, stored);
  if (GetParam() < 20) {
    EXPECT_EQ(hit->record_bytes, 0u);
  } else {
    EXPECT_EQ(hit->record_offset, world.ReferenceOf("key").offset);
    EXPECT_EQ(hit->record_bytes, world.ReferenceOf("key").record_bytes);
  }
  EXPECT_EQ(world.store().Get("other", world.now_us).error(), Code::kNotFound);
  EXPECT_EQ(world.store().stats().fallback_gets, 2u);
}

TEST_P(StoreOf, RefusedWriteUsesNoMemory) {
  world.Put("key", Value(1));
  const size_t allocated = world.store().records().allocated_bytes();
  world.Add("key", Value(2));
  world.Replace("other", Value(2));
  world.Put("key", Value(2), {.expected_version = 0});
  EXPECT_EQ(world.store().records().allocated_bytes(), allocated);
}

TEST(Store, VersionsAreUniqueAndGrowOverAllKeys) {
  StoreWorld world;
  uint64_t last = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    const std::string key = "key" + std::to_string(i % 7);
    const WriteReply reply = world.Put(key, i % 2 == 0 ? InlineValue(i) : RecordValue(i));
    ASSERT_EQ(reply.status, Code::kOk);
    ASSERT_GT(reply.version, last);
    last = reply.version;
    if (i % 5 == 0) world.Delete(key);
  }
}

TEST(Store, ItemMovesBetweenBucketAndRecordInBothDirections) {
  StoreWorld world;
  world.Put("key", InlineValue(1));
  EXPECT_EQ(world.store().records().allocated_bytes(), 0u);
  WriteReply reply = world.Put("key", RecordValue(2));
  EXPECT_TRUE(Holds(&world, {{"key", {RecordValue(2), reply.version}}}));
  EXPECT_GT(world.store().records().allocated_bytes(), 0u);
  reply = world.Put("key", InlineValue(3));
  EXPECT_TRUE(Holds(&world, {{"key", {InlineValue(3), reply.version}}}));
  EXPECT_EQ(world.store().records().allocated_bytes(), 0u);
}

TEST(Store, KeysOfNoByteOrTooManyAreRefusedEverywhere) {
  StoreWorld world;
  for (const std::string& key : {std::string(), std::string(verify::kKeyBytesMax + 1, 'k')}) {
    for (const std::string& value : {InlineValue(), RecordValue()}) {
      EXPECT_EQ(world.Put(key, value).status, Code::kInvalidArgument);
      EXPECT_EQ(world.Add(key, value).status, Code::kInvalidArgument);
      EXPECT_EQ(world.Replace(key, value).status, Code::kInvalidArgument);
    }
    EXPECT_EQ(world.Delete(key).status, Code::kInvalidArgument);
    EXPECT_EQ(world.store().Get(key, world.now_us).error(), Code::kInvalidArgument);
    const auto request = RequestOf(verify::Operation::kPut, key, "v");
    EXPECT_EQ(PrepareAll(&world.store(), request, world.now_us).error(), Code::kInvalidArgument);
  }
  EXPECT_TRUE(Holds(&world, {}));
  EXPECT_EQ(world.store().records().allocated_bytes(), 0u);
}

TEST(Store, KeysOfEverySizeAndContentAreStored) {
  StoreWorld world;
  Model model;
  for (const size_t bytes : {1u, 2u, 20u, 36u, 37u, 38u, 255u, 256u, 1023u, 1024u}) {
    std::string key(bytes, '\0');
    key.back() = static_cast<char>(bytes);
    const WriteReply reply = world.Put(key, "");
    ASSERT_EQ(reply.status, Code::kOk) << bytes;
    model[key] = {"", reply.version};
  }
  EXPECT_TRUE(Holds(&world, model));
}

TEST(Store, ValuesUpToTheLimitAreStoredAndNotOneByteMore) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.value_bytes_max = 5000;
  StoreWorld world(options);
  const std::string most(5000, 'v');
  const WriteReply reply = world.Put("key", most);
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_EQ(world.Put("key", most + "v").status, Code::kTooLarge);
  auto request = RequestOf(verify::Operation::kPut, "key");
  request.rendezvous = true;
  request.value_bytes = 5001;
  EXPECT_EQ(PrepareAll(&world.store(), request, world.now_us).error(), Code::kTooLarge);
  EXPECT_TRUE(Holds(&world, {{"key", {most, reply.version}}}));
}

TEST(Store, LimitBelowWhatFitsInABucketHoldsThereToo) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.value_bytes_max = 3;
  StoreWorld world(options);
  EXPECT_EQ(world.Put("key", "abc").status, Code::kOk);
  EXPECT_EQ(world.Put("key", "abcd").status, Code::kTooLarge);
}

TEST(Store, LargestValueIsStored) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.memory_bytes = 64 * kMiB;
  StoreWorld world(options);
  const std::string key(verify::kKeyBytesMax, 'k');
  const std::string value = RecordValue(1, verify::kValueBytesMax);
  const WriteReply reply = world.Put(key, value);
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_TRUE(Holds(&world, {{key, {value, reply.version}}}));
}

TEST(Store, WideBucketsHoldLargerItemsInline) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.bucket_bytes = verify::kBucketBytesMax;
  StoreWorld world(options);
  const std::string value = RecordValue(1, 90);
  const WriteReply reply = world.Put("key", value);
  EXPECT_TRUE(Holds(&world, {{"key", {value, reply.version}}}));
  EXPECT_EQ(world.store().records().allocated_bytes(), 0u);
}

TEST(Store, SuperblockDescribesTheRegion) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.shard = 2;
  options.shard_count = 5;
  options.value_bytes_max = 12345;
  StoreWorld world(options);
  const verify::Superblock superblock = world.ReadSuperblock();
  EXPECT_EQ(superblock.incarnation, world.store().incarnation());
  EXPECT_NE(superblock.incarnation, 0u);
  EXPECT_EQ(superblock.hash_seed, options.hash_seed);
  EXPECT_EQ(superblock.region_bytes, world.store().region().memory().size());
  EXPECT_EQ(superblock.shard, 2u);
  EXPECT_EQ(superblock.shard_count, 5u);
  EXPECT_EQ(superblock.value_bytes_max, 12345u);
  EXPECT_EQ(superblock.clock_offset_us, kClockOffsetUs);
  const uint64_t table_offset = superblock.region_bytes - 1024 * 64;
  EXPECT_EQ(superblock.tables[0], (verify::TableExtent{1, table_offset, 1024, 64, 0}));
  EXPECT_EQ(superblock.tables[1].generation, 0u);
}

TEST(Store, TwoStoresHaveTwoIncarnations) {
  StoreWorld one, two;
  EXPECT_NE(one.store().incarnation(), two.store().incarnation());
}

TEST(Store, TableThatDoesNotFitInMemoryIsAnError) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.bucket_count = options.memory_bytes / 64;
  const auto store = Store::Create(options);
  ASSERT_FALSE(store.has_value());
  EXPECT_EQ(store.error().code, Code::kNoSpace);
}

}  // namespace
}  // namespace plov::server
