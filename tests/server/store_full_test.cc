// Full is an error, not a loss; and what expires makes room.
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "tests/server/no_memory.h"
#include "tests/server/store_world.h"

namespace plov::server {
namespace {

// Puts k0, k1, ... until many in a row are refused: a nearly full table has room for some keys yet.
Model FillWith(StoreWorld* world, size_t value_bytes, const Extras& extras = {}) {
  Model model;
  int refused = 0;
  for (uint64_t i = 0; refused < 100; ++i) {
    if (i == 100'000) {
      ADD_FAILURE() << "never full";
      return model;
    }
    const std::string key = "k" + std::to_string(i);
    const std::string value = RecordValue(i, value_bytes);
    const WriteReply reply = world->Put(key, value, extras);
    refused = reply.status == Code::kOk ? 0 : refused + 1;
    if (reply.status == Code::kOk) {
      model[key] = {value, reply.version, extras.flags,
                    ExpiryAfter(world->now_us, extras.ttl_seconds)};
    } else {
      EXPECT_EQ(reply.status, Code::kNoSpace);
    }
  }
  return model;
}

// A key for which the table had no room.
std::string KeyRefused(const Model& model) {
  uint64_t i = 0;
  while (model.contains("k" + std::to_string(i))) ++i;
  return "k" + std::to_string(i);
}

TEST(StoreFull, FullTableRefusesAndLosesNothing) {
  StoreWorld world;
  const Model model = FillWith(&world, 8);
  EXPECT_GE(model.size(), 1024u * 85 / 100);
  EXPECT_TRUE(Holds(&world, model));
  EXPECT_GE(world.store().stats().no_space, 100u);
}

TEST(StoreFull, FullTableRefusesARecordAndFreesIt) {
  StoreWorld world;
  const Model model = FillWith(&world, 8);
  const uint64_t refused = world.store().stats().no_space;
  EXPECT_EQ(world.Put(KeyRefused(model), RecordValue(0, 10'000)).status, Code::kNoSpace);
  EXPECT_EQ(world.store().stats().no_space, refused + 1);
  EXPECT_EQ(world.store().records().allocated_bytes(), 0u);
  EXPECT_TRUE(Holds(&world, model));
}

TEST(StoreFull, FullTableTakesOverwritesAndDeletesStill) {
  StoreWorld world;
  Model model = FillWith(&world, 8);
  for (auto& [key, stored] : model) {
    stored = {"new", world.Put(key, "new").version};
    ASSERT_NE(stored.version, 0u);
  }
  EXPECT_TRUE(Holds(&world, model));
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(world.Delete(model.begin()->first).status, Code::kOk);
    model.erase(model.begin());
  }
  model["late"] = {"v", world.Put("late", "v").version};
  EXPECT_TRUE(Holds(&world, model));
}

TEST(StoreFull, FullMemoryRefusesAndLosesNothing) {
  StoreWorld world;
  const Model model = FillWith(&world, 30'000);
  EXPECT_TRUE(Holds(&world, model));
  // Neither a new item nor a new value of an old one; what is there stays readable.
  EXPECT_EQ(world.Put("new", RecordValue(0, 30'000)).status, Code::kNoSpace);
  EXPECT_EQ(world.Put("k0", RecordValue(1, 30'000)).status, Code::kNoSpace);
  EXPECT_EQ(world.Put("k1", RecordValue(1, 1'000'000)).status, Code::kNoSpace);
  EXPECT_TRUE(Holds(&world, model));
}

// A table that cannot grow counts as full at 90 %, and fills a little further.
TEST(StoreFull, NothingIsFullerThanFull) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.memory_bytes = 4 * kMiB;
  options.grows = true;
  StoreWorld world{options};
  FillWith(&world, 8);
  EXPECT_GT(world.store().table().stats().items * 100, world.store().table().capacity() * 90);
  EXPECT_EQ(world.store().percent_full(), 100);
}

TEST(StoreFull, FullMemoryTakesItemsThatNeedNone) {
  StoreWorld world;
  Model model = FillWith(&world, 30'000);
  model["tiny"] = {"v", world.Put("tiny", "v").version};
  EXPECT_NE(model["tiny"].version, 0u);
  EXPECT_TRUE(Holds(&world, model));
}

TEST(StoreFull, DeletedMemoryIsUsedAgain) {
  StoreWorld world;
  const size_t first = FillWith(&world, 30'000).size();
  for (int round = 0; round < 5; ++round) {
    for (uint64_t i = 0; i < first; ++i) {
      ASSERT_EQ(world.Delete("k" + std::to_string(i)).status, Code::kOk);
    }
    ASSERT_EQ(world.store().records().allocated_bytes(), 0u);
    ASSERT_EQ(FillWith(&world, 30'000).size(), first) << "round " << round;
  }
}

TEST(StoreFull, ExpiredItemsMakeRoomInMemory) {
  StoreWorld world;
  const Model expiring = FillWith(&world, 30'000, {.ttl_seconds = 5});
  world.now_us += 5'000'000;
  const Model model = FillWith(&world, 30'000);
  EXPECT_EQ(model.size(), expiring.size());
  EXPECT_GT(world.store().stats().expired, 100u) << "of those that were not overwritten before";
  EXPECT_TRUE(Holds(&world, model));
}

TEST(StoreFull, ExpiredItemsMakeRoomInTheTable) {
  for (const std::string& value : {InlineValue(1), RecordValue(1)}) {
    StoreWorld world;
    Model model = FillWith(&world, 8);
    const std::string key = KeyRefused(model);
    for (int i = 0; i < 30; ++i) {
      world.Put(model.begin()->first, "v", {.ttl_seconds = 5});
      model.erase(model.begin());
    }
    ASSERT_EQ(world.Put(key, value).status, Code::kNoSpace);
    world.now_us += 5'000'000;
    // As many as make room, and the others by and by.
    for (int i = 0; i < 2000 && world.store().stats().expired < 30; ++i) {
      model[key] = {value, world.Put(key, value).version};
    }
    EXPECT_EQ(world.store().stats().expired, 30u);
    EXPECT_TRUE(Holds(&world, model));
  }
}

TEST(StoreFull, ItemsThatHaveNotExpiredMakeNoRoom) {
  StoreWorld world;
  const Model model = FillWith(&world, 30'000, {.ttl_seconds = 5});
  world.now_us += 4'999'999;
  EXPECT_EQ(world.Put("new", RecordValue(1, 30'000)).status, Code::kNoSpace);
  EXPECT_EQ(world.store().stats().expired, 0u);
  EXPECT_TRUE(Holds(&world, model));
}

TEST(StoreFull, WritesSweepExpiredItemsAsTheyGo) {
  StoreWorld world;
  Model model;
  for (uint64_t i = 0; i < 200; ++i) {
    const std::string key = "short" + std::to_string(i);
    world.Put(key, i % 2 == 0 ? InlineValue(i) : RecordValue(i), {.ttl_seconds = 1});
    const std::string lasting = "long" + std::to_string(i);
    const uint32_t ttl_seconds = i % 3 == 0 ? 0 : 1000;
    model[lasting] = {"v", world.Put(lasting, "v", {.ttl_seconds = ttl_seconds}).version, 0,
                      ExpiryAfter(world.now_us, ttl_seconds)};
  }
  world.now_us += 1'000'000;
  for (uint64_t i = 0; i < 1024; ++i) model["busy"] = {"v", world.Put("busy", "v").version};
  EXPECT_EQ(world.store().stats().expired, 200u);
  EXPECT_EQ(world.store().table().stats().items, model.size());
  EXPECT_EQ(world.store().records().allocated_bytes(), 0u);
  EXPECT_TRUE(Holds(&world, model));
}

// Sweeping must un-list displaced items: the table is full enough to have many.
TEST(StoreFull, SweepOfDisplacedItemsLeavesTheOthersReachable) {
  StoreWorld world;
  Model model;
  for (uint64_t i = 0; i < 850; ++i) {
    const std::string key = "k" + std::to_string(i);
    const uint32_t ttl_seconds = i % 2 == 0 ? 1 : 0;
    const WriteReply reply = world.Put(key, InlineValue(i), {.ttl_seconds = ttl_seconds});
    ASSERT_EQ(reply.status, Code::kOk);
    if (ttl_seconds == 0) model[key] = {InlineValue(i), reply.version};
  }
  ASSERT_GT(world.store().table().stats().displaced, 100u);
  world.now_us += 1'000'000;
  for (uint64_t i = 0; i < 1024; ++i) model["k1"] = {"v", world.Put("k1", "v").version};
  EXPECT_EQ(world.store().stats().expired, 425u);
  EXPECT_TRUE(Holds(&world, model));
}

// The growth of a table on a host without memory is begun after a while, and not by every idle turn.
int RestOnAFullHost() {
  StoreWorld world({.bucket_count = 0, .grows = true});
  LetCommitsFail();
  FillWith(&world, 8);
  if (!world.store().region().host().refuses()) return 1;
  int turns_with_work = 0;
  for (int turn = 0; turn < 100; ++turn) turns_with_work += world.store().OnIdle() ? 1 : 0;
  return turns_with_work < 25 ? 0 : 2;
}

TEST(StoreFullDeathTest, HostWithoutMemoryIsLeftAlone) {
  EXPECT_EXIT(::_exit(RestOnAFullHost()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace plov::server
