// Writes that make their value of the one that is there: what they store, at most once, and what comes between.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "tests/server/shard_world.h"
#include "tests/server/test_log.h"
#include "verify/number.h"

namespace plov::server {
namespace {

using verify::Operation;
using verify::Request;

Request WriteOf(Operation operation, std::string_view key, std::string_view value,
                uint64_t sequence) {
  auto request = PutOf(key, value, sequence);
  request.operation = operation;
  return request;
}
Request AppendOf(std::string_view key, std::string_view value, uint64_t sequence) {
  return WriteOf(Operation::kAppend, key, value, sequence);
}
Request TouchOf(std::string_view key, uint32_t ttl_seconds, uint64_t sequence) {
  auto request = WriteOf(Operation::kTouch, key, {}, sequence);
  request.ttl_seconds = ttl_seconds;
  return request;
}

// An INCREMENT with the bytes that it points to.
struct Increment {
  explicit Increment(const verify::NumberChange& change) {
    verify::EncodeNumberChange(change, bytes.data());
  }
  Request Of(std::string_view key, uint64_t sequence) const {
    return WriteOf(Operation::kIncrement, key, {bytes.data(), bytes.size()}, sequence);
  }
  std::array<char, verify::kNumberChangeBytes> bytes;
};
const Increment kByOne({.delta = 1});

Request Creating(Request request) {
  request.creates = true;
  return request;
}
Request Over(uint64_t version, Request request) {
  request.conditional = true;
  request.expected_version = version;
  return request;
}
Request Comparing(std::string_view expected, Request request) {
  request.compares = true;
  request.expected_value = expected;
  request.value_bytes += static_cast<uint32_t>(expected.size());
  return request;
}

class ShardModify : public ::testing::Test {
 protected:
  std::string ValueOf(std::string_view key) {
    const auto hit = world.store->Get(key, MonotonicUs());
    return hit ? hit->item.value() : "absent";
  }

  ShardWorld world;
  ShardWorld::Client client = world.Connect(7);
};

TEST_F(ShardModify, JoinsKeepFlagsAndExpiry) {
  auto put = PutOf("key", "b", 1);
  put.flags = 9;
  put.ttl_seconds = 1000;
  world.AskOne(client, put);
  const uint32_t expiry = world.store->Get("key", MonotonicUs())->item.expiry();
  auto append = AppendOf("key", "c", 2);
  append.flags = 1;
  append.ttl_seconds = 5;
  const auto appended = world.AskOne(client, append);
  EXPECT_EQ(appended.status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, WriteOf(Operation::kPrepend, "key", "a", 3)).status, Code::kOk);
  EXPECT_EQ(ValueOf("key"), "abc");
  const auto hit = world.store->Get("key", MonotonicUs());
  EXPECT_EQ(hit->item.flags(), 9u);
  EXPECT_EQ(hit->item.expiry(), expiry);
  EXPECT_GT(hit->item.version(), appended.version);
}

TEST_F(ShardModify, WhatStoresCanTellTheMomentOfItsEnd) {
  const auto until = [](Request request, uint64_t expiry) {
    request.expiry = static_cast<uint32_t>(expiry);
    return request;
  };
  const auto expiry_of = [this](std::string_view key) {
    const auto hit = world.store->Get(key, MonotonicUs());
    return hit ? hit->item.expiry() : 0;
  };
  auto mortal = PutOf("mortal", "v", 9);
  mortal.ttl_seconds = 100;
  world.AskOne(client, mortal);
  const uint64_t now = expiry_of("mortal") - 100;
  world.AskOne(client, until(PutOf("key", "b", 1), now + 5000));
  EXPECT_EQ(expiry_of("key"), now + 5000);
  EXPECT_EQ(world.AskOne(client, until(AppendOf("key", "c", 2), now + 9000)).status, Code::kOk);
  EXPECT_EQ(expiry_of("key"), now + 5000);
  EXPECT_EQ(world.AskOne(client, until(TouchOf("key", 0, 3), now + 7000)).status, Code::kOk);
  EXPECT_EQ(expiry_of("key"), now + 7000);
  world.AskOne(client, until(Comparing("bc", PutOf("key", "d", 4)), now + 6000));
  EXPECT_EQ(ValueOf("key"), "d");
  EXPECT_EQ(expiry_of("key"), now + 6000);
  world.AskOne(client, until(Creating(kByOne.Of("n", 5)), now + 8000));
  EXPECT_EQ(expiry_of("n"), now + 8000);
  EXPECT_EQ(world.AskOne(client, until(PutOf("key", "over", 6), now - 1)).status, Code::kOk);
  EXPECT_EQ(ValueOf("key"), "absent");
  EXPECT_EQ(world.AskOne(client, until(PutOf("key", "last", 7), UINT32_MAX)).status, Code::kOk);
  EXPECT_EQ(expiry_of("key"), UINT32_MAX);
}

TEST_F(ShardModify, OnlyWhatCreatesStoresAnAbsentKey) {
  EXPECT_EQ(world.AskOne(client, AppendOf("a", "x", 1)).status, Code::kNotFound);
  EXPECT_EQ(world.AskOne(client, WriteOf(Operation::kPrepend, "a", "x", 2)).status,
            Code::kNotFound);
  EXPECT_EQ(world.AskOne(client, kByOne.Of("a", 3)).status, Code::kNotFound);
  EXPECT_EQ(world.AskOne(client, TouchOf("a", 9, 4)).status, Code::kNotFound);
  EXPECT_EQ(world.AskOne(client, Comparing("", PutOf("a", "x", 5))).status, Code::kNotFound);
  EXPECT_EQ(world.AskOne(client, Over(3, Creating(AppendOf("a", "x", 6)))).status, Code::kNotFound);
  auto append = Creating(AppendOf("a", "x", 7));
  append.flags = 4;
  EXPECT_EQ(world.AskOne(client, append).status, Code::kOk);
  EXPECT_EQ(ValueOf("a"), "x");
  EXPECT_EQ(world.store->Get("a", MonotonicUs())->item.flags(), 4u);
  EXPECT_EQ(world.AskOne(client, Creating(kByOne.Of("n", 8))).number, 1u);
  EXPECT_EQ(ValueOf("n"), "1");
}

TEST_F(ShardModify, IncrementsTellTheNumberAlsoAgain) {
  world.AskOne(client, PutOf("n", "41", 1));
  const auto first = world.AskOne(client, kByOne.Of("n", 2));
  EXPECT_EQ(first.number, 42u);
  EXPECT_EQ(world.AskOne(client, kByOne.Of("n", 3)).number, 43u);
  const auto again = world.AskOne(world.Connect(7), RetryOf(kByOne.Of("n", 2)));
  EXPECT_EQ(again.number, 42u);
  EXPECT_EQ(again.version, first.version);
  EXPECT_EQ(ValueOf("n"), "43");
}

TEST_F(ShardModify, RefusalsChangeNothingAndAreRemembered) {
  world.AskOne(client, PutOf("text", "x", 1));
  const Increment limited({.delta = 1, .max = 0});
  world.AskOne(client, PutOf("n", "0", 2));
  EXPECT_EQ(world.AskOne(client, kByOne.Of("text", 3)).status, Code::kNotANumber);
  EXPECT_EQ(world.AskOne(client, limited.Of("n", 4)).status, Code::kOutOfRange);
  EXPECT_EQ(world.AskOne(client, Over(1, AppendOf("n", "1", 5))).status, Code::kVersionMismatch);
  EXPECT_EQ(world.AskOne(client, Comparing("1", PutOf("n", "2", 6))).status,
            Code::kVersionMismatch);
  world.AskOne(client, PutOf("text", "7", 7));
  EXPECT_EQ(world.AskOne(client, RetryOf(kByOne.Of("text", 3))).status, Code::kNotANumber);
  EXPECT_EQ(ValueOf("text"), "7");
  EXPECT_EQ(ValueOf("n"), "0");
  auto garbled = kByOne.Of("n", 8);
  garbled.value.remove_suffix(1);
  --garbled.value_bytes;
  EXPECT_EQ(world.AskOne(client, garbled).status, Code::kProtocol);
}

TEST_F(ShardModify, AValueIsComparedWhole) {
  world.AskOne(client, PutOf("key", "one", 1));
  EXPECT_EQ(world.AskOne(client, Comparing("on", PutOf("key", "x", 2))).status,
            Code::kVersionMismatch);
  EXPECT_EQ(world.AskOne(client, Comparing("onE", PutOf("key", "x", 3))).status,
            Code::kVersionMismatch);
  EXPECT_EQ(world.AskOne(client, Comparing("one", PutOf("key", "two", 4))).status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, Comparing("two", PutOf("key", "", 5))).status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, Comparing("", PutOf("key", "end", 6))).status, Code::kOk);
  EXPECT_EQ(ValueOf("key"), "end");
}

TEST_F(ShardModify, TouchChangesTheExpiryAlone) {
  world.AskOne(client, PutOf("key", "value", 1));
  EXPECT_EQ(world.AskOne(client, TouchOf("key", 100, 2)).status, Code::kOk);
  EXPECT_NE(world.store->Get("key", MonotonicUs())->item.expiry(), 0u);
  EXPECT_EQ(world.AskOne(client, TouchOf("key", 0, 3)).status, Code::kOk);
  EXPECT_EQ(world.store->Get("key", MonotonicUs())->item.expiry(), 0u);
  EXPECT_EQ(ValueOf("key"), "value");
}

// Of a value that takes many slices: its bytes, whatever comes before and after it.
class ShardModifyLong : public ShardModify {
 protected:
  static constexpr size_t kBytes = 3'000'001;

  ShardModifyLong() {
    world.Ask(client, {RendezvousOf("key", kBytes, 1)});
    world.Arrive(client, value);
  }
  void Begin(const Request& request) { world.BeginLong(client, request); }
  Replied End() { return world.EndLong(client); }

  std::string value = RecordValue(3, kBytes);
};

TEST_F(ShardModifyLong, PartsComeTogether) {
  const std::string head(777, 'h'), tail(1001, 't');
  EXPECT_EQ(world.AskOne(client, AppendOf("key", tail, 2)).status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, WriteOf(Operation::kPrepend, "key", head, 3)).status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, TouchOf("key", 1000, 4)).status, Code::kOk);
  EXPECT_EQ(ValueOf("key"), head + value + tail);
  EXPECT_NE(world.store->Get("key", MonotonicUs())->item.expiry(), 0u);
  EXPECT_LT(world.allocated(), 2 * kBytes) << "of more than one record";
}

TEST_F(ShardModifyLong, AShortOneMayBecomeLong) {
  for (size_t bytes = verify::kShortValueMax - 2; bytes <= verify::kShortValueMax + 1; ++bytes) {
    const std::string base = RecordValue(bytes, bytes);
    world.Ask(client, {RendezvousOf("border", bytes, 2 * bytes)});
    world.Arrive(client, base);
    EXPECT_EQ(world.AskOne(client, AppendOf("border", "!", 2 * bytes + 1)).status, Code::kOk);
    EXPECT_EQ(ValueOf("border"), base + "!");
  }
}

TEST_F(ShardModifyLong, AWriteThatComesBetweenIsNotLost) {
  const auto other = world.Connect(8, &world.other_port);
  Begin(AppendOf("key", "after", 2));
  EXPECT_EQ(world.AskOne(other, PutOf("key", "other", 1)).status, Code::kOk);
  EXPECT_EQ(End().status, Code::kOk);
  EXPECT_EQ(ValueOf("key"), "otherafter");
}

TEST_F(ShardModifyLong, WhatIsDeletedMeanwhileIsNotThere) {
  const auto other = world.Connect(8, &world.other_port);
  Begin(AppendOf("key", "after", 2));
  EXPECT_EQ(world.AskOne(other, WriteOf(Operation::kDelete, "key", {}, 1)).status, Code::kOk);
  EXPECT_EQ(End().status, Code::kNotFound);
  EXPECT_EQ(world.allocated(), 0u);
}

TEST_F(ShardModifyLong, AClientThatGoesLeavesNothing) {
  const size_t allocated = world.allocated();
  Begin(AppendOf("key", "after", 2));
  world.HangUp(client);
  EXPECT_EQ(world.allocated(), allocated);
  const auto again = world.Connect(7);
  EXPECT_EQ(world.AskOne(again, RetryOf(AppendOf("key", "after", 2))).status, Code::kOk);
  EXPECT_EQ(ValueOf("key"), value + "after");
  EXPECT_EQ(world.AskOne(again, WriteOf(Operation::kDelete, "key", {}, 3)).status, Code::kOk);
  EXPECT_EQ(world.allocated(), 0u) << "a record is held for ever";
}

TEST_F(ShardModifyLong, DamagedBytesGetNoNewSeal) {
  const auto hit = world.store->Get("key", MonotonicUs());
  auto* at = const_cast<std::byte*>(world.store->region().data()) + hit->record_offset;
  at[hit->record_bytes - 5] ^= std::byte{1};
  EXPECT_EQ(world.AskOne(client, AppendOf("key", "after", 2)).status, Code::kCorrupt);
  EXPECT_EQ(world.AskOne(client, TouchOf("key", 10, 3)).status, Code::kCorrupt);
  EXPECT_EQ(world.AskOne(client, PutOf("key", "new", 4)).status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, AppendOf("key", "er", 5)).status, Code::kOk);
  EXPECT_EQ(ValueOf("key"), "newer");
  EXPECT_EQ(world.allocated(), 0u);
}

TEST_F(ShardModifyLong, NoValueIsLongerThanTheServersMax) {
  ShardWorld small([] {
    auto options = StoreWorld::SmallOptions();
    options.value_bytes_max = 100'000;
    return options;
  }());
  const auto one = small.Connect(7);
  small.Ask(one, {RendezvousOf("key", 99'999, 1)});
  small.Arrive(one, RecordValue(1, 99'999));
  EXPECT_EQ(small.AskOne(one, AppendOf("key", "12", 2)).status, Code::kTooLarge);
  EXPECT_EQ(small.AskOne(one, AppendOf("key", "1", 3)).status, Code::kOk);
  EXPECT_EQ(small.AskOne(one, TouchOf("key", 5, 4)).status, Code::kOk);
}

// Strict: what is in the log and not in the table yet is what the next write is made of.
TEST(ShardModifyLog, PendingWritesAreBuiltUpon) {
  auto options = StoreWorld::SmallOptions();
  options.grows = options.stashes = true;
  ShardWorld world(options);
  TestLog log(log::CommitMode::kStrict);
  world.shard.LogTo({&log.commit(), log::CommitMode::kStrict});
  const auto turn = [&world] {
    for (int i = 0; i < 100; ++i) world.shard.Turn();
  };
  const std::string record(5000, 'r'), appended = record + "+";
  std::vector<ShardWorld::Client> clients;
  const std::vector<Request> requests = {
      PutOf("n", "1", 1),      kByOne.Of("n", 1),
      kByOne.Of("n", 1),       PutOf("key", record, 1),
      AppendOf("key", "+", 1), Comparing(appended, PutOf("key", "new", 1))};
  for (size_t i = 0; i < requests.size(); ++i) {
    clients.push_back(world.Connect(20 + i));
    world.port.Script(ShardWorld::Kind::kMessage, clients.back().peer, 0,
                      Encode(clients.back().id, {requests[i]}));
    turn();
  }
  EXPECT_EQ(world.store->Get("n", MonotonicUs()).error(), Code::kNotFound) << "not durable yet";
  for (int i = 0; i < 10; ++i) {
    log.Commit();
    turn();
  }
  EXPECT_EQ(world.store->Get("n", MonotonicUs())->item.value(), "3");
  EXPECT_EQ(world.store->Get("key", MonotonicUs())->item.value(), "new");
}

}  // namespace
}  // namespace plov::server
