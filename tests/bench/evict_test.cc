// What plov-bench evict asks for, and LRU.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "bench/evict/lru_cache.h"
#include "bench/evict/requests.h"

namespace plov::bench {
namespace {

constexpr uint64_t kMemory = uint64_t{8} << 20;

EvictWorkload Named(const std::string& name) {
  auto workload = FindEvictWorkload(name, kMemory);
  EXPECT_TRUE(workload) << name << ": " << workload.error().message;
  return workload.value_or(EvictWorkload());
}

bool Holds(LruCache* cache, std::string_view key) { return cache->Get(key)->has_value(); }

TEST(LruCache, ForgetsWhatWasNotUsedForLongest) {
  LruCache cache(2);
  EXPECT_TRUE(cache.Put("a", "1"));
  EXPECT_TRUE(cache.Put("b", "2"));
  EXPECT_TRUE(Holds(&cache, "a"));
  EXPECT_TRUE(cache.Put("c", "3"));
  EXPECT_FALSE(Holds(&cache, "b"));
  EXPECT_TRUE(cache.Put("a", "4"));  // is a use, too
  EXPECT_TRUE(cache.Put("d", "5"));
  EXPECT_FALSE(Holds(&cache, "c"));
  EXPECT_EQ(*cache.Get("a"), "4");
  EXPECT_EQ(*cache.Items(), 2u);
}

TEST(EvictRequests, AreTheSameOfTheSameSeed) {
  for (const char* name : {"zipfian-0.8", "scan", "shift", "twitter:34"}) {
    const EvictWorkload workload = Named(name);
    Requests one(workload, 1);
    Requests same(workload, 1);
    Requests other(workload, 2);
    int unlike = 0;
    for (int i = 0; i < 10'000; ++i) {
      const Operation& operation = one.Next();
      const Operation& again = same.Next();
      ASSERT_EQ(operation.key, again.key) << name;
      ASSERT_EQ(operation.kind, again.kind) << name;
      if (operation.key != other.Next().key) ++unlike;
    }
    EXPECT_GT(unlike, 1000) << name;
    EXPECT_TRUE(one.IsRight(one.Value())) << name;
    EXPECT_FALSE(one.IsRight(one.Value() + "x")) << name;
  }
}

TEST(EvictRequests, ScannedKeysComeOnce) {
  const EvictWorkload workload = Named("scan");
  Requests requests(workload, 1);
  std::set<uint64_t> scanned;
  const uint64_t count = 6 * workload.scanned;
  for (uint64_t i = 0; i < count; ++i) {
    const Operation& operation = requests.Next();
    if (operation.number < workload.load.items) continue;
    EXPECT_TRUE(scanned.insert(operation.number).second);
  }
  EXPECT_EQ(scanned.size(), 2 * workload.scanned);
}

TEST(EvictRequests, PopularItemsOfShiftAreTheNewest) {
  const EvictWorkload workload = Named("shift");
  Requests requests(workload, 1);
  uint64_t newest = workload.load.items;
  uint64_t near = 0;
  for (int i = 0; i < 10'000; ++i) {
    const Operation& operation = requests.Next();
    if (operation.kind == Kind::kInsert) {
      EXPECT_EQ(operation.number, newest++);
    } else if (newest - operation.number <= workload.fitting) {
      ++near;
    }
  }
  EXPECT_GT(near, 5000u);
  EXPECT_GT(newest, workload.load.items + 1500);
}

TEST(EvictRequests, TenTimesAsManyItemsAsFit) {
  for (const char* name : {"zipfian-0.99", "twitter:25", "ycsb-b"}) {
    const EvictWorkload workload = Named(name);
    EXPECT_EQ(workload.load.items, 10 * workload.fitting) << name;
  }
  EXPECT_FALSE(FindEvictWorkload("zipfian", kMemory));
}

}  // namespace
}  // namespace plov::bench
