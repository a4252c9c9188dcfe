// A shard and its log: replies wait for the disk, and what the disk's troubles mean to clients.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/server/shard_world.h"
#include "tests/server/test_log.h"

namespace plov::server {
namespace {

using log::CommitMode;
using verify::Operation;

StoreOptions GrowingOptions() {
  StoreOptions options = StoreWorld::SmallOptions();
  options.grows = true;
  options.stashes = true;
  return options;
}

class LoggedShard : public ShardWorld {
 public:
  explicit LoggedShard(CommitMode mode) : ShardWorld(GrowingOptions()), log(mode) {
    shard.LogTo({&log.commit(), mode});
  }

  // Sends without waiting for the reply.
  void Send(const Client& client, const std::vector<verify::Request>& requests) {
    port.Script(Kind::kMessage, client.peer, client.id, Encode(client.id, requests));
    TurnSome();
  }
  void TurnSome() {
    for (int i = 0; i < 50; ++i) shard.Turn();
  }
  // The disk has done all it was given, again and again.
  void Commit() {
    for (int i = 0; i < 5; ++i) {
      log.Commit();
      TurnSome();
    }
  }
  std::vector<Replied> LastReplies(const Client& client) {
    const auto last = std::find_if(port.sent.rbegin(), port.sent.rend(),
                                   [&](const auto& sent) { return sent.peer == client.peer; });
    return Decode(client.id, last->message);
  }

  TestLog log;
};

verify::Request AddOf(std::string_view key, std::string_view value, uint64_t sequence) {
  auto request = PutOf(key, value, sequence);
  request.operation = Operation::kAdd;
  return request;
}

verify::Request SyncOf(uint64_t request_id) {
  auto request = Ping(request_id);
  request.operation = Operation::kSync;
  return request;
}

class ShardLog : public ::testing::TestWithParam<CommitMode> {};

TEST_P(ShardLog, NobodyIsToldOfAWriteBeforeItIsDurable) {
  LoggedShard world(GetParam());
  const auto client = world.Connect(7);
  const size_t sent = world.port.sent.size();
  world.Send(client, {PutOf("a", "1", 1), PutOf("b", std::string(5000, 'b'), 2)});
  EXPECT_EQ(world.port.sent.size(), sent);
  world.Commit();
  ASSERT_EQ(world.port.sent.size(), sent + 1);
  for (const Replied& reply : world.LastReplies(client)) EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, GetOf("a")).value, "1");
}

// What is in the log and not yet in the table when it begins is deleted, too.
TEST_P(ShardLog, AFlushIsOverWhenItsDeletesAreDurable) {
  LoggedShard world(GetParam());
  const auto client = world.Connect(7);
  const auto other = world.Connect(8);
  for (uint64_t i = 1; i <= 50; ++i) {
    world.Send(other, {PutOf("key " + std::to_string(i), "v", i)});
    if (i == 40) world.Commit();
  }
  verify::Request flush = Ping(1);
  flush.operation = Operation::kFlush;
  flush.expected_version = 77;
  Replied reply;
  for (int asks = 0; asks < 10 && (asks == 0 || reply.version != 0); ++asks) {
    const size_t sent = world.port.sent.size();
    world.Send(client, {flush});
    const bool waits = world.port.sent.size() == sent;
    world.Commit();
    reply = world.LastReplies(client).front();
    EXPECT_EQ(reply.status, Code::kOk);
    EXPECT_TRUE(!waits || reply.version == 0 || asks == 0);
  }
  EXPECT_EQ(reply.version, 0);
  EXPECT_EQ(reply.number, 50);
  EXPECT_EQ(world.store->pending(), 0);
  EXPECT_EQ(world.AskOne(client, GetOf("key 1")).status, Code::kNotFound);
  EXPECT_EQ(world.AskOne(client, GetOf("key 50")).status, Code::kNotFound);
}

TEST_P(ShardLog, TheSlowLogSaysThatAWriteWaitedForTheDisk) {
  LoggedShard world(GetParam());
  const auto client = world.Connect(7);
  world.shard.KeepSlow(std::chrono::microseconds(0));
  world.Send(client, {PutOf("a", "1", 1)});
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  world.Commit();
  const auto writes = verify::ReadSlowWrites(
      world.store->region().memory().subspan(verify::kSlowWritesOffset, verify::kSlowWritesBytes));
  ASSERT_EQ(writes.size(), 1u);
  EXPECT_GE(writes[0].spent_us[static_cast<size_t>(verify::Cause::kDisk)], 1000u);
}

TEST_P(ShardLog, ARefusalWaitsForTheWriteThatItTellsOf) {
  LoggedShard world(GetParam());
  const auto client = world.Connect(7);
  const auto other = world.Connect(8);
  world.Send(client, {PutOf("a", "1", 1)});
  const size_t sent = world.port.sent.size();
  world.Send(other, {AddOf("a", "2", 1)});
  EXPECT_EQ(world.port.sent.size(), sent);
  world.Commit();
  ASSERT_EQ(world.port.sent.size(), sent + 2);
  EXPECT_EQ(world.LastReplies(other).front().status, Code::kExists);
}

TEST_P(ShardLog, ARetryWaitsAsTheWriteDoes) {
  LoggedShard world(GetParam());
  const auto client = world.Connect(7);
  world.Send(client, {PutOf("a", "1", 1)});
  const auto again = world.Connect(7);
  const size_t sent = world.port.sent.size();
  auto retry = PutOf("a", "1", 1);
  retry.retry = true;
  world.Send(again, {retry});
  EXPECT_EQ(world.port.sent.size(), sent);
  world.Commit();
  ASSERT_EQ(world.port.sent.size(), sent + 1);
  EXPECT_EQ(world.LastReplies(again).front().status, Code::kOk);
}

TEST_P(ShardLog, ASyncWaitsForOthersWrites) {
  LoggedShard world(GetParam());
  const auto client = world.Connect(7);
  const auto other = world.Connect(8);
  world.Send(client, {PutOf("a", "1", 1)});
  const size_t sent = world.port.sent.size();
  world.Send(other, {SyncOf(5)});
  EXPECT_EQ(world.port.sent.size(), sent);
  world.Commit();
  ASSERT_EQ(world.port.sent.size(), sent + 2);
  EXPECT_EQ(world.LastReplies(other).front().status, Code::kOk);
}

TEST_P(ShardLog, ASyncIsAnsweredAtOnceWhenNothingPends) {
  LoggedShard world(GetParam());
  const auto client = world.Connect(7);
  EXPECT_EQ(world.AskOne(client, SyncOf(5)).status, Code::kOk);
  world.Send(client, {PutOf("a", "1", 1)});
  world.Commit();
  EXPECT_EQ(world.AskOne(client, SyncOf(6)).status, Code::kOk);
}

INSTANTIATE_TEST_SUITE_P(Durable, ShardLog,
                         ::testing::Values(CommitMode::kStrict, CommitMode::kAcked));

TEST(ShardLogStrict, WritesOfAKeyComeOneAfterTheOther) {
  LoggedShard world(CommitMode::kStrict);
  const auto client = world.Connect(7);
  const size_t sent = world.port.sent.size();
  world.Send(client, {PutOf("a", "1", 1), PutOf("a", "2", 2), GetOf("a", 3)});
  world.Commit();
  ASSERT_EQ(world.port.sent.size(), sent + 1);
  const auto replies = world.LastReplies(client);
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_LT(replies[0].version, replies[1].version);
  EXPECT_EQ(world.AskOne(client, GetOf("a")).value, "2");
}

TEST(ShardLogAsync, AWriteIsAnsweredAtOnce) {
  LoggedShard world(CommitMode::kAsync);
  const auto client = world.Connect(7);
  EXPECT_EQ(world.AskOne(client, PutOf("a", "1", 1)).status, Code::kOk);
  EXPECT_TRUE(world.log.commit().pending());
}

TEST(ShardLogAsync, ABatchIsCollectedForSomeTurnsAndNotWhileTheShardSleeps) {
  for (const bool sleeps : {false, true}) {
    LoggedShard world(CommitMode::kAsync);
    const auto client = world.Connect(7);
    EXPECT_EQ(world.AskOne(client, PutOf("a", "1", 1)).status, Code::kOk);
    EXPECT_FALSE(world.log.commit().Step(false)) << "the log's thread has nothing yet";
    if (sleeps) {
      ASSERT_TRUE(world.shard.Arm());
    } else {
      world.TurnSome();
    }
    EXPECT_TRUE(world.log.commit().Step(false)) << sleeps;
  }
}

// The log's interval is never over here: nothing but the request makes it sync.
TEST(ShardLogAsync, ASyncIsAnsweredWhenAllIsDurableAndNotBefore) {
  LoggedShard world(CommitMode::kAsync);
  const auto client = world.Connect(7);
  const auto other = world.Connect(8);
  EXPECT_EQ(world.AskOne(client, PutOf("a", "1", 1)).status, Code::kOk);
  const size_t sent = world.port.sent.size();
  world.Send(other, {SyncOf(5)});
  EXPECT_EQ(world.port.sent.size(), sent);
  for (int i = 0; i < 10; ++i) {
    world.log.commit().Step(false);
    world.TurnSome();
    EXPECT_EQ(world.port.sent.size() > sent, !world.log.commit().pending());
  }
  ASSERT_EQ(world.port.sent.size(), sent + 1);
  EXPECT_EQ(world.LastReplies(other).front().status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, SyncOf(6)).status, Code::kOk) << "nothing is left to wait for";
}

TEST(ShardLogAsync, ASyncCountsTheWritesOfItsOwnMessage) {
  LoggedShard world(CommitMode::kAsync);
  const auto client = world.Connect(7);
  const size_t sent = world.port.sent.size();
  world.Send(client, {PutOf("a", "1", 1), SyncOf(5), GetOf("a", 6)});
  EXPECT_EQ(world.port.sent.size(), sent);
  world.Commit();
  ASSERT_EQ(world.port.sent.size(), sent + 1);
  const auto replies = world.LastReplies(client);
  ASSERT_EQ(replies.size(), 3u);
  EXPECT_EQ(replies[1].status, Code::kOk);
  EXPECT_EQ(replies[2].value, "1");
}

// Writes may come all the while.
TEST(ShardLogAsync, ASyncDoesNotWaitForLaterWrites) {
  LoggedShard world(CommitMode::kAsync);
  const auto client = world.Connect(7);
  const auto other = world.Connect(8);
  world.Send(client, {PutOf("a", "1", 1)});
  world.Send(other, {SyncOf(5)});
  world.Send(client, {PutOf("b", "1", 2)});
  ASSERT_TRUE(world.log.commit().Step(false));  // writes the first
  ASSERT_TRUE(world.log.commit().Step(false));  // syncs it
  const size_t sent = world.port.sent.size();
  world.TurnSome();
  ASSERT_EQ(world.port.sent.size(), sent + 1);
  EXPECT_EQ(world.LastReplies(other).front().status, Code::kOk);
  EXPECT_TRUE(world.log.commit().pending());
}

TEST(ShardLogAsync, ASyncOfAFailingLogIsItsError) {
  for (const Code code : {Code::kNoSpace, Code::kSystem, Code::kPermission}) {
    // That the file system has become read-only is not that the client may not write.
    const Code told = code == Code::kPermission ? Code::kSystem : code;
    LoggedShard world(CommitMode::kAsync);
    const auto client = world.Connect(7);
    EXPECT_EQ(world.AskOne(client, PutOf("a", "1", 1)).status, Code::kOk);
    // Once each: of the write, and of the next file.
    world.log.disk().FailNext(test::SimulatedDisk::Call::kWrite, code);
    world.log.disk().FailNext(test::SimulatedDisk::Call::kCreate, code);
    world.TurnSome();
    ASSERT_TRUE(world.log.commit().Step(false));
    ASSERT_EQ(world.log.commit().failure(), told);
    const Replied refused = world.AskOne(client, SyncOf(5));
    EXPECT_EQ(refused.status, told);
    EXPECT_EQ(refused.version, code == Code::kNoSpace ? verify::kLogIsFull : 0);

    world.log.disk().ClearFaults();
    world.Commit();
    EXPECT_EQ(world.AskOne(client, SyncOf(6)).status, Code::kOk);
  }
}

// Nobody knows how long the disk will fail.
TEST(ShardLogAsync, ASyncUnderWayWaitsForALogThatBeginsToFail) {
  LoggedShard world(CommitMode::kAsync);
  const auto client = world.Connect(7);
  world.Send(client, {PutOf("a", "1", 1)});
  world.log.disk().SetFull(true);
  world.log.disk().FailNext(test::SimulatedDisk::Call::kWrite, Code::kNoSpace);
  const size_t sent = world.port.sent.size();
  world.Send(client, {SyncOf(5)});
  world.Commit();
  EXPECT_EQ(world.port.sent.size(), sent);
  world.log.disk().ClearFaults();
  world.Commit();
  ASSERT_EQ(world.port.sent.size(), sent + 1);
  EXPECT_EQ(world.LastReplies(client).front().status, Code::kOk);
}

TEST(ShardLogAsync, AReaderCannotMakeTheDiskWork) {
  LoggedShard world(CommitMode::kAsync);
  EXPECT_EQ(world.AskOne(world.Connect(7), PutOf("a", "1", 1)).status, Code::kOk);
  world.port.may_write = false;
  const auto reader = world.Connect(8);
  auto snapshot = SyncOf(6);
  snapshot.operation = Operation::kSnapshot;
  EXPECT_EQ(world.AskOne(reader, SyncOf(5)).status, Code::kPermission);
  EXPECT_EQ(world.AskOne(reader, snapshot).status, Code::kPermission);
}

TEST(ShardWithoutALog, HasNothingToSync) {
  ShardWorld world;
  const auto client = world.Connect(7);
  EXPECT_EQ(world.AskOne(client, SyncOf(5)).status, Code::kInvalidArgument);
}

TEST(ShardLogStrict, AFullDiskRefusesWritesAndServesGets) {
  LoggedShard world(CommitMode::kStrict);
  const auto client = world.Connect(7);
  const auto other = world.Connect(8);
  world.Send(client, {PutOf("a", "1", 1)});
  world.Commit();
  world.log.disk().SetFull(true);
  world.log.disk().FailNext(test::SimulatedDisk::Call::kWrite, Code::kNoSpace);
  world.Send(client, {PutOf("b", "1", 2)});
  world.Commit();
  const Replied refused = world.AskOne(other, PutOf("c", "1", 1));
  EXPECT_EQ(refused.status, Code::kNoSpace);
  EXPECT_EQ(refused.version, verify::kLogIsFull);
  EXPECT_EQ(world.AskOne(other, GetOf("a")).value, "1");
  EXPECT_EQ(world.AskOne(other, GetOf("b")).status, Code::kNotFound);

  world.log.disk().ClearFaults();
  world.Commit();
  EXPECT_EQ(world.LastReplies(client).front().status, Code::kOk);
  EXPECT_EQ(world.AskOne(other, GetOf("b")).value, "1");
}

}  // namespace
}  // namespace plov::server
