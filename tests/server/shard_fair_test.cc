// One client's long messages do not keep others waiting: a shard handles them in slices.
#include <gtest/gtest.h>

#include <cstddef>

#include "tests/server/shard_world.h"

namespace plov::server {
namespace {

using verify::Operation;
using Kind = ShardWorld::Kind;

class ShardFair : public ::testing::Test {
 protected:
  // Steps until so many messages were sent; how many steps that took.
  size_t StepsUntilSent(size_t count) {
    size_t steps = 0;
    while (world.port.sent.size() < count) {
      if (++steps > 10'000 || !world.shard.Step()) {
        ADD_FAILURE() << "nothing was sent";
        break;
      }
    }
    return steps;
  }
  void Script(const ShardWorld::Client& from, const std::vector<verify::Request>& requests) {
    world.port.Script(Kind::kMessage, from.peer, 0, Encode(from.id, requests));
  }
  static std::vector<verify::Request> Puts(const std::vector<std::string>& keys) {
    std::vector<verify::Request> requests;
    for (size_t i = 0; i < keys.size(); ++i) requests.push_back(PutOf(keys[i], "v", i + 1));
    return requests;
  }
  static std::vector<std::string> Keys(size_t count) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; ++i) keys.push_back("k" + std::to_string(i));
    return keys;
  }
  // Stores a value of a MiB by rendezvous.
  void PutLong(const ShardWorld::Client& from, uint64_t sequence) {
    world.Ask(from, {RendezvousOf("long", value.size(), sequence)});
    ASSERT_EQ(world.Arrive(from, value)[0].status, Code::kOk);
  }

  ShardWorld world;
  ShardWorld::Client flooder = world.Connect(7);
  ShardWorld::Client other = world.Connect(8);
  const std::vector<std::string> keys = Keys(400);
  const std::string value = RecordValue(7, kMiB);
};

TEST_F(ShardFair, AShortMessageOvertakesALongOne) {
  Script(flooder, Puts(keys));
  Script(other, {PutOf("key", "v", 1)});
  EXPECT_LE(StepsUntilSent(1), 2u);
  ASSERT_EQ(world.port.sent[0].peer, other.peer);
  world.port.sent.clear();
  EXPECT_GT(StepsUntilSent(1), 5u);
  const auto replies = world.Collect(flooder);
  ASSERT_EQ(replies.size(), keys.size());
  for (size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i].status, Code::kOk);
    EXPECT_EQ(replies[i].request_id, i + 1);
  }
}

TEST_F(ShardFair, LongMessagesHaveTheirSlicesInTurn) {
  Script(flooder, Puts(keys));
  Script(other, Puts(keys));
  EXPECT_GT(StepsUntilSent(1), 2 * keys.size() / Slices{}.now().requests - 5);
  EXPECT_LE(StepsUntilSent(2), 2u) << "the other is as far";
}

TEST(Slices, AreShortWhileAnotherSendsToo) {
  Slices slices;
  const int one = 0, another = 0;
  const auto requests_at = [&slices](const int* sender, uint64_t now_us) {
    slices.OnMessage(sender, now_us);
    return slices.now().requests;
  };
  const uint32_t few = requests_at(&one, 1'000'000);
  const uint32_t many = requests_at(&one, 1'100'000);
  EXPECT_GT(many, few) << "alone for a tenth of a second";
  EXPECT_EQ(requests_at(&another, 1'100'001), few);
  EXPECT_EQ(requests_at(&one, 1'100'002), few);
  EXPECT_EQ(requests_at(&one, 1'200'001), few);
  EXPECT_EQ(requests_at(&one, 1'200'002), many);
}

TEST_F(ShardFair, AClientThatGoesInTheMiddleLeavesNothingBehind) {
  Script(flooder, Puts(keys));
  world.shard.Step();
  world.HangUp(flooder);
  EXPECT_TRUE(world.port.sent.empty());
  EXPECT_EQ(world.store->Get(keys.back(), 0).error(), Code::kNotFound);
  EXPECT_TRUE(world.store->Get(keys.front(), 0));
  EXPECT_FALSE(world.shard.Step());
}

// A client READs a large value itself, and so verifies it.
TEST_F(ShardFair, GetsOfALongValueByMessageDoNotReadIt) {
  PutLong(flooder, 1);
  const uint64_t before = world.store->work();
  EXPECT_EQ(world.Ask(flooder, std::vector(100, GetOf("long"))).size(), 100u);
  EXPECT_LT(world.store->work() - before, value.size());
}

TEST_F(ShardFair, ALongValueIsSealedInSlices) {
  world.Ask(flooder, {RendezvousOf("long", value.size(), 1)});
  const fabric::PeerRead read = world.port.reads.back().read;
  StoreSlices(read, value);
  world.port.sent.clear();
  world.port.Script(Kind::kReadDone, flooder.peer, 0, {}, true);
  Script(other, {PutOf("long", "overtakes", 1)});
  StepsUntilSent(1);
  ASSERT_EQ(world.port.sent[0].peer, other.peer);
  const auto between = world.Collect(other);
  world.port.sent.clear();
  StepsUntilSent(1);
  const auto replies = world.Collect(flooder);
  EXPECT_GT(replies[0].version, between[0].version) << "versions grow in the order of the writes";
  const auto hit = world.store->Get("long", 0);
  ASSERT_TRUE(hit);
  EXPECT_EQ(hit->item.value(), value);
}

class SuspectedLongValue : public ShardFair {
 protected:
  void SetUp() override {
    PutLong(flooder, 1);
    suspicion.suspect = true;
    world.port.sent.clear();
  }
  void Ask() {
    Script(flooder, {suspicion});
    Script(other, {PutOf("key", "v", 1)});
    StepsUntilSent(1);
    ASSERT_EQ(world.port.sent[0].peer, other.peer) << "it is verified in slices";
    world.port.sent.clear();
    StepsUntilSent(1);
  }

  verify::Request suspicion = GetOf("long");
};

TEST_F(SuspectedLongValue, IsHeldWhenItIsWhole) {
  Ask();
  const auto replies = world.Collect(flooder);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, Code::kOk);
  EXPECT_TRUE(replies[0].held);
}

TEST_F(SuspectedLongValue, IsCorruptWhenItIsDamaged) {
  const auto hit = world.store->Get("long", 0);
  ASSERT_TRUE(hit);
  uint64_t* word =
      verify::WordsAt(world.store->region().data(), (hit->record_offset + kMiB / 2) / 8 * 8);
  *word ^= 1;
  Ask();
  EXPECT_EQ(world.Collect(flooder)[0].status, Code::kCorrupt);
}

TEST_F(SuspectedLongValue, IsFreeAgainWhenItsClientGoes) {
  Script(flooder, {suspicion});
  world.shard.Step();
  world.HangUp(flooder);
  const size_t before = world.allocated();
  verify::Request request = PutOf("long", {}, 1);
  request.operation = Operation::kDelete;
  EXPECT_EQ(world.AskOne(other, request).status, Code::kOk);
  EXPECT_LT(world.allocated() + kMiB / 2, before);
}

}  // namespace
}  // namespace plov::server
