// Tables that are history: whose confirmation lets go of them, and what becomes of clients that
// confirm nothing.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/server/shard_world.h"

namespace plov::server {
namespace {

using verify::Operation;

StoreOptions Growing(size_t memory_bytes = 16 * kMiB) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.memory_bytes = memory_bytes;
  options.grows = true;
  return options;
}

// Ticks come as often as records are given up, so a test need not wait for them.
constexpr uint64_t kTickUs = 2000;

class ShardGrowth : public ::testing::Test {
 protected:
  explicit ShardGrowth(const StoreOptions& options = Growing(), uint64_t grace_us = 10'000'000)
      : world(options, {.hold_us = kTickUs, .grace_us = grace_us}) {}

  const Growth& growth() const { return world.store->growth(); }
  uint64_t version() const { return world.store->superblock().version; }
  // The table that is in use, without history.
  size_t current_bytes() const { return world.store->table().current().geometry().table_bytes(); }

  // Puts until the table has grown so often, and the old one is history.
  void Grow(const ShardWorld::Client& client, uint64_t times = 1) {
    const uint64_t goal = growth().growths() + times;
    while (growth().growths() < goal || IsGrowing()) PutOne(client);
  }
  bool IsGrowing() const {
    return world.store->table().phase() != cuckoo::GrowingTable::Phase::kSteady;
  }
  Code PutOne(const ShardWorld::Client& client) {
    ++sequence_;
    return world.AskOne(client, PutOf("k" + std::to_string(sequence_), "v", sequence_)).status;
  }

  static verify::Request ConfirmOf(uint64_t confirmed) {
    verify::Request request = RequestOf(Operation::kConfirm, {});
    request.request_id = 1;
    request.expected_version = confirmed;
    return request;
  }
  std::vector<Replied> Confirm(const ShardWorld::Client& client, uint64_t confirmed) {
    return world.Ask(client, {ConfirmOf(confirmed)});
  }

  // Lets the shard's own loop run; once per test.
  void RunFor(std::chrono::milliseconds time) {
    std::jthread loop([this] { world.worker->Run(); });
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      world.port.Wake();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    world.worker->Stop();
  }

  uint64_t StatOf(const ShardWorld::Client& client, const std::string& name) {
    const std::string text = "\n" + world.StatsText(client);
    const size_t at = text.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << name;
    return std::stoull(text.substr(at + name.size() + 2));
  }

  ShardWorld world;
  uint64_t sequence_ = 0;
};

TEST_F(ShardGrowth, TableIsFreedWhenTheLastClientHasConfirmed) {
  const auto one = world.Connect(1);
  const auto two = world.Connect(2, &world.other_port);
  Confirm(one, version());
  Confirm(two, version());
  const size_t first_bytes = current_bytes();
  Grow(one);
  ASSERT_TRUE(growth().draining());
  EXPECT_EQ(growth().table_bytes(), first_bytes + current_bytes());
  const size_t used_bytes = world.store->memory().used_bytes();
  Confirm(one, version());
  EXPECT_TRUE(growth().draining()) << "one still goes by the old superblock";
  Confirm(two, version());
  EXPECT_FALSE(growth().draining());
  EXPECT_EQ(growth().table_bytes(), current_bytes());
  EXPECT_EQ(world.store->memory().used_bytes(), used_bytes - first_bytes);

  const Region& region = world.store->region();
  const size_t committed_bytes = region.committed_bytes();
  while (world.store->OnIdle()) {
  }
  EXPECT_EQ(region.committed_bytes(), committed_bytes - first_bytes) << "the host has it back";
}

TEST_F(ShardGrowth, ConfirmationOfTheSuperblockWithBothTablesFreesNothing) {
  const auto client = world.Connect(1);
  Confirm(client, version());
  while (world.store->table().phase() != cuckoo::GrowingTable::Phase::kMoving) PutOne(client);
  const uint64_t both = version();
  Grow(client);
  Confirm(client, both);
  EXPECT_TRUE(growth().draining());
  Confirm(client, both + 1);
  EXPECT_FALSE(growth().draining());
}

TEST_F(ShardGrowth, ClientThatHasConfirmedNothingYetIsWaitedFor) {
  const auto one = world.Connect(1);
  Confirm(one, version());
  const auto fresh = world.Connect(2);
  Grow(one);
  Confirm(one, version());
  EXPECT_TRUE(growth().draining());
  Confirm(fresh, version());
  EXPECT_FALSE(growth().draining());
}

TEST_F(ShardGrowth, EndOfTheLastThatHadNotConfirmedFreesTheTable) {
  const auto one = world.Connect(1);
  const auto two = world.Connect(2);
  Grow(one);
  Confirm(one, version());
  ASSERT_TRUE(growth().draining());
  world.HangUp(two);
  EXPECT_FALSE(growth().draining());
}

// It cannot say by which table it goes.
TEST_F(ShardGrowth, ConnectionThatOnlyReadsIsWaitedFor) {
  const auto one = world.Connect(1);
  world.port.reads_only = true;
  const auto reader = world.Connect(0);
  Grow(one);
  Confirm(one, version());
  EXPECT_TRUE(growth().draining());
  world.HangUp(reader);
  EXPECT_FALSE(growth().draining());
}

TEST_F(ShardGrowth, SeveralTablesAreFreedInTheirOrder) {
  const auto one = world.Connect(1);
  const auto two = world.Connect(2);
  Grow(one);
  const uint64_t after_one = version();
  Grow(one, 2);
  Confirm(one, version());
  const size_t all_bytes = growth().table_bytes();
  Confirm(two, after_one);
  EXPECT_TRUE(growth().draining());
  EXPECT_LT(growth().table_bytes(), all_bytes);
  Confirm(two, version());
  EXPECT_EQ(growth().table_bytes(), current_bytes());
}

TEST_F(ShardGrowth, OneThatComesWithAFreedTablesSuperblockIsClosed) {
  const auto one = world.Connect(1);
  const uint64_t old = version();
  Grow(one);
  Confirm(one, version());
  ASSERT_FALSE(growth().draining());
  const auto late = world.Connect(2);
  EXPECT_TRUE(Confirm(late, old).empty());
  EXPECT_TRUE(world.port.IsClosed(late.peer));
  const auto again = world.Connect(2);
  EXPECT_EQ(Confirm(again, version()).size(), 1u);
  EXPECT_FALSE(world.port.IsClosed(again.peer));
  EXPECT_EQ(PutOne(one), Code::kOk);
}

TEST_F(ShardGrowth, OneThatConfirmsNothingHasItsGrace) {
  const auto one = world.Connect(1);
  const auto idle = world.Connect(2);
  Grow(one);
  Confirm(one, version());
  RunFor(std::chrono::milliseconds(50));
  EXPECT_FALSE(world.port.IsClosed(idle.peer));
  EXPECT_TRUE(growth().draining());
}

class ShardGrowthShortGrace : public ShardGrowth {
 protected:
  ShardGrowthShortGrace() : ShardGrowth(Growing(), 20'000) {}
};

TEST_F(ShardGrowthShortGrace, OneThatConfirmsNothingIsDropped) {
  const auto one = world.Connect(1);
  const auto idle = world.Connect(2, &world.other_port);
  Grow(one, 2);
  Confirm(one, version());
  RunFor(std::chrono::milliseconds(300));
  EXPECT_FALSE(world.port.IsClosed(one.peer));
  EXPECT_TRUE(world.other_port.IsClosed(idle.peer));
  EXPECT_FALSE(growth().draining());
  EXPECT_EQ(growth().table_bytes(), current_bytes());
  EXPECT_EQ(StatOf(one, "clients_dropped_unconfirmed"), 1u);
  EXPECT_EQ(StatOf(one, "clients"), 1u);
}

TEST_F(ShardGrowthShortGrace, OneThatWasDroppedMayComeBack) {
  const auto one = world.Connect(1);
  const auto idle = world.Connect(2);
  EXPECT_EQ(world.AskOne(idle, PutOf("theirs", "v", 1)).status, Code::kOk);
  Grow(one);
  Confirm(one, version());
  RunFor(std::chrono::milliseconds(300));
  ASSERT_TRUE(world.port.IsClosed(idle.peer));
  const auto again = world.Connect(2);
  EXPECT_EQ(Confirm(again, version()).size(), 1u);
  EXPECT_EQ(world.AskOne(again, GetOf("theirs")).value, "v");
  EXPECT_EQ(world.AskOne(again, RetryOf(PutOf("theirs", "v", 1))).status, Code::kOk);
  EXPECT_EQ(StatOf(one, "retries_answered"), 1u) << "its session was kept";
}

// 700 KiB: the third growth, from 256 KiB, has no room beside the two tables that an idle client
// holds up, 64 and 128 KiB, and has it without them.
class ShardGrowthHungry : public ShardGrowth {
 protected:
  ShardGrowthHungry() : ShardGrowth(Growing(size_t{700} << 10), 2'000'000) {}
};

TEST_F(ShardGrowthHungry, GraceIsATenthWhileTheMemoryIsWanted) {
  const auto one = world.Connect(1);
  const auto idle = world.Connect(2);
  for (int i = 0; i < 20'000 && !growth().hungry(); ++i) PutOne(one);
  ASSERT_TRUE(growth().hungry());
  ASSERT_TRUE(growth().draining());
  Confirm(one, version());
  const size_t held_bytes = current_bytes();
  RunFor(std::chrono::milliseconds(700));
  EXPECT_TRUE(world.port.IsClosed(idle.peer));
  for (int i = 0; i < 20'000 && current_bytes() == held_bytes; ++i) PutOne(one);
  EXPECT_GT(current_bytes(), held_bytes) << "what was freed serves the next table";
  EXPECT_FALSE(growth().hungry());
}

// Full, with a table that two clients hold up: who writes has none of it to wait for but itself.
TEST_F(ShardGrowthHungry, AWriteWaitsForOthersToConfirmAndNotForItself) {
  const auto one = world.Connect(1);
  const auto idle = world.Connect(2);
  Code status = Code::kOk;
  while (status == Code::kOk) status = PutOne(one);
  ASSERT_EQ(status, Code::kNoSpace) << "and not without an answer";
  ASSERT_TRUE(growth().draining());
  EXPECT_FALSE(world.port.IsClosed(one.peer));
  Confirm(one, version());
  ASSERT_TRUE(growth().draining());
  // Until a key finds no place.
  const auto put_next = [&] {
    ++sequence_;
    const std::string key = "k" + std::to_string(sequence_);
    return world.Post(one, Encode(one.id, {PutOf(key, "v", sequence_)}));
  };
  for (int i = 0; i < 10'000; ++i) {
    if (put_next().empty()) break;
  }
  ASSERT_TRUE(world.port.sent.empty()) << "the other client may confirm";
  world.port.Script(ShardWorld::Kind::kMessage, idle.peer, 0,
                    Encode(idle.id, {ConfirmOf(version())}));
  while (world.port.sent.size() < 2 && world.shard.Turn()) continue;
  ASSERT_EQ(world.port.sent.size(), 2u);
  EXPECT_EQ(Decode(one.id, world.port.sent[1].message)[0].status, Code::kOk);
}

TEST_F(ShardGrowthHungry, DeletesEndTheHunger) {
  const auto one = world.Connect(1);
  Confirm(one, version());
  while (!growth().hungry()) {
    PutOne(one);
    if (growth().draining()) Confirm(one, version());
  }
  const uint64_t last = sequence_;
  for (uint64_t i = 1; i <= last; ++i) {
    verify::Request request = RequestOf(Operation::kDelete, {});
    const std::string key = "k" + std::to_string(i);
    request.key = key;
    request.sequence = ++sequence_;
    world.AskOne(one, request);
  }
  EXPECT_FALSE(growth().hungry());
}

}  // namespace
}  // namespace plov::server
