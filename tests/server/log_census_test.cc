// What a log leaves, as it is estimated before its operations are restored.
#include "server/log_census.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "server/durable_log.h"
#include "tests/log/simulated_disk.h"
#include "tests/server/store_world.h"

namespace plov::server {
namespace {

using verify::Logged;

std::string CensusKey(uint64_t number) { return "key" + std::to_string(number); }

Logged LoggedPut(std::string_view key, std::string_view value, uint32_t expiry = 0) {
  return {.version = 1, .expiry = expiry, .key = key, .value = value};
}

TEST(DistinctKeys, AreCountedOnceAndNearlyRight) {
  DistinctKeys keys(0x5eed);
  EXPECT_EQ(keys.count(), 0u);
  uint64_t added = 0;
  for (const uint64_t count : {1u, 10u, 1'000u, 10'000u, 200'000u}) {
    for (; added < count; ++added) keys.Add(CensusKey(added));
    for (uint64_t again = 0; again < std::min<uint64_t>(count, 1'000); ++again)
      keys.Add(CensusKey(again));
    EXPECT_NEAR(static_cast<double>(keys.count()), static_cast<double>(count),
                1 + 0.06 * static_cast<double>(count));
  }
}

TEST(LogCensus, CountsWhatIsThereAtTheEnd) {
  LogCensus census(1'000, 0x5eed);
  for (uint64_t i = 0; i < 3'000; ++i) census.Add(LoggedPut(CensusKey(i % 1'000), "v"));
  for (uint64_t i = 0; i < 500; ++i) {
    census.Add({.kind = Logged::Kind::kDelete, .version = 1, .key = CensusKey(i)});
  }
  for (uint64_t i = 5'000; i < 9'000; ++i) census.Add(LoggedPut(CensusKey(i), "expired", 1'000));
  EXPECT_NEAR(static_cast<double>(census.items()), 500, 50);
}

TEST(LogCensus, OfMoreThatWereDeletedThanStoredIsNothing) {
  LogCensus census(0, 0x5eed);
  census.Add({.kind = Logged::Kind::kDelete, .version = 1, .key = "a"});
  EXPECT_EQ(census.items(), 0u);
  EXPECT_FALSE(census.choice().is_wide());
}

// A server that starts: no growth, and buckets as the items want them.
TEST(LogCensus, TheTableOfARestoredStoreNeedNotGrow) {
  for (const size_t value_bytes : {20u, 70u, 400u}) {
    auto disk = std::make_unique<test::SimulatedDisk>();
    test::SimulatedDisk* running = disk.get();
    const LogOptions options{.folder = "sim", .segment_bytes = 64 << 20};
    const auto open = [&](std::unique_ptr<log::Disk> on) {
      return std::move(*DurableLog::OpenOn(std::move(on), options, ShardSet::Of(1)));
    };
    auto log = open(std::move(disk));
    EXPECT_EQ(log->expected_of(0).items, 0u);
    ASSERT_TRUE(log->Begin(0x5eed, {[] {}}));
    constexpr uint64_t kItems = 30'000;
    for (uint64_t i = 0; i < kItems; ++i) {
      const std::string key = CensusKey(i), value(value_bytes, 'v');
      Logged put = LoggedPut(key, value);
      put.version = i + 1;
      log->of_shard(0)->Append(put);
    }
    ASSERT_TRUE(log->of_shard(0)->Finish());
    test::SimulatedDisk::Random random(1);
    auto next = open(running->Crash(&random));
    StoreWorld world({.memory_bytes = 64 << 20,
                      .bucket_bytes = 0,
                      .hash_seed = 0x5eed,
                      .expected = next->expected_of(0)});
    const auto before = world.store().table().current().geometry();
    Sessions sessions;
    ASSERT_TRUE(next->Recover(0, &world.store(), &sessions));
    const auto after = world.store().table().current().geometry();
    EXPECT_EQ(world.store().table().stats().items, kItems);
    EXPECT_EQ(after.generation, before.generation);
    EXPECT_EQ(after.bucket_bytes, value_bytes == 70 ? 128u : 64u);
  }
}

}  // namespace
}  // namespace plov::server
