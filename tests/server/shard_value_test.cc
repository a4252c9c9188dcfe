// Values that travel apart from messages: rendezvous writes, held records; and GET by message.
#include <gtest/gtest.h>

#include "tests/server/shard_world.h"

namespace plov::server {
namespace {

using verify::Operation;

class ShardRendezvous : public ::testing::Test {
 protected:
  ShardWorld world;
  ShardWorld::Client client = world.Connect(7);
  const std::string value = RecordValue(7, 50'000);
};

TEST_F(ShardRendezvous, ServerReadsTheValueAndThenReplies) {
  EXPECT_TRUE(world.Ask(client, {RendezvousOf("key", value.size(), 1)}).empty());
  ASSERT_EQ(world.port.reads.size(), 1u);
  EXPECT_EQ(world.port.reads[0].peer, client.peer);
  EXPECT_EQ(world.port.reads[0].read.offset, 4096u);
  const auto replies = world.Arrive(client, value);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, Code::kOk);
  EXPECT_EQ(replies[0].request_id, 1u);
  const auto hit = world.store->Get("key", 0);
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->item.value(), value);
  EXPECT_EQ(hit->item.version(), replies[0].version);
}

TEST_F(ShardRendezvous, OthersAreServedMeanwhile) {
  world.Ask(client, {RendezvousOf("key", value.size(), 1)});
  const auto other = world.Connect(8);
  const Replied between = world.AskOne(other, PutOf("key", "v", 1));
  const auto replies = world.Arrive(client, value);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_GT(replies[0].version, between.version);
}

TEST_F(ShardRendezvous, FailedReadIsAnErrorAndFreesTheRecord) {
  world.Ask(client, {RendezvousOf("key", value.size(), 1)});
  EXPECT_GT(world.allocated(), 0u);
  const auto replies = world.FinishRead(client, false);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, Code::kProtocol);
  EXPECT_EQ(world.allocated(), 0u);
  EXPECT_EQ(world.AskOne(client, GetOf("key")).status, Code::kNotFound);
  EXPECT_EQ(world.AskOne(client, RetryOf(RendezvousOf("key", value.size(), 1))).status,
            Code::kProtocol);
}

TEST_F(ShardRendezvous, RendezvousThatIsNotAloneEndsTheConnection) {
  EXPECT_TRUE(world.Ask(client, {RendezvousOf("key", 100, 1), Ping(2)}).empty());
  EXPECT_TRUE(world.port.IsClosed(client.peer));
  const auto again = world.Connect(8);
  EXPECT_TRUE(world.Ask(again, {Ping(1), RendezvousOf("key", 100, 2)}).empty());
  EXPECT_TRUE(world.port.IsClosed(again.peer));
  EXPECT_TRUE(world.port.reads.empty());
  EXPECT_EQ(world.allocated(), 0u);
}

TEST_F(ShardRendezvous, OperationsWithoutAValueCannotRendezvous) {
  for (const auto operation :
       {Operation::kGet, Operation::kDelete, Operation::kPing, Operation::kStats, Operation::kSync,
        Operation::kSnapshot, Operation::kAdminister}) {
    auto request = RendezvousOf("key", 100, 1);
    request.operation = operation;
    EXPECT_EQ(world.AskOne(client, request).status, Code::kProtocol);
  }
  EXPECT_TRUE(world.port.reads.empty());
}

TEST_F(ShardRendezvous, ValueThatIsTooLargeIsRefusedAtOnce) {
  EXPECT_EQ(world.AskOne(client, RendezvousOf("key", verify::kValueBytesMax + 1, 1)).status,
            Code::kTooLarge);
  EXPECT_EQ(world.AskOne(client, RendezvousOf("key", UINT32_MAX, 2)).status, Code::kTooLarge);
  EXPECT_EQ(world.AskOne(client, RendezvousOf("key", verify::kValueBytesMax, 3)).status,
            Code::kNoSpace)
      << "the store has 16 MiB in all";
  EXPECT_EQ(world.AskOne(client, RetryOf(RendezvousOf("key", 100, 3))).status, Code::kNoSpace)
      << "a refusal is remembered too";
  EXPECT_TRUE(world.port.reads.empty());
}

TEST_F(ShardRendezvous, ClientGoneInMidFetchFreesTheRecord) {
  world.Ask(client, {RendezvousOf("key", value.size(), 1)});
  EXPECT_GT(world.allocated(), 0u);
  world.HangUp(client);
  EXPECT_EQ(world.allocated(), 0u);
}

TEST_F(ShardRendezvous, ClientBackInMidFetchMayRetryIt) {
  world.Ask(client, {RendezvousOf("key", value.size(), 1)});
  const auto again = world.Connect(7);
  EXPECT_TRUE(world.port.IsClosed(client.peer));
  EXPECT_EQ(world.allocated(), 0u);
  EXPECT_TRUE(world.Ask(again, {RetryOf(RendezvousOf("key", value.size(), 1))}).empty());
  const auto replies = world.Arrive(again, value);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, Code::kOk);
  EXPECT_EQ(world.store->stats().puts, 1u);
}

TEST_F(ShardRendezvous, ReadThatEndsAfterItsClientIsIgnored) {
  world.Ask(client, {RendezvousOf("key", value.size(), 1)});
  world.HangUp(client);
  EXPECT_TRUE(world.FinishRead(client, true).empty());
  EXPECT_EQ(world.store->stats().puts, 0u);
}

TEST_F(ShardRendezvous, RetriedFetchIsAnsweredWithoutAnotherRead) {
  world.Ask(client, {RendezvousOf("key", value.size(), 1)});
  const auto replies = world.Arrive(client, value);
  const auto again = world.Connect(7);
  const Replied retried = world.AskOne(again, RetryOf(RendezvousOf("key", value.size(), 1)));
  EXPECT_EQ(retried.status, Code::kOk);
  EXPECT_EQ(retried.version, replies[0].version);
  EXPECT_EQ(world.port.reads.size(), 1u);
  EXPECT_EQ(world.store->stats().puts, 1u);
}

class ShardGet : public ShardRendezvous {
 protected:
  // Stores a value of any size.
  void Store(const ShardWorld::Client& by, std::string_view key, std::string_view stored,
             uint64_t sequence) {
    EXPECT_TRUE(world.Ask(by, {RendezvousOf(key, stored.size(), sequence)}).empty());
    EXPECT_EQ(world.Arrive(by, stored)[0].status, Code::kOk);
  }
  std::optional<verify::MaskedItem> RecordAt(const Replied& reply) {
    return verify::CheckRecord(
        {world.store->region().data() + reply.record_offset, reply.record_bytes},
        verify::RecordSeed(world.store->incarnation()));
  }

  ShardWorld::Client other = world.Connect(8);
};

TEST_F(ShardGet, SmallValueComesInTheReply) {
  auto put = PutOf("key", "value", 1);
  put.flags = 5;
  const Replied stored = world.AskOne(client, put);
  const Replied reply = world.AskOne(other, GetOf("key", 42));
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_EQ(reply.request_id, 42u);
  EXPECT_EQ(reply.value, "value");
  EXPECT_EQ(reply.version, stored.version);
  EXPECT_FALSE(reply.held);
}

TEST_F(ShardGet, AbsentKeyIsNotFound) {
  EXPECT_EQ(world.AskOne(client, GetOf("absent")).status, Code::kNotFound);
  EXPECT_EQ(world.AskOne(client, GetOf("")).status, Code::kInvalidArgument);
}

TEST_F(ShardGet, DamagedItemIsCorrupt) {
  Store(client, "key", RecordValue(1, 1000), 1);
  const Replied before = world.AskOne(client, GetOf("key"));
  ASSERT_EQ(before.status, Code::kOk);
  const auto hit = world.store->Get("key", 0);
  world.store->region().data()[hit->record_offset + 500] ^= std::byte{1};
  auto suspect = GetOf("key");
  suspect.suspect = true;
  EXPECT_EQ(world.AskOne(client, suspect).status, Code::kCorrupt);
  EXPECT_TRUE(world.port.closed.empty());
}

TEST_F(ShardGet, LargeValueIsHeldWhereItIs) {
  Store(client, "key", value, 1);
  const Replied reply = world.AskOne(client, GetOf("key"));
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_TRUE(reply.held);
  EXPECT_EQ(reply.value_bytes, value.size());
  const auto item = RecordAt(reply);
  ASSERT_TRUE(item.has_value());
  EXPECT_EQ(item->value(), value);
  EXPECT_EQ(item->version(), reply.version);
}

TEST_F(ShardGet, BatchOfValuesThatDoNotFitTogetherIsAnsweredWhole) {
  const std::string medium = RecordValue(3, 12'000);
  Store(client, "key", medium, 1);
  std::vector<verify::Request> gets;
  for (uint64_t i = 0; i < 8; ++i) gets.push_back(GetOf("key", i));
  const auto replies = world.Ask(other, gets);
  ASSERT_EQ(replies.size(), 8u);
  size_t held = 0;
  for (const Replied& reply : replies) {
    EXPECT_EQ(reply.status, Code::kOk);
    held += reply.held ? 1 : 0;
    EXPECT_EQ(reply.held ? RecordAt(reply)->value() : reply.value, medium);
  }
  EXPECT_EQ(held, 6u) << "two of 12,000 bytes fit in 32 KiB";
}

// An item in a bucket has no record to hold.
TEST_F(ShardGet, InlineItemsBeyondTheRoomAreRefusedNotHeld) {
  world.AskOne(client, PutOf("key", "a value in a bucket", 1));
  std::vector<verify::Request> gets;
  for (uint64_t i = 0; i < 580; ++i) gets.push_back(GetOf("key", i));
  const auto replies = world.Ask(client, gets);
  ASSERT_EQ(replies.size(), gets.size());
  EXPECT_EQ(replies.front().value, "a value in a bucket");
  EXPECT_EQ(replies.back().status, Code::kTooLarge);
  for (const Replied& reply : replies) EXPECT_FALSE(reply.held);
}

TEST_F(ShardGet, HeldRecordSurvivesOverwritesUntilTheNextMessage) {
  Store(client, "key", value, 1);
  const Replied reply = world.AskOne(client, GetOf("key"));
  Store(other, "key", RecordValue(8, 50'000), 1);
  const size_t both = world.allocated();
  Store(other, "more", RecordValue(9, 50'000), 2);
  ASSERT_TRUE(RecordAt(reply).has_value());
  EXPECT_EQ(RecordAt(reply)->value(), value);
  EXPECT_GT(world.allocated(), both);
  world.Ask(client, {Ping(1)});
  EXPECT_EQ(world.allocated(), both) << "released";
}

// Who still READs it says so in the messages that it sends meanwhile.
TEST_F(ShardGet, HeldRecordIsKeptAsLongAsMessagesSaySo) {
  Store(client, "key", value, 1);
  const Replied reply = world.AskOne(client, GetOf("key"));
  Store(other, "key", RecordValue(8, 50'000), 1);
  const size_t both = world.allocated();
  for (uint64_t i = 1; i < 4; ++i) {
    world.Post(client, Encode(client.id, {Ping(i)}, true));
    ASSERT_TRUE(RecordAt(reply).has_value());
    EXPECT_EQ(RecordAt(reply)->value(), value);
    EXPECT_EQ(world.allocated(), both);
  }
  world.Ask(client, {Ping(4)});
  EXPECT_LT(world.allocated(), both);
}

TEST_F(ShardGet, HeldRecordIsReleasedWhenItsClientGoes) {
  Store(client, "key", value, 1);
  world.AskOne(client, GetOf("key"));
  auto remove = RequestOf(Operation::kDelete, "key");
  remove.sequence = 1;
  world.AskOne(other, remove);
  EXPECT_GT(world.allocated(), 0u);
  world.HangUp(client);
  EXPECT_EQ(world.allocated(), 0u);
}

TEST_F(ShardGet, HeldRecordIsKeptForEachOfItsHolders) {
  Store(client, "key", value, 1);
  const Replied reply = world.AskOne(client, GetOf("key"));
  world.AskOne(other, GetOf("key"));
  const auto third = world.Connect(9);
  auto remove = RequestOf(Operation::kDelete, "key");
  remove.sequence = 1;
  world.AskOne(third, remove);
  world.HangUp(client);
  EXPECT_TRUE(RecordAt(reply).has_value());
  EXPECT_GT(world.allocated(), 0u);
  world.HangUp(other);
  EXPECT_EQ(world.allocated(), 0u);
}

// A holder that lives, says nothing and reads nothing does not keep memory for ever.
TEST(ShardHold, AgedHoldsAreReleased) {
  ShardWorld world(StoreWorld::SmallOptions(), {.hold_us = 0});
  const auto client = world.Connect(7);
  world.Ask(client, {RendezvousOf("key", 50'000, 1)});
  world.Arrive(client, RecordValue(1, 50'000));
  ASSERT_TRUE(world.AskOne(client, GetOf("key")).held);
  auto remove = RequestOf(Operation::kDelete, "key");
  remove.sequence = 1;
  world.AskOne(world.Connect(8), remove);
  EXPECT_GT(world.allocated(), 0u);
  world.port.on_arm = [&] { world.worker->Stop(); };
  world.worker->Run();
  EXPECT_EQ(world.allocated(), 0u);
}

}  // namespace
}  // namespace plov::server
