// Keys that find no bucket: stashed, asked for, moved back, and left there by growth.
#include "cuckoo/stash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/cuckoo/growing_shard.h"
#include "tests/cuckoo/heap_shard.h"

namespace plov::cuckoo {
namespace {

using Action = Lookup::Action;
using Phase = GrowingTable::Phase;
using Result = GrowingShard::Result;
using FindResult = Table::FindResult;

constexpr uint64_t kStashedBuckets = 8;
constexpr uint32_t kStashPages = 2;
constexpr size_t kStashBuckets = kStashPages * verify::kPageBytes / verify::kBucketBytesMax;
constexpr size_t kHeld = kWays + kStashBuckets;  // of keys that collide

std::array<uint64_t, kWays> SortedWays(const ShardMemory& shard, std::string_view key) {
  auto ways = WaysOf(shard.HashOf(key), kStashedBuckets);
  std::ranges::sort(ways);
  return ways;
}

// Keys that have the same three buckets; and others that do not live in any of them.
std::vector<std::string> CollidingKeys(const ShardMemory& shard, size_t count) {
  std::vector<std::string> keys;
  for (uint64_t next = 0; keys.size() < count;) {
    keys.push_back(NextKey(&next, [&](const std::string& key) {
      return SortedWays(shard, key) == SortedWays(shard, "k0");
    }));
  }
  return keys;
}
std::string KeyOfOtherHome(const ShardMemory& shard) {
  uint64_t next = 0;
  return NextKey(&next, [&](const std::string& key) {
    const auto ways = SortedWays(shard, "k0");
    return std::ranges::find(ways, HomeOf(shard.HashOf(key), kStashedBuckets)) == ways.end();
  });
}

class StashTest : public ::testing::TestWithParam<Form> {
 protected:
  Result Put(const std::string& key, std::string_view value = "v") {
    return shard_.Put(key, value, GetParam());
  }
  void PutAll(std::string_view value = "v") {
    for (size_t i = 0; i < kHeld; ++i) ASSERT_EQ(Put(keys_[i], value), Result::kDone) << i;
  }
  bool IsStashed(const std::string& key) {
    Table::Slot slot;
    EXPECT_EQ(shard_.table().Find(shard_.HashOf(key), key, &slot), FindResult::kFound);
    return slot.way == Table::kStashed;
  }
  Action ActionOf(std::string_view key) { return HeapReader(&shard_).Get(key).action; }
  TableStats stats() { return shard_.table().stats(); }

  GrowingShard shard_{{.bucket_count = kStashedBuckets, .stash_pages = kStashPages}};
  const std::vector<std::string> keys_ = CollidingKeys(shard_, kHeld + 1);
};

TEST_P(StashTest, HoldsWhatFindsNoBucketUntilMemoryIsFull) {
  PutAll();
  EXPECT_EQ(Put(keys_[kHeld]), Result::kFull);
  EXPECT_EQ(stats().items, kHeld);
  EXPECT_EQ(stats().stashed, kStashBuckets);
  for (size_t i = 0; i < kHeld; ++i) {
    EXPECT_EQ(ActionOf(keys_[i]), IsStashed(keys_[i]) ? Action::kAskServer : Action::kHit);
  }
  const Answer other = HeapReader(&shard_).Get(KeyOfOtherHome(shard_));
  EXPECT_EQ(other.action, Action::kAbsent);
  EXPECT_EQ(other.bucket_reads, 1u) << "a home without stashed keys does not ask";
}

TEST_P(StashTest, IsOverwrittenAndErasedInPlace) {
  PutAll("old");
  PutAll("new");
  EXPECT_EQ(stats().stashed, kStashBuckets);
  std::vector<std::string> stashed, placed;
  for (size_t i = 0; i < kHeld; ++i) (IsStashed(keys_[i]) ? stashed : placed).push_back(keys_[i]);
  for (const std::string& key : stashed) EXPECT_EQ(shard_.Erase(key), FindResult::kFound);
  EXPECT_EQ(stats().stashed, 0u);
  for (const std::string& key : stashed) EXPECT_EQ(ActionOf(key), Action::kAbsent);
  for (const std::string& key : placed) EXPECT_EQ(ActionOf(key), Action::kHit);
  PutAll();
}

TEST_P(StashTest, MovesBackWhenABucketBecomesFree) {
  PutAll();
  EXPECT_FALSE(shard_.table().Unstash(100)) << "nothing has become free";
  for (size_t i = 0; i < kHeld; ++i) {
    if (!IsStashed(keys_[i])) shard_.Erase(keys_[i]);
  }
  while (shard_.table().Unstash(1)) {
  }
  EXPECT_EQ(stats().stashed, kStashBuckets - kWays);
  EXPECT_EQ(stats().items, kStashBuckets);
  size_t hits = 0;
  for (size_t i = 0; i < kHeld; ++i) hits += ActionOf(keys_[i]) == Action::kHit;
  EXPECT_EQ(hits, kWays);
}

// To as few buckets: nearly everything stays in the stash, and some of the table's goes there.
TEST_P(StashTest, StaysWhereItIsWhileTheTableGrows) {
  for (size_t i = 0; i + 8 < kHeld; ++i) ASSERT_EQ(Put(keys_[i]), Result::kDone);
  ASSERT_TRUE(shard_.Prepare(kStashedBuckets));
  for (int step = 0; shard_.table().phase() != Phase::kSteady; ++step) {
    ASSERT_LT(step, 1000);
    shard_.Advance(1);
    if (step % 20 == 7) {
      ASSERT_EQ(Put(keys_[kHeld - 1 - static_cast<size_t>(step) / 20]), Result::kDone);
    }
    for (size_t i = 0; i + 8 < kHeld; ++i) {
      const Answer answer = HeapReader(&shard_).Get(keys_[i]);
      const bool asks = answer.action == Action::kAskServer && !answer.suspect;
      ASSERT_TRUE(answer.action == Action::kHit || asks) << keys_[i];
      if (shard_.table().phase() == Phase::kPreparing) {
        ASSERT_EQ(asks, IsStashed(keys_[i]));
      }
    }
  }
  EXPECT_EQ(shard_.current().generation, 2u);
  const uint64_t items = stats().items;
  for (size_t i = 0; i < kHeld; ++i) shard_.Erase(keys_[i]);
  EXPECT_EQ(stats().items, 0u) << "of " << items;
  for (size_t i = 0; i < kHeld; ++i) EXPECT_EQ(ActionOf(keys_[i]), Action::kAbsent);
}

// A superblock that was made by hand may list nothing before something.
TEST(Stash, AnotherExtentIsBehindAllThatThereAre) {
  StashGeometry geometry;
  geometry.memory.extents[1] = {8192, 4096};
  geometry.memory.bytes = 4096;
  Stash stash(nullptr, geometry, nullptr);
  ASSERT_TRUE(stash.may_add_extent());
  stash.AddExtent({65536, 4096});
  EXPECT_EQ(stash.geometry().BucketOffset(0), 8192u);
  EXPECT_EQ(stash.NextPart(4096), (verify::StashExtent{65536, 4096}));
}

INSTANTIATE_TEST_SUITE_P(Forms, StashTest, ::testing::Values(Form::kInline, Form::kReference),
                         [](const auto& form) {
                           return form.param == Form::kInline ? "inline" : "reference";
                         });

}  // namespace
}  // namespace plov::cuckoo
