// UPDATE, REDUCE and FILTER at a shard: what they answer, at most once, and what comes between the slices of a long vector.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <optional>
#include <vector>

#include "tests/server/shard_world.h"
#include "tests/server/test_log.h"
#include "verify/vector.h"

namespace plov::server {
namespace {

using verify::Comparison;
using verify::ElementType;
using verify::Operation;
using verify::Request;
using verify::VectorFunction;
using verify::VectorSlice;

using Elements = std::vector<int64_t>;

std::string BytesOf(const Elements& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(int64_t)};
}
std::string ValueOf(const Elements& elements) {
  return verify::VectorHead(ElementType::kInt64) + BytesOf(elements);
}
Elements Counted(size_t count, int64_t first) {
  Elements elements(count);
  std::iota(elements.begin(), elements.end(), first);
  return elements;
}

// A request with the bytes that it points to.
struct Call {
  Call(Operation of, uint8_t function, const VectorSlice& slice, const Elements& operand,
       ElementType type = ElementType::kInt64)
      : operation(of), value(verify::kVectorCallBytes, '\0') {
    const uint8_t of_operand = operand.empty() ? 0 : static_cast<uint8_t>(type);
    verify::EncodeVectorCall({function, of_operand, slice}, value.data());
    value += BytesOf(operand);
  }
  Request Of(std::string_view key, uint64_t sequence = 0) const {
    auto request = PutOf(key, value, sequence);
    request.operation = operation;
    return request;
  }

  Operation operation;
  std::string value;
};

Call UpdateBy(VectorFunction function, const Elements& operand, const VectorSlice& slice = {}) {
  return {Operation::kUpdate, static_cast<uint8_t>(function), slice, operand};
}
Call ReduceBy(VectorFunction function, const VectorSlice& slice = {}) {
  return {Operation::kReduce, static_cast<uint8_t>(function), slice, {}};
}
Call FilterBy(Comparison comparison, int64_t operand, const VectorSlice& slice = {}) {
  return {Operation::kFilter, static_cast<uint8_t>(comparison), slice, {operand}};
}

Request Over(uint64_t version, Request request) {
  request.conditional = true;
  request.expected_version = version;
  return request;
}

int64_t ResultOf(const Replied& reply) {
  EXPECT_EQ(reply.status, Code::kOk);
  int64_t result = 0;
  EXPECT_EQ(reply.value.size(), verify::kVectorAnswerBytes + sizeof(result));
  std::memcpy(&result, &reply.value[verify::kVectorAnswerBytes], sizeof(result));
  return result;
}

struct Found {
  std::vector<uint32_t> indexes;
  uint64_t next = 0;
};
Found FoundIn(const Replied& reply) {
  Found found;
  EXPECT_EQ(reply.status, Code::kOk);
  const auto answer = verify::DecodeVectorAnswer(reply.value);
  if (!answer) return found;
  found.next = answer->count;
  for (size_t at = verify::kVectorAnswerBytes; at < reply.value.size(); at += 12) {
    std::memcpy(&found.indexes.emplace_back(), &reply.value[at], 4);
  }
  return found;
}

class ShardVector : public ::testing::Test {
 protected:
  Elements ElementsOf(std::string_view key) {
    const auto hit = world.store->Get(key, MonotonicUs());
    if (!hit || hit->item.value_bytes() < verify::kVectorHeadBytes) return {};
    const std::string value = hit->item.value();
    Elements elements((value.size() - verify::kVectorHeadBytes) / sizeof(int64_t));
    if (elements.empty()) return {};
    std::memcpy(elements.data(), &value[verify::kVectorHeadBytes], BytesOf(elements).size());
    return elements;
  }

  ShardWorld world;
  ShardWorld::Client client = world.Connect(7);
};

TEST_F(ShardVector, AnUpdateChangesASliceAndKeepsFlagsAndExpiry) {
  const std::string value = ValueOf({1, 2, 3, 4});
  auto put = PutOf("v", value, 1);
  put.flags = 9;
  put.ttl_seconds = 1000;
  world.AskOne(client, put);
  const uint32_t expiry = world.store->Get("v", MonotonicUs())->item.expiry();
  const auto by = [](const Elements& operand, const VectorSlice& slice) {
    return UpdateBy(VectorFunction::kAdd, operand, slice);
  };
  EXPECT_EQ(world.AskOne(client, by({10}, {1, 2}).Of("v", 2)).status, Code::kOk);
  EXPECT_EQ(ElementsOf("v"), (Elements{1, 12, 13, 4}));
  EXPECT_EQ(world.AskOne(client, by({5, 6}, {2, 2}).Of("v", 3)).status, Code::kOk);
  EXPECT_EQ(ElementsOf("v"), (Elements{1, 12, 18, 10}));
  EXPECT_EQ(world.AskOne(client, by({-1}, {}).Of("v", 4)).status, Code::kOk);
  EXPECT_EQ(ElementsOf("v"), (Elements{0, 11, 17, 9}));
  EXPECT_EQ(world.AskOne(client, by({7}, {4, 0}).Of("v", 5)).status, Code::kOk);
  EXPECT_EQ(ElementsOf("v"), (Elements{0, 11, 17, 9}));
  const auto hit = world.store->Get("v", MonotonicUs());
  EXPECT_EQ(hit->item.flags(), 9u);
  EXPECT_EQ(hit->item.expiry(), expiry);
}

TEST_F(ShardVector, RefusalsChangeNothingAndAreRemembered) {
  const std::string value = ValueOf({1, 2, 3}), text = "no vector at all";
  world.AskOne(client, PutOf("v", value, 1));
  world.AskOne(client, PutOf("text", text, 2));
  const Call add = UpdateBy(VectorFunction::kAdd, {1});
  EXPECT_EQ(world.AskOne(client, add.Of("absent", 3)).status, Code::kNotFound);
  EXPECT_EQ(world.AskOne(client, add.Of("text", 4)).status, Code::kWrongType);
  const auto beyond = world.AskOne(client, UpdateBy(VectorFunction::kAdd, {1}, {2, 2}).Of("v", 5));
  EXPECT_EQ(beyond.status, Code::kOutOfRange);
  EXPECT_EQ(beyond.version, verify::kBeyondEnd);
  const Call of_other(Operation::kUpdate, 2, {}, {1}, ElementType::kUint64);
  EXPECT_EQ(world.AskOne(client, of_other.Of("v", 6)).status, Code::kWrongType);
  EXPECT_EQ(world.AskOne(client, UpdateBy(VectorFunction::kAdd, {1, 2}).Of("v", 7)).status,
            Code::kProtocol);
  const Call no_function(Operation::kUpdate, 8, {}, {1});
  EXPECT_EQ(world.AskOne(client, no_function.Of("v", 8)).status, Code::kProtocol);
  EXPECT_EQ(world.AskOne(client, Over(1, add.Of("v", 9))).status, Code::kVersionMismatch);
  world.AskOne(client, PutOf("text", value, 10));
  EXPECT_EQ(world.AskOne(client, RetryOf(add.Of("text", 4))).status, Code::kWrongType);
  EXPECT_EQ(ElementsOf("text"), (Elements{1, 2, 3}));
  EXPECT_EQ(ElementsOf("v"), (Elements{1, 2, 3}));
}

TEST_F(ShardVector, AnUpdateIsAppliedOnce) {
  const std::string value = ValueOf({1, 2, 3});
  world.AskOne(client, PutOf("v", value, 1));
  const Call add = UpdateBy(VectorFunction::kAdd, {1});
  const auto first = world.AskOne(client, add.Of("v", 2));
  const auto again = world.AskOne(world.Connect(7), RetryOf(add.Of("v", 2)));
  EXPECT_EQ(again.status, Code::kOk);
  EXPECT_EQ(again.version, first.version);
  EXPECT_EQ(ElementsOf("v"), (Elements{2, 3, 4}));
}

TEST_F(ShardVector, ReductionsAreOfASlice) {
  const std::string value = ValueOf({5, -7, 2, 9});
  const auto put = world.AskOne(client, PutOf("v", value, 1));
  const auto sum = world.AskOne(client, ReduceBy(VectorFunction::kAdd).Of("v"));
  EXPECT_EQ(ResultOf(sum), 9);
  EXPECT_EQ(sum.version, put.version);
  EXPECT_EQ(verify::DecodeVectorAnswer(sum.value),
            (verify::VectorAnswer{static_cast<uint8_t>(ElementType::kInt64), 4}));
  EXPECT_EQ(ResultOf(world.AskOne(client, ReduceBy(VectorFunction::kMin, {2, 2}).Of("v"))), 2);
  EXPECT_EQ(ResultOf(world.AskOne(client, ReduceBy(VectorFunction::kAdd, {4, 0}).Of("v"))), 0);
  const auto status_of = [&](const Call& call, std::string_view key) {
    return world.AskOne(client, call.Of(key)).status;
  };
  EXPECT_EQ(status_of(ReduceBy(VectorFunction::kAdd, {3, 2}), "v"), Code::kOutOfRange);
  EXPECT_EQ(status_of(ReduceBy(VectorFunction::kAssign), "v"), Code::kProtocol);
  EXPECT_EQ(status_of({Operation::kReduce, 2, {}, {1}}, "v"), Code::kProtocol) << "an operand";
  EXPECT_EQ(status_of(ReduceBy(VectorFunction::kAdd), "absent"), Code::kNotFound);
  const std::string text = "no vector at all", floats = verify::VectorHead(ElementType::kFloat);
  world.AskOne(client, PutOf("text", text, 2));
  world.AskOne(client, PutOf("floats", floats, 3));
  EXPECT_EQ(status_of(ReduceBy(VectorFunction::kAdd), "text"), Code::kWrongType);
  EXPECT_EQ(status_of(ReduceBy(VectorFunction::kXor), "floats"), Code::kWrongType);
}

TEST_F(ShardVector, AFilterFindsIndexesOfTheWholeVector) {
  const std::string value = ValueOf({5, -7, 2, 9, 5});
  world.AskOne(client, PutOf("v", value, 1));
  const auto all = FoundIn(world.AskOne(client, FilterBy(Comparison::kGreater, 2).Of("v")));
  EXPECT_EQ(all.indexes, (std::vector<uint32_t>{0, 3, 4}));
  EXPECT_EQ(all.next, VectorSlice::kToEnd);
  const Call slice = FilterBy(Comparison::kEqual, 5, {1, 4});
  EXPECT_EQ(FoundIn(world.AskOne(client, slice.Of("v"))).indexes, (std::vector<uint32_t>{4}));
  const Call no_comparison(Operation::kFilter, 7, {}, {1});
  EXPECT_EQ(world.AskOne(client, no_comparison.Of("v")).status, Code::kProtocol);
  const Call of_two(Operation::kFilter, 1, {}, {1, 2});
  EXPECT_EQ(world.AskOne(client, of_two.Of("v")).status, Code::kProtocol);
  EXPECT_EQ(world.AskOne(client, Over(1, slice.Of("v"))).status, Code::kVersionMismatch);
}

TEST_F(ShardVector, AFilterMayTakeTheRoomOfThoseBehindIt) {
  const std::string value = ValueOf(Elements(4'000, 1));
  world.Ask(client, {RendezvousOf("v", value.size(), 1)});
  world.Arrive(client, value);
  const Call filter = FilterBy(Comparison::kEqual, 1), sum = ReduceBy(VectorFunction::kAdd);
  std::vector<Request> requests = {filter.Of("v")};
  for (int i = 0; i < 100; ++i) requests.push_back(i % 2 == 0 ? sum.Of("v") : filter.Of("v"));
  const auto replies = world.Ask(client, requests);
  ASSERT_EQ(replies.size(), requests.size());
  EXPECT_GT(FoundIn(replies[0]).indexes.size(), 1'000u);
  for (size_t i = 1; i < replies.size(); ++i) EXPECT_EQ(replies[i].status, Code::kTooLarge) << i;
}

TEST_F(ShardVector, WhoMayOnlyReadChangesNothing) {
  const std::string value = ValueOf({1, 2});
  world.AskOne(client, PutOf("v", value, 1));
  world.port.may_write = false;
  const auto reader = world.Connect(9);
  EXPECT_EQ(ResultOf(world.AskOne(reader, ReduceBy(VectorFunction::kAdd).Of("v"))), 3);
  const Call filter = FilterBy(Comparison::kLess, 2);
  EXPECT_EQ(FoundIn(world.AskOne(reader, filter.Of("v"))).indexes, (std::vector<uint32_t>{0}));
  const Call add = UpdateBy(VectorFunction::kAdd, {1});
  EXPECT_EQ(world.AskOne(reader, add.Of("v", 1)).status, Code::kPermission);
}

// What fits in no inline item, in no single part, in no single slice.
TEST_F(ShardVector, AVectorMayBeOfAnyLength) {
  uint64_t sequence = 0;
  for (const size_t count : std::to_array<size_t>(
           {0, 1, 2, 11, 12, 500, 2047, 2048, 2049, 8190, 8191, 8192, 10'241, 30'000})) {
    const Elements elements = Counted(count, -5);
    const std::string value = ValueOf(elements);
    if (value.size() <= 16'000) {
      world.AskOne(client, PutOf("v", value, ++sequence));
    } else {
      world.Ask(client, {RendezvousOf("v", value.size(), ++sequence)});
      world.Arrive(client, value);
    }
    const Call add = UpdateBy(VectorFunction::kAdd, {3});
    ASSERT_EQ(world.AskOne(client, add.Of("v", ++sequence)).status, Code::kOk) << count;
    EXPECT_EQ(ElementsOf("v"), Counted(count, -2)) << count;
    const auto sum = world.AskOne(client, ReduceBy(VectorFunction::kAdd).Of("v"));
    const auto n = static_cast<int64_t>(count);
    EXPECT_EQ(ResultOf(sum), n * (n - 1) / 2 - 2 * n) << count;
    if (count < 5) continue;
    const Call each = UpdateBy(VectorFunction::kMin, {1, 2, 3}, {count - 3, 3});
    ASSERT_EQ(world.AskOne(client, each.Of("v", ++sequence)).status, Code::kOk) << count;
    Elements expected = Counted(count, -2);
    for (size_t i = 0; i < 3; ++i) {
      expected[count - 3 + i] = std::min(expected[count - 3 + i], static_cast<int64_t>(i + 1));
    }
    EXPECT_EQ(ElementsOf("v"), expected) << count;
  }
}

TEST(ShardVectorCache, WhatIsLookedAtHereIsUsed) {
  auto options = StoreWorld::SmallOptions();
  options.evicts = true;
  ShardWorld world(options);
  const auto client = world.Connect(7);
  const std::string value = ValueOf({1, 2});
  world.AskOne(client, PutOf("v", value, 1));
  EXPECT_EQ(ResultOf(world.AskOne(client, ReduceBy(VectorFunction::kAdd).Of("v"))), 3);
  EXPECT_EQ(world.AskOne(client, ReduceBy(VectorFunction::kAdd).Of("absent")).status,
            Code::kNotFound);
  EXPECT_EQ(world.store->hits_told(), 1u);
}

// Of a vector that takes many slices.
class ShardVectorLong : public ShardVector {
 protected:
  static constexpr size_t kCount = 300'000;

  ShardVectorLong() {
    const std::string value = ValueOf(Counted(kCount, 0));
    world.Ask(client, {RendezvousOf("v", value.size(), 1)});
    world.Arrive(client, value);
  }
  void Begin(const Request& request) { world.BeginLong(client, request); }
  Replied End() { return world.EndLong(client); }
  void Damage() {
    const auto hit = world.store->Get("v", MonotonicUs());
    auto* at = const_cast<std::byte*>(world.store->region().data()) + hit->record_offset;
    at[hit->record_bytes - 5] ^= std::byte{1};
  }

  const ShardWorld::Client other = world.Connect(8, &world.other_port);
};

TEST_F(ShardVectorLong, AWriteThatComesBetweenIsNotLost) {
  const Call add = UpdateBy(VectorFunction::kAdd, {1});
  Begin(add.Of("v", 2));
  const std::string value = ValueOf({1, 2});
  EXPECT_EQ(world.AskOne(other, PutOf("v", value, 1)).status, Code::kOk);
  EXPECT_EQ(End().status, Code::kOk);
  EXPECT_EQ(ElementsOf("v"), (Elements{2, 3}));
}

TEST_F(ShardVectorLong, AReductionIsOfOneInstantThoughTheMemoryIsWanted) {
  const std::string fill(kCount * sizeof(int64_t) - 1000, 'x');
  uint64_t sequence = 0;
  const auto put_fill = [&] {  // whether there was room
    const std::string key = "fill" + std::to_string(++sequence);
    if (!world.Ask(other, {RendezvousOf(key, fill.size(), sequence)}).empty()) return false;
    world.Arrive(other, fill);
    return true;
  };
  while (put_fill()) continue;
  const Call sum = ReduceBy(VectorFunction::kAdd);
  Begin(sum.Of("v"));
  const auto send = [&](const Request& request) {
    other.port->sent.clear();
    other.port->reads.clear();
    other.port->Script(ShardWorld::Kind::kMessage, other.peer, 0, Encode(other.id, {request}));
    for (int i = 0; i < 20 && other.port->sent.empty() && other.port->reads.empty(); ++i) {
      world.shard.Step();
    }
  };
  send(PutOf("v", "gone", ++sequence));
  ASSERT_EQ(other.port->sent.size(), 1u);
  send(RendezvousOf("last", fill.size(), ++sequence));
  // Were its place that of the vector, this would be in the middle of it.
  if (!other.port->reads.empty()) StoreSlices(other.port->reads.back().read, fill);
  ASSERT_TRUE(client.port->sent.empty()) << "the reduction is over already";
  const auto n = static_cast<int64_t>(kCount);
  EXPECT_EQ(ResultOf(End()), n * (n - 1) / 2);
  EXPECT_EQ(world.AskOne(client, sum.Of("v")).status, Code::kWrongType);
}

TEST_F(ShardVectorLong, AFilterIsToldInPartsOfOneVersion) {
  std::vector<uint32_t> found;
  uint64_t version = 0;
  for (uint64_t next = 0; next != VectorSlice::kToEnd;) {
    const Call call = FilterBy(Comparison::kLess, 10'000, {next, VectorSlice::kToEnd});
    const Request request = call.Of("v");
    const auto reply = world.AskOne(client, version == 0 ? request : Over(version, request));
    const Found part = FoundIn(reply);
    ASSERT_FALSE(part.indexes.empty() && part.next != VectorSlice::kToEnd);
    found.insert(found.end(), part.indexes.begin(), part.indexes.end());
    version = reply.version;
    next = part.next;
  }
  ASSERT_EQ(found.size(), 10'000u);
  EXPECT_EQ(found.front(), 0u);
  EXPECT_EQ(found.back(), 9'999u);
}

TEST_F(ShardVectorLong, AClientThatGoesLeavesNothing) {
  const Call sum = ReduceBy(VectorFunction::kAdd);
  Begin(sum.Of("v"));
  world.HangUp(client);
  auto erase = PutOf("v", {}, 1);
  erase.operation = Operation::kDelete;
  EXPECT_EQ(world.AskOne(other, erase).status, Code::kOk);
  EXPECT_EQ(world.allocated(), 0u) << "a record is held for ever";
}

TEST_F(ShardVectorLong, DamagedElementsAreNotCounted) {
  Damage();
  EXPECT_EQ(world.AskOne(client, ReduceBy(VectorFunction::kAdd).Of("v")).status, Code::kCorrupt);
  EXPECT_EQ(world.AskOne(client, FilterBy(Comparison::kLess, 3).Of("v")).status, Code::kCorrupt);
  EXPECT_EQ(world.AskOne(client, UpdateBy(VectorFunction::kAdd, {1}).Of("v", 2)).status,
            Code::kCorrupt);
}

// Strict: what is not durable is not there for a REDUCE yet, and is what the next UPDATE is made of.
TEST(ShardVectorLog, PendingUpdatesAreBuiltUponAndNotRead) {
  auto options = StoreWorld::SmallOptions();
  options.grows = options.stashes = true;
  ShardWorld world(options);
  TestLog log(log::CommitMode::kStrict);
  world.shard.LogTo({&log.commit(), log::CommitMode::kStrict});
  const auto turn = [&world] {
    for (int i = 0; i < 100; ++i) world.shard.Turn();
  };
  const auto commit = [&] {
    for (int i = 0; i < 10; ++i) {
      log.Commit();
      turn();
    }
  };
  const auto client = world.Connect(7), other = world.Connect(8), reader = world.Connect(9);
  const auto send = [&](const ShardWorld::Client& from, const Request& request) {
    world.port.Script(ShardWorld::Kind::kMessage, from.peer, 0, Encode(from.id, {request}));
    turn();
  };
  const std::string value = ValueOf({1, 2});
  send(client, PutOf("v", value, 1));
  commit();
  const Call add = UpdateBy(VectorFunction::kAdd, {1}), sum = ReduceBy(VectorFunction::kAdd);
  send(client, add.Of("v", 2));
  send(other, add.Of("v", 1));
  world.port.sent.clear();
  send(reader, sum.Of("v"));
  ASSERT_EQ(world.port.sent.size(), 1u);
  EXPECT_EQ(ResultOf(Decode(reader.id, world.port.sent[0].message).at(0)), 3);
  commit();
  world.port.sent.clear();
  send(reader, sum.Of("v"));
  ASSERT_EQ(world.port.sent.size(), 1u);
  EXPECT_EQ(ResultOf(Decode(reader.id, world.port.sent[0].message).at(0)), 7);
}

}  // namespace
}  // namespace plov::server
