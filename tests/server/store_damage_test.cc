// Damaged memory: a verdict, never a crash, never a wrong answer, and other keys go on.
#include <gtest/gtest.h>

#include <random>

#include "tests/server/store_world.h"

namespace plov::server {
namespace {

class Damage : public ::testing::Test {
 protected:
  void SetUp() override {
    model["inline"] = {"v", world.Put("inline", "v").version};
    const std::string value = RecordValue(1, 64);
    model["record"] = {value, world.Put("record", value).version};
    for (uint64_t i = 0; i < 100; ++i) {
      const std::string key = "other" + std::to_string(i);
      const std::string other = i % 2 == 0 ? InlineValue(i) : RecordValue(i);
      others[key] = {other, world.Put(key, other).version};
    }
  }

  Code GetCode(std::string_view key) {
    const auto hit = world.store().Get(key, world.now_us);
    return hit ? Code::kOk : hit.error();
  }
  uint64_t OffsetOf(std::string_view key) {
    return world.geometry().BucketOffset(world.IndexOf(key).value());
  }
  // Every undamaged key is served as before, by message and one-sidedly.
  void ExpectOthersServed() {
    OneSidedReader reader(&world);
    for (const auto& [key, stored] : others) {
      ASSERT_EQ(reader.Get(key).item, stored) << key;
      ASSERT_EQ(GetCode(key), Code::kOk) << key;
      ASSERT_EQ(world.Put(key, stored.value, {.expected_version = 0}).status,
                Code::kVersionMismatch);
    }
  }

  StoreWorld world;
  Model model, others;
};

TEST_F(Damage, EveryFlippedBitOfABucketIsCorruptForItsKey) {
  for (const char* key : {"inline", "record"}) {
    const uint64_t bucket = OffsetOf(key);
    for (uint32_t bit = 0; bit < 64 * 8; ++bit) {
      const uint64_t corrupt = world.store().stats().corrupt;
      world.Flip(bucket + bit / 8, bit % 8);
      ASSERT_EQ(GetCode(key), Code::kCorrupt) << bit;
      ASSERT_EQ(world.Put(key, "new").status, Code::kCorrupt) << bit;
      ASSERT_EQ(world.Add(key, RecordValue()).status, Code::kCorrupt) << bit;
      ASSERT_EQ(world.Delete(key).status, Code::kCorrupt) << bit;
      ASSERT_EQ(world.store().stats().corrupt, corrupt + 4) << "each is counted";
      world.Flip(bucket + bit / 8, bit % 8);
    }
  }
  EXPECT_GT(world.store().table().stats().corrupt, 0u);
  ExpectOthersServed();
  EXPECT_EQ(GetCode("inline"), Code::kOk) << "mended is mended";
  EXPECT_EQ(world.Delete("record").status, Code::kOk);
}

// `live` is not under the seal and is no part of the item.
TEST_F(Damage, EveryFlippedBitOfARecordIsCorruptForAGet) {
  const verify::Reference record = world.ReferenceOf("record");
  OneSidedReader reader(&world);
  for (uint32_t bit = 0; bit < record.record_bytes * 8; ++bit) {
    if (bit == 64) continue;
    world.Flip(record.offset + bit / 8, bit % 8);
    ASSERT_EQ(GetCode("record"), Code::kCorrupt) << "byte " << bit / 8 << " bit " << bit % 8;
    if (bit % 11 == 0) {
      const Answer answer = reader.Get("record");
      ASSERT_EQ(answer.action, cuckoo::Lookup::Action::kAskServer);
      ASSERT_TRUE(answer.suspect);
    }
    world.Flip(record.offset + bit / 8, bit % 8);
  }
  EXPECT_GE(world.store().stats().corrupt, record.record_bytes * 8 - 1);
  EXPECT_EQ(GetCode("record"), Code::kOk);
  ExpectOthersServed();
}

// A write may replace the damaged record, refuse, or (when the key is hit) not know it; each time
// the accounts stay true.
TEST_F(Damage, NoFlippedBitOfARecordMakesAWriteCrashOrMiscount) {
  world.Delete("record");
  model.erase("record");
  model.insert(others.begin(), others.end());
  const std::string value = RecordValue(1, 64);
  for (uint32_t bit = 0; bit < verify::RecordBytes(6, 64) * 8; ++bit) {
    ASSERT_EQ(world.Put("record", value).status, Code::kOk);
    const uint64_t index = world.IndexOf("record").value();
    const verify::Reference record = world.ReferenceOf("record");
    world.Flip(record.offset + bit / 8, bit % 8);
    const Code status =
        (bit % 2 == 0 ? world.Put("record", InlineValue(bit)) : world.Delete("record")).status;
    ASSERT_TRUE(status == Code::kOk || status == Code::kCorrupt || status == Code::kNotFound);
    const auto after = world.BucketAt(index);
    if (after->kind() == verify::BucketKind::kReference &&
        after->reference().version == record.version) {
      world.Flip(record.offset + bit / 8, bit % 8);
    }
    while (world.Delete("record").status == Code::kOk) continue;
    ASSERT_EQ(world.store().table().stats().items, model.size()) << "bit " << bit;
  }
  EXPECT_TRUE(Holds(&world, model));
}

TEST_F(Damage, DamagedExpiryDoesNotHideAnItem) {
  const verify::Reference record = world.ReferenceOf("record");
  world.Flip(record.offset + offsetof(verify::RecordHeader, expiry));  // 1 s after 1970
  EXPECT_EQ(GetCode("record"), Code::kCorrupt) << "not kNotFound";
  EXPECT_EQ(world.Add("record", "v").status, Code::kCorrupt);
  // Nor is it swept.
  world.Put("mortal", "v", {.ttl_seconds = UINT32_MAX});
  for (int i = 0; i < 2000; ++i) world.Put("busy", "v");
  EXPECT_EQ(world.store().stats().expired, 0u);
  world.Flip(record.offset + offsetof(verify::RecordHeader, expiry));
  EXPECT_EQ(GetCode("record"), Code::kOk);
}

TEST_F(Damage, DamagedKeyDoesNotHideAnItem) {
  const verify::Reference record = world.ReferenceOf("record");
  world.Flip(record.offset + verify::kRecordHeaderBytes);
  EXPECT_EQ(GetCode("record"), Code::kCorrupt) << "not kNotFound";
}

TEST_F(Damage, SweepLeavesAnItemWhoseHomeIsDamaged) {
  StoreWorld full;
  for (uint64_t i = 0; i < 850; ++i) {
    full.Put("k" + std::to_string(i), InlineValue(i), {.ttl_seconds = 1});
  }
  ASSERT_GT(full.store().table().stats().displaced, 100u);
  for (uint64_t index = 0; index < 1024; index += 2) {
    full.Flip(full.geometry().BucketOffset(index) + 20);
  }
  full.now_us += 1'000'000;
  for (int i = 0; i < 1024; ++i) full.Put("busy", "v");
  EXPECT_GT(full.store().stats().expired, 100u);
  for (uint64_t index = 0; index < 1024; index += 2) {
    full.Flip(full.geometry().BucketOffset(index) + 20);
  }
  const Census census = CensusOf(&full);
  EXPECT_EQ(census.wrong, "");
  EXPECT_EQ(census.items, full.store().table().stats().items);
}

TEST_F(Damage, ZeroedTableIsCorruptNotEmpty) {
  const auto& geometry = world.geometry();
  std::memset(world.memory() + geometry.offset, 0, geometry.table_bytes());
  OneSidedReader reader(&world);
  for (const char* key : {"inline", "record", "absent"}) {
    EXPECT_EQ(GetCode(key), Code::kCorrupt);
    EXPECT_EQ(world.Put(key, "v").status, Code::kCorrupt);
    EXPECT_EQ(reader.Get(key).action, cuckoo::Lookup::Action::kAskServer);
  }
}

TEST_F(Damage, ZeroedRecordIsCorrupt) {
  const verify::Reference record = world.ReferenceOf("record");
  std::memset(world.memory() + record.offset, 0, record.record_bytes);
  EXPECT_EQ(GetCode("record"), Code::kCorrupt);
  EXPECT_EQ(world.Put("record", "v").status, Code::kCorrupt);
  ExpectOthersServed();
}

// Random bytes all over the table, and random operations on top.
TEST_F(Damage, ScribbledTableNeverCrashesTheStore) {
  std::mt19937_64 random(3);
  const auto& geometry = world.geometry();
  for (int round = 0; round < 300; ++round) {
    world.Flip(geometry.offset + random() % geometry.table_bytes(), random() % 8);
    for (uint64_t i = 0; i < 30; ++i) {
      const std::string key = "other" + std::to_string(random() % 150);
      const std::string value = random() % 2 == 0 ? InlineValue(i) : RecordValue(i);
      const Extras extras{.ttl_seconds = random() % 2 == 0 ? 0u : 1u};
      world.now_us += 10'000;
      world.Put(key, value, extras);
      if (random() % 3 == 0) world.Delete(key);
      GetCode(key);
    }
  }
  EXPECT_GT(world.store().stats().corrupt, 0u);
}

}  // namespace
}  // namespace plov::server
