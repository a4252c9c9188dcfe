// A worker and its shards.

#include "server/shard_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/server/shard_world.h"

namespace plov::server {
namespace {

TEST(ShardThread, StopFromAnotherThreadEndsRun) {
  for (int i = 0; i < 300; ++i) {
    ShardWorld world;
    std::thread thread([&world] { world.worker->Run(); });
    if (i % 2 == 0) std::this_thread::yield();
    world.worker->Stop();
    thread.join();
  }
}

TEST(ShardThread, StopBeforeRunEndsItAtOnce) {
  ShardWorld world;
  world.worker->Stop();
  world.worker->Run();
}

TEST(ShardThread, EventWakesASleepingShard) {
  ShardWorld world;
  int naps = 0;
  world.port.on_arm = [&] {
    if (++naps == 1) world.port.Script(ShardWorld::Kind::kOpened, 1, 7);
    if (naps == 2) {
      world.port.Script(ShardWorld::Kind::kMessage, 1, 0, Encode(7, {Ping(5)}));
    }
    if (naps == 3) world.worker->Stop();
  };
  world.worker->Run();
  ASSERT_EQ(world.port.sent.size(), 1u);
  EXPECT_EQ(Decode(7, world.port.sent[0].message)[0].request_id, 5u);
}

TEST(ShardThread, ServesAllItsShardsAndIsWokenByEach) {
  ShardWorld first, second;
  auto worker = ShardThread::Create().value();
  ASSERT_TRUE(worker->Take(&first.shard) && worker->Take(&second.shard));
  int naps = 0;
  first.port.on_arm = [&] {
    ++naps;
    if (naps == 1) second.port.Script(ShardWorld::Kind::kOpened, 1, 7);
    if (naps == 2) second.port.Script(ShardWorld::Kind::kMessage, 1, 0, Encode(7, {Ping(5)}));
    if (naps == 3) first.port.Script(ShardWorld::Kind::kOpened, 1, 8);
    if (naps == 4) first.port.Script(ShardWorld::Kind::kMessage, 1, 0, Encode(8, {Ping(6)}));
    if (naps == 5) worker->Stop();
  };
  worker->Run();
  ASSERT_EQ(second.port.sent.size(), 1u);
  EXPECT_EQ(Decode(7, second.port.sent[0].message)[0].request_id, 5u);
  ASSERT_EQ(first.port.sent.size(), 1u);
  EXPECT_EQ(Decode(8, first.port.sent[0].message)[0].request_id, 6u);
}

// As the watchdog asks: a sleep is no fault, a turn that does not end is one.
TEST(ShardThread, IsAliveWhileItSleepsOrTurns) {
  ShardWorld world;
  EXPECT_TRUE(world.worker->IsAlive());
  EXPECT_FALSE(world.worker->IsAlive()) << "nobody runs it";
  std::atomic<bool> is_stuck = false;
  std::atomic<bool> goes_on = false;
  world.port.on_arm = [&] {
    is_stuck = true;
    while (!goes_on) std::this_thread::yield();
  };
  std::thread thread([&world] { world.worker->Run(); });
  while (!is_stuck) std::this_thread::yield();
  EXPECT_TRUE(world.worker->IsAlive()) << "it has begun a turn";
  EXPECT_FALSE(world.worker->IsAlive());
  EXPECT_FALSE(world.worker->IsAlive());
  goes_on = true;
  while (!world.worker->IsAlive()) std::this_thread::yield();
  while (!world.worker->IsAlive()) std::this_thread::yield();  // it sleeps by now
  world.worker->Stop();
  thread.join();
}

// What is asked of each shard and added up is the thread's time.
TEST(ShardThread, ItsTimeIsDealtOutToItsShards) {
  ShardWorld first, second;
  const auto a = first.Connect(7), b = second.Connect(7);
  const auto cpu_us = [](ShardWorld* world, const ShardWorld::Client& client) {
    const std::string text = world->StatsText(client);
    return std::stoull(text.substr(text.find("\ncpu_us ") + 8));
  };
  const uint64_t first_us = cpu_us(&first, a), second_us = cpu_us(&second, b);
  const uint64_t began_us = ClockUs(CLOCK_THREAD_CPUTIME_ID);
  while (ClockUs(CLOCK_THREAD_CPUTIME_ID) < began_us + 2000) continue;
  const uint64_t dealt_us = cpu_us(&first, a) - first_us + cpu_us(&second, b) - second_us;
  EXPECT_GE(dealt_us, 2000U);
  EXPECT_LE(dealt_us, ClockUs(CLOCK_THREAD_CPUTIME_ID) - (began_us - second_us - first_us));
}

}  // namespace
}  // namespace plov::server
