// Damage: a byte of the table or of a record has changed. The keys concerned end as kCorrupt, the
// others are served on, and nothing wrong is said of any.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "tests/cuckoo/heap_shard.h"
#include "tests/cuckoo/table_scan.h"

namespace plov::cuckoo {
namespace {

using Action = Lookup::Action;
using FindResult = Table::FindResult;

constexpr uint64_t kDamagedBuckets = 64;
constexpr uint64_t kKeyCount = 48;
constexpr uint64_t kAbsentCount = 200;

void Fill(HeapShard* shard) {
  for (uint64_t number = 0; number < kKeyCount; ++number) {
    const Form form = number % 2 == 0 ? Form::kInline : Form::kReference;
    ASSERT_EQ(shard->Put(KeyOf(number), KeyOf(number), form), HeapShard::Result::kDone);
  }
  ASSERT_GT(shard->table().stats().displaced, 10u);
  ASSERT_GT(shard->table().stats().moves, 0u);
}

void FlipByte(HeapShard* shard, uint64_t offset, std::mt19937_64* random) {
  shard->region()[offset] ^= std::byte(1 + (*random)() % 255);
}

// Where each key was before the damage.
using Places = std::map<std::string, std::vector<uint64_t>>;

void ExpectNothingWrongIsSaid(HeapShard* shard, uint64_t damaged, const Places& places) {
  HeapReader reader(shard);
  for (uint64_t number = 0; number < kKeyCount + kAbsentCount; ++number) {
    const std::string key = KeyOf(number);
    const auto ways = shard->WaysOf(key);
    const bool is_stored = number < kKeyCount;
    const bool needs_it = ways[0] == damaged || (is_stored && places.at(key)[0] == damaged);
    const bool may_meet_it = std::ranges::count(ways, damaged) > 0;
    Table::Slot slot;
    const FindResult verdict = shard->table().Find(shard->HashOf(key), key, &slot);
    const Answer answer = reader.Get(key);
    if (needs_it || (may_meet_it && verdict == FindResult::kCorrupt)) {
      ASSERT_EQ(verdict, FindResult::kCorrupt) << key;
      ASSERT_EQ(answer.action, Action::kAskServer) << key;
      ASSERT_TRUE(answer.suspect) << key;
    } else {
      ASSERT_EQ(verdict, is_stored ? FindResult::kFound : FindResult::kAbsent) << key;
      ASSERT_EQ(answer.action, is_stored ? Action::kHit : Action::kAbsent) << key;
      ASSERT_EQ(answer.value, is_stored ? key : "") << key;
    }
  }
}

TEST(TableDamage, AFlippedByteOfABucketIsCorruptionOfItsKeysOnly) {
  std::mt19937_64 random(1);
  for (uint64_t damaged = 0; damaged < kDamagedBuckets; ++damaged) {
    for (int flip = 0; flip < 3; ++flip) {
      HeapShard shard({.bucket_count = kDamagedBuckets});
      ASSERT_NO_FATAL_FAILURE(Fill(&shard));
      const Places places = ContentsOf(&shard).places;
      FlipByte(&shard, shard.geometry().BucketOffset(damaged) + random() % 64, &random);
      ASSERT_NO_FATAL_FAILURE(ExpectNothingWrongIsSaid(&shard, damaged, places)) << damaged;
      EXPECT_GT(shard.table().stats().corrupt, 0u) << damaged;
    }
  }
}

// What a shard goes on to do with a damaged table: it refuses what it cannot judge, and the rest
// lives on.
TEST(TableDamage, TheWriterGoesOnAroundADamagedBucket) {
  std::mt19937_64 random(2);
  uint64_t moves = 0, refused = 0;
  for (int round = 0; round < 200; ++round) {
    HeapShard shard({.bucket_count = kDamagedBuckets, .hash_seed = random()});
    for (uint64_t number = 0; number < 48; ++number) {
      shard.Put(KeyOf(number), KeyOf(number), Form::kInline);  // so small a table may refuse some
    }
    FlipByte(&shard, shard.geometry().BucketOffset(random() % kDamagedBuckets) + random() % 64,
             &random);
    const uint64_t moves_before = shard.table().stats().moves;
    for (int step = 0; step < 200; ++step) {
      const std::string key = KeyOf(random() % 80);
      HeapReader reader(&shard);
      if (random() % 3 == 0) {
        const FindResult verdict = shard.Erase(key);
        const Action now = reader.Get(key).action;
        ASSERT_TRUE(verdict != FindResult::kCorrupt || now == Action::kAskServer);
        ASSERT_TRUE(verdict != FindResult::kAbsent || now == Action::kAbsent);
        // Without the key the search goes on, perhaps to the damaged bucket; but it is not found.
        ASSERT_NE(now, Action::kHit);
        continue;
      }
      const std::string value = std::to_string(step);
      const auto result = shard.Put(key, value, Form::kInline);
      const Answer answer = reader.Get(key);
      if (result == HeapShard::Result::kDone) {
        // The server too, when the way to the key leads through the damaged bucket since.
        ASSERT_TRUE(answer.value == value || answer.action == Action::kAskServer);
      } else {
        ++refused;
        ASSERT_NE(answer.action, Action::kHit);
      }
    }
    moves += shard.table().stats().moves - moves_before;
  }
  EXPECT_GT(moves, 1000u);
  EXPECT_GT(refused, 500u);
}

TEST(TableDamage, ARecordOfAnotherVersionIsCorrupt) {
  HeapShard shard({});
  ASSERT_EQ(shard.Put("key", "value", Form::kReference), HeapShard::Result::kDone);
  Table::Slot slot;
  ASSERT_EQ(shard.table().Find(shard.HashOf("key"), "key", &slot), FindResult::kFound);
  const uint64_t offset = slot.bucket.reference().offset;
  shard.region()[offset + offsetof(verify::RecordHeader, version)] ^= std::byte{1};
  EXPECT_EQ(shard.table().Find(shard.HashOf("key"), "key", &slot), FindResult::kCorrupt);
  const Answer answer = HeapReader(&shard).Get("key");
  EXPECT_EQ(answer.action, Action::kAskServer);
  EXPECT_TRUE(answer.suspect);
}

TEST(TableDamage, AnyFlippedByteOfARecordNeverReachesAReader) {
  std::mt19937_64 random(3);
  HeapShard shard({});
  ASSERT_EQ(shard.Put("key", "value", Form::kReference), HeapShard::Result::kDone);
  Table::Slot slot;
  ASSERT_EQ(shard.table().Find(shard.HashOf("key"), "key", &slot), FindResult::kFound);
  const verify::Reference reference = slot.bucket.reference();
  for (uint32_t at = 0; at < reference.record_bytes; ++at) {
    const bool is_live = at == 8;  // the bit is not under the seal, and no matter to rule R1
    const std::byte before = shard.region()[reference.offset + at];
    if (is_live) {
      shard.region()[reference.offset + at] ^= std::byte{verify::kLiveBit};
    } else {
      FlipByte(&shard, reference.offset + at, &random);
    }
    const Answer answer = HeapReader(&shard).Get("key");
    EXPECT_EQ(answer.action, is_live ? Action::kHit : Action::kAskServer) << at;
    shard.region()[reference.offset + at] = before;
  }
}

}  // namespace
}  // namespace plov::cuckoo
