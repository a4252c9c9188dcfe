// Cache mode: what is not asked for makes room, and what is there is as it was stored.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "server/hit_counts.h"
#include "tests/server/no_memory.h"
#include "tests/server/store_world.h"

namespace plov::server {
namespace {

StoreOptions CacheOptions(size_t memory_bytes = 16 * kMiB) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.memory_bytes = memory_bytes;
  options.grows = true;
  options.stashes = true;
  options.evicts = true;
  return options;
}

std::string KeyOf(uint64_t i) { return "k" + std::to_string(i); }

// A cache, what was stored there last, and readers that see no more than clients do.
class CacheWorld {
 public:
  explicit CacheWorld(const StoreOptions& options = CacheOptions()) : world_(options) {}

  ~CacheWorld() {
    while (store().OnIdle()) store().ForgetHistory();
    const Census census = CensusOf(&world_);
    EXPECT_EQ(census.wrong, "");
    EXPECT_EQ(census.items, store().table().stats().items);
    EXPECT_EQ(census.payload_bytes, store().stats().payload_bytes);
  }

  Store& store() { return world_.store(); }
  void Put(uint64_t i, size_t value_bytes, const Extras& extras = {}) {
    const std::string value = RecordValue(i, value_bytes);
    const WriteReply reply = world_.Put(KeyOf(i), value, extras);
    ASSERT_EQ(reply.status, Code::kOk) << "item " << i;
    model_[KeyOf(i)] = {value, reply.version, extras.flags, 0};
    store().OnIdle();
    store().ForgetHistory();
  }
  void PutMany(uint64_t first, uint64_t count, size_t value_bytes) {
    for (uint64_t i = first; i < first + count; ++i) Put(i, value_bytes);
  }
  // How many of these are there, each as it was stored; by READs.
  size_t Held(uint64_t first, uint64_t count) {
    world_.Refresh();
    OneSidedReader reader(&world_);
    size_t held = 0;
    for (uint64_t i = first; i < first + count; ++i) {
      const Answer answer = reader.Get(KeyOf(i));
      if (answer.absent()) continue;
      EXPECT_TRUE(answer.hit() && answer.item == model_.at(KeyOf(i))) << "item " << i;
      ++held;
    }
    return held;
  }
  void Hit(uint64_t first, uint64_t count) {
    std::vector<verify::HitName> names;
    for (uint64_t i = first; i < first + count; ++i) {
      names.push_back(verify::HitNameOf(world_.HashOf(KeyOf(i))));
    }
    store().OnHits(names);
  }
  StoreWorld& world() { return world_; }

 private:
  StoreWorld world_;
  Model model_;
};

TEST(StoreEvict, RecordsMakeRoomForRecords) {
  CacheWorld cache;
  cache.PutMany(0, 100'000, 1000);
  EXPECT_EQ(cache.store().stats().no_space, 0u);
  const size_t held = cache.Held(0, 100'000);
  EXPECT_EQ(held + cache.store().stats().evicted, 100'000u);
  EXPECT_GT(held * 1100, 16 * kMiB * 3 / 4) << "of 16 MiB";
  EXPECT_GT(cache.Held(99'000, 1'000), 950u) << "the newest";
  EXPECT_EQ(cache.Held(0, 50'000), 0u) << "the oldest";
}

TEST(StoreEvict, InlineItemsMakeRoomForInlineItems) {
  CacheWorld cache(CacheOptions(4 * kMiB));
  cache.PutMany(0, 150'000, 6);
  EXPECT_EQ(cache.store().stats().no_space, 0u);
  const size_t held = cache.Held(0, 150'000);
  EXPECT_EQ(held + cache.store().stats().evicted, 150'000u);
  EXPECT_GT(held * 64, 4 * kMiB / 2);
  EXPECT_GT(cache.Held(147'000, 3'000), 2'900u);
}

TEST(StoreEvict, ATableThatCannotGrowIsNeverFull) {
  StoreOptions options = CacheOptions();
  options.grows = options.stashes = false;
  CacheWorld cache(options);
  cache.PutMany(0, 20'000, 6);
  EXPECT_EQ(cache.store().stats().no_space, 0u);
  EXPECT_GT(cache.Held(0, 20'000), 1024u * 8 / 10);
}

TEST(StoreEvict, ALargeValueHasTheRoomOfManySmallItems) {
  CacheWorld cache;
  cache.PutMany(0, 40'000, 300);
  cache.Put(1'000'000, 4 * kMiB);
  cache.Put(1'000'001, 4 * kMiB);
  EXPECT_EQ(cache.Held(1'000'000, 2), 2u);
  cache.PutMany(40'000, 60'000, 300);
  EXPECT_EQ(cache.Held(1'000'000, 2), 0u) << "they go as the others do";
}

TEST(StoreEvict, SmallerItemsHaveTheRoomOfLargeOnes) {
  CacheWorld cache;
  cache.PutMany(0, 2'000, 20'000);
  cache.PutMany(10'000, 200'000, 40);
  EXPECT_EQ(cache.store().stats().no_space, 0u);
  EXPECT_EQ(cache.Held(0, 2'000), 0u);
  EXPECT_GT(cache.Held(10'000, 200'000) * (64 + 100), 16 * kMiB / 2) << "the table has grown";
}

TEST(StoreEvict, WhatIsTooLargeForTheMemoryIsRefusedAndTheRestIsStillACache) {
  CacheWorld cache(CacheOptions(4 * kMiB));
  cache.PutMany(0, 5'000, 1000);
  EXPECT_EQ(cache.world().Put("large", RecordValue(0, 8 * kMiB)).status, Code::kNoSpace);
  EXPECT_GT(cache.store().stats().no_space, 0u);
  cache.PutMany(5'000, 5'000, 1000);
}

TEST(StoreEvict, WhatClientsFindStaysAndWhatIsReadOnceGoes) {
  CacheWorld cache;
  cache.PutMany(0, 2'000, 1000);
  for (uint64_t i = 0; i < 100'000; ++i) {
    if (i % 500 == 0) cache.Hit(0, 1'000);
    cache.Put(10'000 + i, 1000);
  }
  EXPECT_GT(cache.Held(0, 1'000), 900u) << "these were found again and again";
  EXPECT_LT(cache.Held(1'000, 1'000), 20u) << "a few are taken for others";
}

TEST(StoreEvict, WhatWasPopularIsForgotten) {
  CacheWorld cache;
  cache.PutMany(0, 1'000, 1000);
  for (int i = 0; i < 100; ++i) cache.Hit(0, 1'000);
  cache.PutMany(10'000, 200'000, 1000);
  EXPECT_LT(cache.Held(0, 1'000), 50u);
}

TEST(StoreEvict, ExpiredItemsGoFirstAndAlsoWhenNothingIsWritten) {
  CacheWorld cache;
  for (uint64_t i = 0; i < 1'000; ++i) cache.Put(i, 100, {.ttl_seconds = 5});
  EXPECT_TRUE(cache.store().sweeps_when_idle());
  EXPECT_FALSE(cache.store().SweepSome(cache.world().now_us));
  cache.world().now_us += 10'000'000;
  while (cache.store().SweepSome(cache.world().now_us)) continue;
  EXPECT_EQ(cache.store().stats().expired, 1'000u);
  EXPECT_EQ(cache.store().stats().evicted, 0u);
  EXPECT_FALSE(cache.store().sweeps_when_idle());
}

TEST(StoreEvict, OfEveryLengthWhileAllGrow) {
  CacheWorld cache;
  std::mt19937_64 random(7);
  for (uint64_t i = 0; i < 30'000; ++i) {
    const size_t most = random() % 50 == 0 ? 200'000 : 2'000;
    cache.Put(random() % 60'000, 10 + random() % most);
    if (HasFailure()) return;
  }
  EXPECT_GT(cache.store().stats().evicted, 1'000u);
  EXPECT_LE(cache.store().memory().used_bytes(), 16 * kMiB);
}

// As on a tmpfs that others have filled: what there is goes round.
int FillOnAFullHost() {
  CacheWorld cache;
  cache.PutMany(0, 2'000, 1000);
  LetCommitsFail();
  cache.PutMany(2'000, 20'000, 1000);
  if (!cache.store().region().host().refuses() || cache.store().stats().evicted == 0) return 1;
  if (cache.Held(0, 2'000) > 0 || cache.Held(21'000, 1'000) < 900) return 2;
  return ::testing::Test::HasFailure() ? 3 : 0;
}

TEST(StoreEvictDeathTest, AHostWithoutMemoryStopsNoPut) {
  EXPECT_EXIT(::_exit(FillOnAFullHost()), ::testing::ExitedWithCode(0), "");
}

TEST(HitCounts, CountToThreeAndFade) {
  HitCounts counts;
  EXPECT_EQ(counts.Of(7), 0u);
  counts.Count(7);
  EXPECT_EQ(counts.Of(7), 0u) << "there is no room yet";
  counts.Resize(1000);
  EXPECT_EQ(counts.bytes(), 1024u);
  for (uint32_t i = 1; i <= 5; ++i) {
    counts.Count(7);
    EXPECT_EQ(counts.Of(7), std::min(i, 3u));
  }
  EXPECT_EQ(counts.Of(8), 0u);
  counts.Fade(1024);
  EXPECT_EQ(counts.Of(7), 1u);
  counts.Fade(500);
  counts.Fade(524);
  EXPECT_EQ(counts.Of(7), 0u);
  counts.Count(7);
  counts.Resize(1020);
  EXPECT_EQ(counts.Of(7), 1u);
  counts.Resize(5000);
  EXPECT_EQ(counts.Of(7), 0u);
}

TEST(HitCounts, FewAreTakenForOthers) {
  HitCounts counts;
  counts.Resize(1 << 16);
  for (verify::HitName name = 0; name < 1 << 14; ++name) counts.Count(name);
  size_t wrong = 0;
  for (verify::HitName name = 1 << 20; name < (1 << 20) + 10'000; ++name) {
    wrong += counts.Of(name) > 0 ? 1 : 0;
  }
  EXPECT_LT(wrong, 500u);
}

}  // namespace
}  // namespace plov::server
