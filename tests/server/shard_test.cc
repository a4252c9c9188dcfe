// A shard and its clients: batches, garbage, at most once, its loop.
#include "server/shard.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>
#include <sstream>

#include "cuckoo/hash.h"
#include "tests/server/shard_world.h"

namespace plov::server {
namespace {

using verify::Operation;

TEST(Shard, BatchIsAnsweredByOneMessageInOrder) {
  ShardWorld world;
  const auto client = world.Connect(7);
  auto remove = RequestOf(Operation::kDelete, "a");
  remove.request_id = remove.sequence = 3;
  const auto replies =
      world.Ask(client, {PutOf("a", "1", 1), PutOf("b", RecordValue(2), 2), GetOf("a", 100), remove,
                         GetOf("a", 101), Ping(102), GetOf("b", 103)});
  ASSERT_EQ(replies.size(), 7u);
  EXPECT_EQ(world.port.sent.size(), 1u);
  const uint64_t ids[] = {1, 2, 100, 3, 101, 102, 103};
  const Code codes[] = {Code::kOk,       Code::kOk, Code::kOk, Code::kOk,
                        Code::kNotFound, Code::kOk, Code::kOk};
  for (size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i].request_id, ids[i]);
    EXPECT_EQ(replies[i].status, codes[i]) << i;
  }
  EXPECT_EQ(replies[2].value, "1");
  EXPECT_EQ(replies[2].version, replies[0].version);
  EXPECT_EQ(replies[3].version, replies[0].version);
  EXPECT_EQ(replies[6].value, RecordValue(2));
}

TEST(Shard, LargestBatchIsAnsweredWhole) {
  ShardWorld world;
  const auto client = world.Connect(7);
  std::vector<verify::Request> requests;
  size_t room = (32 << 10) - verify::kMessageHeaderBytes;
  for (; room >= verify::kRequestHeadBytes; room -= verify::kRequestHeadBytes) {
    requests.push_back(Ping(requests.size()));
  }
  const auto replies = world.Ask(client, requests);
  ASSERT_EQ(replies.size(), requests.size());
  for (size_t i = 0; i < replies.size(); ++i) ASSERT_EQ(replies[i].request_id, i);
}

TEST(Shard, ClientsAreAnsweredApart) {
  ShardWorld world;
  const auto one = world.Connect(1);
  const auto two = world.Connect(2, &world.other_port);
  EXPECT_EQ(world.AskOne(one, PutOf("key", "v", 1)).status, Code::kOk);
  EXPECT_EQ(world.AskOne(two, GetOf("key")).value, "v");
  EXPECT_TRUE(world.port.closed.empty());
}

// What each kind of garbage must come to.
class Garbage : public ::testing::Test {
 protected:
  void ExpectClosed(const Bytes& message) {
    const auto client = world.Connect(7);
    EXPECT_TRUE(world.Post(client, message).empty()) << "garbage has no answer";
    EXPECT_TRUE(world.port.IsClosed(client.peer));
    const auto next = world.Connect(8);
    EXPECT_EQ(world.Ask(next, {Ping(1)}).size(), 1u) << "others are served";
  }

  ShardWorld world;
};

TEST_F(Garbage, RandomBytesEndTheConnection) {
  std::mt19937_64 random(1);
  for (const size_t bytes : {0u, 1u, 39u, 40u, 41u, 88u, 1000u, 32768u}) {
    Bytes message(bytes);
    for (auto& byte : message) byte = static_cast<std::byte>(random());
    ExpectClosed(message);
    ExpectClosed(Bytes(bytes));
  }
}

TEST_F(Garbage, MessageOfAnotherClientEndsTheConnection) { ExpectClosed(Encode(9, {Ping(1)})); }

TEST_F(Garbage, RepliesInPlaceOfRequestsEndTheConnection) {
  Bytes buffer(1000);
  verify::MessageWriter writer(buffer, 7);
  writer.Add(verify::Reply{});
  const auto message = writer.Finish();
  ExpectClosed({message.begin(), message.end()});
}

TEST_F(Garbage, EmptyMessageEndsTheConnection) { ExpectClosed(Encode(7, {})); }

TEST_F(Garbage, FlippedByteEndsTheConnection) {
  const Bytes good = Encode(7, {PutOf("key", "value", 1)});
  for (size_t i = 0; i < good.size(); ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{1};
    ExpectClosed(bad);
  }
  EXPECT_EQ(world.store->stats().puts, 0u);
}

// A whole message that promises more requests than it has: its seal is no guarantee.
TEST_F(Garbage, CountBeyondTheRequestsEndsTheConnection) {
  const auto client = world.Connect(1);
  world.AskOne(client, PutOf("key", RecordValue(1, 20'000), 1));
  for (const uint32_t count : {2u, 600u, 683u, 100'000u, UINT32_MAX}) {
    Bytes message = Encode(7, {GetOf("key")});
    std::memcpy(message.data() + 12, &count, sizeof(count));
    const uint64_t checksum =
        verify::Checksum(message.data() + 8, message.size() - 8, verify::MessageSeed(7));
    std::memcpy(message.data(), &checksum, sizeof(checksum));
    ExpectClosed(message);
  }
  EXPECT_EQ(world.Ask(client, {Ping(1)}).size(), 1u);
}

// A scan would tell of it, and no GET find it.
TEST(GarbageOfShards, AWriteOfAnotherShardsKeyEndsTheConnection) {
  StoreOptions options = StoreWorld::SmallOptions();
  options.shard = 1;
  options.shard_count = 3;
  ShardWorld world(options);
  uint64_t stored = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    const std::string key = "key" + std::to_string(i);
    const auto client = world.Connect(i + 1);
    const bool is_ours = cuckoo::ShardOf(cuckoo::HashKey(key, options.hash_seed), 3) == 1;
    const auto replies = world.Post(client, Encode(client.id, {PutOf(key, "value", 1)}));
    EXPECT_EQ(replies.size(), is_ours ? 1u : 0u) << key;
    EXPECT_EQ(world.port.IsClosed(client.peer), !is_ours) << key;
    stored += is_ours ? 1 : 0;
  }
  EXPECT_TRUE(stored > 0 && stored < 100);
  EXPECT_EQ(world.store->table().stats().items, stored);
}

TEST_F(Garbage, ClosedClientIsCounted) {
  ExpectClosed(Bytes(100));
  const auto client = world.Connect(9);
  EXPECT_NE(world.StatsText(client).find("protocol_errors 1\n"), std::string::npos);
}

TEST(ShardSessions, RetriedWriteIsNotAppliedTwice) {
  ShardWorld world;
  const auto first = world.Connect(7);
  const Replied applied = world.AskOne(first, PutOf("key", "v1", 1));
  world.AskOne(world.Connect(8), PutOf("key", "v2", 1));
  const auto again = world.Connect(7);
  const Replied retried = world.AskOne(again, RetryOf(PutOf("key", "v1", 1)));
  EXPECT_EQ(retried.status, Code::kOk);
  EXPECT_EQ(retried.version, applied.version);
  EXPECT_EQ(world.AskOne(again, GetOf("key")).value, "v2") << "the retry undid another's write";
  EXPECT_EQ(world.store->stats().puts, 2u);
}

TEST(ShardSessions, RetriedRefusalIsTheSameRefusal) {
  ShardWorld world;
  const auto client = world.Connect(7);
  auto add = PutOf("key", "v", 1);
  world.AskOne(client, add);
  add.operation = Operation::kAdd;
  add.sequence = 2;
  EXPECT_EQ(world.AskOne(client, add).status, Code::kExists);
  auto remove = RequestOf(Operation::kDelete, "key");
  remove.sequence = 3;
  EXPECT_EQ(world.AskOne(client, remove).status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, RetryOf(add)).status, Code::kExists) << "it was answered so";
  EXPECT_EQ(world.AskOne(client, RetryOf(remove)).status, Code::kOk);
  EXPECT_EQ(world.store->stats().deletes, 1u);
}

TEST(ShardSessions, RetryOfAWriteThatNeverArrivedIsApplied) {
  ShardWorld world;
  world.HangUp(world.Connect(7));
  const auto client = world.Connect(7);
  EXPECT_EQ(world.AskOne(client, RetryOf(PutOf("key", "v", 1))).status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, GetOf("key")).value, "v");
}

TEST(ShardSessions, RetryToAServerThatDoesNotKnowTheClientIsUnknown) {
  ShardWorld world;
  const auto client = world.Connect(7);
  EXPECT_EQ(world.AskOne(client, RetryOf(PutOf("key", "v", 5))).status, Code::kUnknown);
  EXPECT_EQ(world.AskOne(client, GetOf("key")).status, Code::kNotFound);
}

TEST(ShardSessions, WriteWithoutASequenceIsRefused) {
  ShardWorld world;
  const auto client = world.Connect(7);
  EXPECT_EQ(world.AskOne(client, PutOf("key", "v", 0)).status, Code::kProtocol);
  EXPECT_EQ(world.AskOne(client, RequestOf(Operation::kDelete, "key")).status, Code::kProtocol);
  EXPECT_EQ(world.AskOne(client, RendezvousOf("key", 100, 0)).status, Code::kProtocol);
  EXPECT_EQ(world.store->stats().puts, 0u);
  EXPECT_TRUE(world.port.closed.empty());
}

TEST(Shard, AReaderReadsAndItsWritesAreRefused) {
  ShardWorld world;
  world.AskOne(world.Connect(1), PutOf("key", "v", 1));
  world.port.may_write = false;
  const auto reader = world.Connect(7);
  auto remove = RequestOf(Operation::kDelete, "key");
  remove.sequence = 2;
  const auto replies =
      world.Ask(reader, {PutOf("key", "w", 1), remove, GetOf("key"), Ping(9), PutOf("k", "w", 3)});
  ASSERT_EQ(replies.size(), 5u);
  EXPECT_EQ(replies[0].status, Code::kPermission);
  EXPECT_EQ(replies[1].status, Code::kPermission);
  EXPECT_EQ(replies[2].value, "v");
  EXPECT_EQ(replies[3].status, Code::kOk);
  EXPECT_EQ(replies[4].status, Code::kPermission);
  EXPECT_EQ(world.AskOne(reader, RendezvousOf("key", 100'000, 4)).status, Code::kPermission);
  EXPECT_TRUE(world.port.reads.empty());
  EXPECT_EQ(world.store->stats().puts, 1u);
}

// Who learns a client's id is not that client.
TEST(ShardSessions, AnotherUsersClientWithTheSameIdIsAnotherOne) {
  ShardWorld world;
  world.port.user = 1000;
  const auto honest = world.Connect(7);
  EXPECT_EQ(world.AskOne(honest, PutOf("key", "v", 1)).status, Code::kOk);
  world.port.user = 1001;
  const auto thief = world.Connect(7);
  EXPECT_FALSE(world.port.IsClosed(honest.peer));
  EXPECT_EQ(world.AskOne(thief, PutOf("key", "w", 1)).status, Code::kOk) << "not the reply to v";
  EXPECT_EQ(world.AskOne(thief, GetOf("key")).value, "w");
  world.port.user = 1000;
  EXPECT_EQ(world.AskOne(world.Connect(7), RetryOf(PutOf("key", "v", 1))).status, Code::kOk);
  EXPECT_TRUE(world.port.IsClosed(honest.peer));
  EXPECT_FALSE(world.port.IsClosed(thief.peer));
  EXPECT_EQ(world.AskOne(thief, GetOf("key")).value, "w") << "the retry was answered";
}

TEST(ShardSessions, SecondConnectionOfAClientEndsTheFirst) {
  for (const bool other_port : {false, true}) {
    ShardWorld world;
    const auto first = world.Connect(7);
    const auto bystander = world.Connect(8);
    const auto second = world.Connect(7, other_port ? &world.other_port : &world.port);
    EXPECT_TRUE(world.port.IsClosed(first.peer));
    EXPECT_FALSE(world.port.IsClosed(bystander.peer));
    EXPECT_FALSE(second.port->IsClosed(second.peer));
    EXPECT_EQ(world.Ask(second, {Ping(1)}).size(), 1u);
    EXPECT_EQ(world.Ask(bystander, {Ping(1)}).size(), 1u);
  }
}

std::map<std::string, uint64_t> StatsOf(ShardWorld* world, const ShardWorld::Client& client) {
  std::istringstream text(world->StatsText(client));
  std::map<std::string, uint64_t> stats;
  std::string line;
  while (std::getline(text, line)) {
    std::istringstream words(line);
    std::string name, rest;
    uint64_t value = 0;
    EXPECT_TRUE(words >> name >> value) << line;
    EXPECT_FALSE(words >> rest) << line;
    EXPECT_TRUE(stats.emplace(name, value).second) << name << " twice";
  }
  return stats;
}

// Of a server without a log and without replicas.
TEST(ShardStats, TextHoldsEveryNameOnce) {
  ShardWorld world;
  const auto stats = StatsOf(&world, world.Connect(7));
  for (const verify::CounterInfo& info : verify::CounterTable()) {
    const bool is_of_others = info.name.starts_with("log_") || info.name.starts_with("snapshot") ||
                              info.name.starts_with("replica");
    EXPECT_EQ(stats.contains(std::string(info.name)), !is_of_others) << info.name;
  }
  for (const char* name : {"uptime_us", "clock_us", "writes_us"}) EXPECT_TRUE(stats.contains(name));
}

// Nobody has asked.
TEST(ShardStats, CountersAreUpToDateOnceTheShardIsIdle) {
  ShardWorld world;
  const auto client = world.Connect(7);
  world.port.Script(ShardWorld::Kind::kMessage, client.peer, 0,
                    Encode(7, {PutOf("key", "value", 1)}));
  const auto page =
      world.store->region().memory().subspan(verify::kCountersOffset, verify::kPageBytes);
  EXPECT_EQ((*verify::ReadCounters(page))[verify::Counter::kPuts], 0u);
  while (world.shard.Turn()) {
  }
  const auto counters = verify::ReadCounters(page);
  ASSERT_TRUE(counters);
  EXPECT_EQ((*counters)[verify::Counter::kPuts], 1u);
  const verify::Times& writes =
      counters->histograms[static_cast<size_t>(verify::Histogram::kWrites)];
  EXPECT_EQ(std::accumulate(writes.counts.begin(), writes.counts.end(), uint64_t{0}), 1u);
}

TEST(ShardStats, ReportsOfClientsAddUpAndNonsenseDoesNot) {
  ShardWorld world;
  const auto client = world.Connect(7);
  const auto report = [&](uint64_t gets, uint64_t reads, uint64_t torn, size_t bytes) {
    const verify::GetReport told{gets, reads, torn};
    auto confirm = RequestOf(Operation::kConfirm, {});
    confirm.value = {static_cast<const char*>(static_cast<const void*>(&told)), bytes};
    confirm.value_bytes = static_cast<uint32_t>(bytes);
    world.AskOne(client, confirm);
  };
  report(100, 120, 3, sizeof(verify::GetReport));
  report(50, 50, 0, sizeof(verify::GetReport));
  report(7, 7, 7, sizeof(verify::GetReport) - 1);
  report(UINT64_MAX, 7, 7, sizeof(verify::GetReport));
  auto stats = StatsOf(&world, client);
  EXPECT_EQ(stats["reported_gets"], 150u);
  EXPECT_EQ(stats["reported_reads"], 170u);
  EXPECT_EQ(stats["reported_torn"], 3u);
}

TEST(ShardStats, ACacheAsksForHitsAndCountsThose) {
  for (const bool evicts : {false, true}) {
    StoreOptions options = StoreWorld::SmallOptions();
    options.evicts = evicts;
    ShardWorld world(options);
    const auto client = world.Connect(7);
    const auto tell = [&](size_t hits, size_t bytes_more) {
      std::string told(sizeof(verify::GetReport) + hits * sizeof(verify::HitName) + bytes_more,
                       '1');
      auto confirm = RequestOf(Operation::kConfirm, {});
      confirm.value = told;
      confirm.value_bytes = static_cast<uint32_t>(told.size());
      EXPECT_EQ(world.AskOne(client, confirm).number, evicts ? 1u : 0u);
    };
    tell(3, 0);
    tell(2, 3);
    tell(verify::kHitNamesMax + 1, 0);
    EXPECT_EQ(StatsOf(&world, client)["hits_told"], evicts ? 5 + verify::kHitNamesMax : 0);
  }
}

TEST(ShardStats, SlowWritesAreKeptWithWhereTheirTimeWent) {
  ShardWorld world;
  const auto client = world.Connect(7);
  const auto slow = [&world] {
    return verify::ReadSlowWrites(world.store->region().memory().subspan(verify::kSlowWritesOffset,
                                                                         verify::kSlowWritesBytes));
  };
  world.AskOne(client, PutOf("quick", "value", 1));
  EXPECT_TRUE(slow().empty());
  world.shard.KeepSlow(std::chrono::microseconds(0));
  world.AskOne(client, GetOf("quick"));
  EXPECT_TRUE(slow().empty()) << "only writes";
  const std::string key(100, 'k');
  for (uint64_t i = 0; i < verify::kSlowWritesKept + 3; ++i) {
    world.Ask(client, {PutOf("a", "v", 2 * i + 2), PutOf(key, "value", 2 * i + 3)});
  }
  const auto kept = slow();
  ASSERT_EQ(kept.size(), verify::kSlowWritesKept);
  EXPECT_EQ(kept.front().number, 4u);
  EXPECT_EQ(kept.back().requests, 2u);
  EXPECT_EQ(kept.back().key_bytes, 100u);
  EXPECT_EQ(kept.back().key_shown(), key.substr(0, 68));
  EXPECT_EQ(kept.back().value_bytes, 5u);
}

TEST(ShardStats, NumbersAreTrue) {
  ShardWorld world;
  const auto client = world.Connect(7);
  world.Connect(8);
  world.HangUp(world.Connect(9));
  world.Ask(client, {PutOf("inline", "v", 1), PutOf("record", RecordValue(1), 2)});
  auto remove = RequestOf(Operation::kDelete, "inline");
  remove.sequence = 3;
  world.Ask(client, {remove, GetOf("record")});
  world.Ask(client, {RetryOf(remove)});
  auto stats = StatsOf(&world, client);
  EXPECT_EQ(stats["items"], 1u);
  EXPECT_EQ(stats["payload_bytes"], 6 + RecordValue(1).size());
  EXPECT_EQ(stats["buckets"], 1024u);
  EXPECT_EQ(stats["memory_bytes"], 16 * kMiB);
  EXPECT_EQ(stats["records_bytes"], world.allocated());
  EXPECT_EQ(stats["records_used_bytes"], world.store->records().used_bytes());
  EXPECT_GE(stats["records_used_bytes"], stats["records_bytes"]);
  EXPECT_EQ(stats["records_bytes_max"], 16 * kMiB - verify::kRegionHeadBytes - 1024 * 64);
  EXPECT_EQ(stats["records_moved"], 0u);
  EXPECT_EQ(stats["records_moved_bytes"], 0u);
  EXPECT_EQ(stats["clients"], 2u);
  EXPECT_EQ(stats["sessions"], 3u);
  EXPECT_EQ(stats["messages"], 4u);
  EXPECT_EQ(stats["requests"], 6u);
  EXPECT_EQ(stats["puts"], 2u);
  EXPECT_EQ(stats["deletes"], 1u);
  EXPECT_EQ(stats["gets_by_message"], 1u);
  EXPECT_EQ(stats["retries_answered"], 1u);
}

TEST(Shard, EveryPortIsServedWhileAnotherIsBusy) {
  ShardWorld world;
  const auto busy = world.Connect(7);
  const auto other = world.Connect(8, &world.other_port);
  for (uint64_t i = 0; i < 10; ++i) {
    world.port.Script(ShardWorld::Kind::kMessage, busy.peer, 0, Encode(7, {Ping(i)}));
  }
  world.other_port.Script(ShardWorld::Kind::kMessage, other.peer, 0, Encode(8, {Ping(1)}));
  world.shard.Step();
  EXPECT_EQ(world.port.sent.size(), 1u);
  EXPECT_EQ(world.other_port.sent.size(), 1u);
}

}  // namespace
}  // namespace plov::server
