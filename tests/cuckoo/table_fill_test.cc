// How full a table becomes, and what READs cost in it; the numbers that the design is built on.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/cuckoo/heap_shard.h"
#include "tests/cuckoo/table_scan.h"

namespace plov::cuckoo {
namespace {

constexpr uint64_t kFilledBuckets = 100'000;

// Puts keys from number *next on, up to `count` items; false when one is refused.
bool FillTo(HeapShard* shard, uint64_t count, uint64_t* next) {
  for (; shard->table().stats().items < count; ++*next) {
    const std::string key = KeyOf(*next);
    const auto item = shard->Item(key, "v", Form::kInline);
    if (!shard->table().Insert(shard->HashOf(key), item)) return false;
  }
  return true;
}

double Percent(uint64_t part, uint64_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

class TableFill : public ::testing::TestWithParam<uint64_t> {};

TEST_P(TableFill, ReachesNinetyPercentAndARefusalChangesNothing) {
  HeapShard shard({.bucket_count = kFilledBuckets, .hash_seed = GetParam()});
  uint64_t next = 0;
  ASSERT_TRUE(FillTo(&shard, kFilledBuckets * 3 / 4, &next));
  const double overflow_75 = Percent(shard.table().stats().overflowed_homes, kFilledBuckets);
  ASSERT_TRUE(FillTo(&shard, kFilledBuckets * 9 / 10, &next));
  const double overflow_90 = Percent(shard.table().stats().overflowed_homes, kFilledBuckets);
  ASSERT_FALSE(FillTo(&shard, kFilledBuckets, &next));
  const TableStats stats = shard.table().stats();
  std::printf(
      "seed %lu: first refusal at %.2f %%, overflow at 75 / 90 %%: %.3f / %.3f %%, %lu moves\n",
      GetParam(), Percent(stats.items, kFilledBuckets), overflow_75, overflow_90, stats.moves);
  EXPECT_LT(overflow_75, 0.25);
  EXPECT_LT(overflow_90, 0.6);

  const std::string key = KeyOf(next);
  const auto item = shard.Item(key, "v", Form::kInline);
  const std::vector<std::byte> before(shard.bytes().begin(), shard.bytes().end());
  ASSERT_FALSE(shard.table().Insert(shard.HashOf(key), item));
  EXPECT_TRUE(std::ranges::equal(shard.bytes(), before));
  EXPECT_EQ(shard.table().stats().items, stats.items);
  EXPECT_EQ(shard.table().stats().displaced, stats.displaced);
  EXPECT_EQ(shard.table().stats().overflowed_homes, stats.overflowed_homes);
  EXPECT_EQ(shard.table().stats().moves, stats.moves);

  Model model;
  for (uint64_t number = 0; number < next; ++number) model[KeyOf(number)] = {"v", number + 1};
  EXPECT_TRUE(TableScan(&shard).Check(model));
}

INSTANTIATE_TEST_SUITE_P(Seeds, TableFill, ::testing::Values(1, 2, 3, 4));

TEST(Table, ReadsPerGetAtThreeQuartersFull) {
  HeapShard shard({.bucket_count = kFilledBuckets});
  uint64_t next = 0;
  ASSERT_TRUE(FillTo(&shard, kFilledBuckets * 3 / 4, &next));
  HeapReader reader(&shard);
  uint64_t hit_reads = 0, miss_reads = 0;
  for (uint64_t number = 0; number < next; ++number) {
    const Answer answer = reader.Get(KeyOf(number));
    ASSERT_EQ(answer.action, Lookup::Action::kHit);
    ASSERT_EQ(answer.version, number + 1);
    hit_reads += answer.bucket_reads;
  }
  for (uint64_t number = next; number < 2 * next; ++number) {
    const Answer answer = reader.Get(KeyOf(number));
    ASSERT_EQ(answer.action, Lookup::Action::kAbsent);
    miss_reads += answer.bucket_reads;
  }
  const double per_hit = Percent(hit_reads, next) / 100;
  const double per_miss = Percent(miss_reads, next) / 100;
  std::printf("75 %% full: %.4f bucket READs per hit, %.4f per miss\n", per_hit, per_miss);
  EXPECT_LE(per_hit, 1.42);
  EXPECT_LE(per_miss, 1.02);
  EXPECT_EQ(reader.stats().restarts, 0u);
}

}  // namespace
}  // namespace plov::cuckoo
