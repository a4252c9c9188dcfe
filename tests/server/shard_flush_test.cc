// FLUSH: what is there when it begins is gone when it ends, and nothing else; asked for again it is the same one.
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <thread>

#include "tests/server/shard_world.h"

namespace plov::server {
namespace {

using verify::Operation;
using verify::Request;

Request FlushOf(uint64_t name, uint32_t delay_seconds = 0) {
  Request request;
  request.operation = Operation::kFlush;
  request.request_id = name;
  request.expected_version = name;
  request.ttl_seconds = delay_seconds;
  return request;
}

std::string NumberedKey(uint64_t number) { return "key " + std::to_string(number); }

class ShardFlush : public ::testing::Test {
 protected:
  // Long ones have records.
  void PutSome(uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      const std::string value(i % 3 == 0 ? 200 : 3, 'v');
      ASSERT_EQ(world.AskOne(client, PutOf(NumberedKey(i), value, ++sequence_)).status, Code::kOk);
    }
  }
  bool Has(uint64_t number) {
    return world.store->Get(NumberedKey(number), MonotonicUs()).has_value();
  }
  uint64_t Count(uint64_t begin, uint64_t end) {
    uint64_t count = 0;
    for (uint64_t i = begin; i < end; ++i) count += Has(i) ? 1 : 0;
    return count;
  }
  void Begin(uint64_t name) {
    EXPECT_NE(world.AskOne(client, FlushOf(name)).version, 0);
    world.shard.Turn();
  }
  // Asks until it is over; how many it says it has deleted.
  uint64_t Await(uint64_t name) {
    for (int asks = 0; asks < 100'000; ++asks) {
      const auto reply = world.AskOne(client, FlushOf(name));
      EXPECT_EQ(reply.status, Code::kOk);
      if (reply.version == 0 || reply.status != Code::kOk) return reply.number;
      world.shard.Turn();
    }
    ADD_FAILURE() << "it does not end";
    return 0;
  }

  static StoreOptions Growing() {
    StoreOptions options = StoreWorld::SmallOptions();
    options.grows = options.stashes = true;
    return options;
  }

  ShardWorld world{Growing()};
  ShardWorld::Client client = world.Connect(7);

 private:
  uint64_t sequence_ = 0;
};

TEST_F(ShardFlush, DeletesWhatIsThere) {
  PutSome(0, 500);
  EXPECT_EQ(Await(1), 500);
  EXPECT_EQ(Count(0, 500), 0);
  EXPECT_EQ(world.store->stats().payload_bytes, 0);
  EXPECT_EQ(Await(2), 0);
}

// Who counts items counts it as long as it takes room.
TEST_F(ShardFlush, DeletesWhatHasExpiredAndDoesNotCountIt) {
  const std::string key = NumberedKey(0);
  Request put = PutOf(key, "v", 1);
  put.ttl_seconds = 1;
  ASSERT_EQ(world.AskOne(client, put).status, Code::kOk);
  while (world.store->Current(key, MonotonicUs(), 0)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_EQ(world.store->table().stats().items, 1);
  EXPECT_EQ(Await(1), 0);
  EXPECT_EQ(world.store->table().stats().items, 0);
}

TEST_F(ShardFlush, WhatIsStoredMeanwhileStays) {
  PutSome(0, 300);
  EXPECT_NE(world.AskOne(client, FlushOf(1)).version, 0);
  PutSome(250, 400);
  EXPECT_GE(Await(1), 250);
  EXPECT_EQ(Count(0, 250), 0);
  EXPECT_EQ(Count(250, 400), 150);
}

TEST_F(ShardFlush, AskedForAgainItIsTheSameOne) {
  PutSome(0, 10);
  EXPECT_EQ(Await(1), 10);
  PutSome(0, 10);
  EXPECT_EQ(world.AskOne(client, FlushOf(1)).number, 10);
  EXPECT_EQ(world.AskOne(client, FlushOf(1)).version, 0);
  EXPECT_EQ(Count(0, 10), 10);
}

// What was over, or was not, is nothing once another server has served the clients.
TEST_F(ShardFlush, NoNameIsKnownWhenClientsHaveBeenElsewhere) {
  PutSome(0, 10);
  EXPECT_EQ(Await(1), 10);
  PutSome(0, 300);
  Begin(2);
  world.AskOne(client, FlushOf(3, 1));
  world.shard.CloseClients();
  client = world.Connect(7);
  EXPECT_EQ(world.shard.SleepMs(), -1);
  EXPECT_EQ(Count(0, 300), 300);
  EXPECT_EQ(Await(2), 300);
  PutSome(0, 10);
  EXPECT_EQ(Await(1), 10);
}

TEST_F(ShardFlush, OneThatIsAskedForWhileAnotherIsUnderWayFollowsIt) {
  PutSome(0, 100);
  Begin(1);
  PutSome(100, 200);
  Begin(2);
  PutSome(200, 300);
  Await(2);
  EXPECT_EQ(Await(1), 100);
  EXPECT_EQ(Count(0, 200), 0);
  EXPECT_EQ(Count(200, 300), 100);
}

// It begins so much later. Another one takes its place.
TEST_F(ShardFlush, DelayedOneComesInItsTime) {
  PutSome(0, 10);
  const auto reply = world.AskOne(client, FlushOf(1, 1000));
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_EQ(reply.version, 0);
  EXPECT_EQ(Count(0, 10), 10);
  EXPECT_GT(world.shard.SleepMs(), 1000);
  world.AskOne(client, FlushOf(2, 1));
  EXPECT_LE(world.shard.SleepMs(), 1001);
  while (Count(0, 10) > 0) {
    world.shard.Turn();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  PutSome(0, 10);
  for (int i = 0; i < 1000; ++i) world.shard.Turn();
  EXPECT_EQ(Count(0, 10), 10);
}

TEST_F(ShardFlush, NeedsANameAndTheRightToWrite) {
  EXPECT_EQ(world.AskOne(client, FlushOf(0)).status, Code::kProtocol);
  world.port.may_write = false;
  auto reader = world.Connect(8);
  PutSome(0, 1);
  EXPECT_EQ(world.AskOne(reader, FlushOf(1)).status, Code::kPermission);
  EXPECT_TRUE(Has(0));
}

TEST_F(ShardFlush, OperationsOfLaterReleasesAreAnswered) {
  Request request;
  request.operation = static_cast<Operation>(200);
  request.request_id = 1;
  EXPECT_EQ(world.AskOne(client, request).status, Code::kProtocol);
  PutSome(0, 1);
  EXPECT_TRUE(Has(0));
}

// Items come, go and move between buckets, and the table grows: what was there before is deleted, what came after is not.
TEST_F(ShardFlush, ItemsThatMoveAreMet) {
  std::mt19937_64 random(7);
  uint64_t next = 0;
  for (uint64_t name = 1; name <= 20; ++name) {
    const uint64_t before = next + random() % 3000;
    PutSome(next, before);
    ASSERT_EQ(world.AskOne(client, FlushOf(name)).status, Code::kOk);
    const uint64_t after = before + random() % 6000;
    PutSome(before, after);
    Await(name);
    EXPECT_EQ(Count(0, before), 0) << name;
    EXPECT_EQ(Count(before, after), after - before) << name;
    next = after;
  }
}

}  // namespace
}  // namespace plov::server
