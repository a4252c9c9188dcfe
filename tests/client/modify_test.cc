// Writes that make their value of the one that is there, as programs call them.
#include <gtest/gtest.h>
#include <plov/client.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using std::chrono::seconds;
using test::Plovd;

class Modify : public ::testing::Test {
 protected:
  const Plovd server{{"--memory", "64M"}};
  Client client = server.Connect({.timeout = seconds(20)});
};

TEST_F(Modify, IncrementCountsWithinItsLimits) {
  EXPECT_EQ(client.Increment("n", 1).error().code, Code::kNotFound);
  EXPECT_EQ(client.Increment("n", 5, {.initial = 10, .flags = 3})->value, 15);
  const auto down = client.Increment("n", -20);
  EXPECT_EQ(down->value, -5);
  const auto hit = client.Get("n");
  EXPECT_EQ((*hit)->value, "-5");
  EXPECT_EQ((*hit)->flags, 3u);
  EXPECT_EQ((*hit)->version, down->version);
  EXPECT_EQ(client.Increment("n", -1, {.min = -5}).error().code, Code::kOutOfRange);
  EXPECT_EQ(client.Increment("n", 1, {.expected_version = 1}).error().code, Code::kVersionMismatch);
  ASSERT_TRUE(client.Put("text", "five"));
  EXPECT_EQ(client.Increment("text", 1).error().code, Code::kNotANumber);
}

TEST_F(Modify, UnsignedNumbersAreMemcacheds) {
  ASSERT_TRUE(client.Put("n", "18446744073709551615"));
  EXPECT_EQ(client.Increment("n", 0, {.mode = NumberMode::kUnsignedAdd})->value, -1);
  EXPECT_EQ(client.Increment("n", 3, {.mode = NumberMode::kUnsignedAdd})->value, 2);
  EXPECT_EQ(client.Increment("n", 3, {.mode = NumberMode::kUnsignedSubtract})->value, 0);
}

TEST_F(Modify, ANumberNeedsNoMoreThanItsTextHas) {
  const Plovd small({"--memory", "64M", "--max-value", "2"});
  Client of_small = small.Connect();
  EXPECT_EQ(of_small.Increment("n", 99, {.initial = 0})->value, 99);
  EXPECT_EQ(of_small.Increment("n", 1).error().code, Code::kTooLarge);
  EXPECT_EQ((*of_small.Get("n"))->value, "99");
}

TEST_F(Modify, JoinsAreModesOfAPut) {
  EXPECT_EQ(client.Put("k", "x", {.mode = PutMode::kAppend}).error().code, Code::kNotFound);
  EXPECT_EQ(client.Put("k", "x", {.mode = PutMode::kPrepend}).error().code, Code::kNotFound);
  ASSERT_TRUE(client.Put("k", "b", {.mode = PutMode::kAppendOrAdd, .flags = 8}));
  const std::vector<PutItem> items = {{"k", "c", {.mode = PutMode::kAppend}},
                                      {"k", "a", {.mode = PutMode::kPrependOrAdd}},
                                      {"k", "d", {.mode = PutMode::kAppendOrAdd}}};
  client.PutMany(items, [](size_t, const Client::PutResult& result) { EXPECT_TRUE(result); });
  EXPECT_EQ((*client.Get("k"))->value, "abcd");
  EXPECT_EQ((*client.Get("k"))->flags, 8u);
}

TEST_F(Modify, WhatTheServerMakesAValueOfIsInTheMessage) {
  ASSERT_TRUE(client.Put("k", "x"));
  const std::string most(16 << 10, 'm');
  ASSERT_TRUE(client.Put("k", most, {.mode = PutMode::kAppend}));
  EXPECT_EQ(client.Put("k", most + "m", {.mode = PutMode::kAppend}).error().code, Code::kTooLarge);
  EXPECT_EQ(client.Put("k", "n", {.expected_value = most}).error().code, Code::kTooLarge);
  const std::string beyond((16 << 20) + 1, 'm');
  EXPECT_EQ(client.Put("k", "n", {.expected_value = beyond}).error().code, Code::kTooLarge);
  EXPECT_EQ((*client.Get("k"))->value, "x" + most);
}

TEST_F(Modify, ExpectedValueDecides) {
  EXPECT_EQ(client.Put("k", "1", {.expected_value = ""}).error().code, Code::kNotFound);
  ASSERT_TRUE(client.Put("k", ""));
  EXPECT_TRUE(client.Put("k", "1", {.expected_value = "", .flags = 2}));
  EXPECT_EQ(client.Put("k", "2", {.expected_value = "0"}).error().code, Code::kVersionMismatch);
  EXPECT_EQ(client.Put("k", "2", {.mode = PutMode::kReplace, .expected_value = "1"}).error().code,
            Code::kInvalidArgument);
  const Version version = (*client.Get("k"))->version;
  EXPECT_EQ(
      client.Put("k", "2", {.expected_version = version + 1, .expected_value = "1"}).error().code,
      Code::kVersionMismatch);
  EXPECT_TRUE(client.Put("k", "2", {.expected_version = version, .expected_value = "1"}));
}

TEST_F(Modify, TouchIsSeenByGet) {
  EXPECT_EQ(client.Touch("k", seconds(9)).error().code, Code::kNotFound);
  EXPECT_FALSE(client.GetAndTouch("k", seconds(9))->has_value());
  for (const size_t bytes : {size_t{5}, size_t{500}, size_t{3} << 20}) {
    const std::string value(bytes, 'v');
    ASSERT_TRUE(client.Put("k", value, {.flags = 7}));
    const auto touched = client.Touch("k", seconds(1000));
    ASSERT_TRUE(touched);
    EXPECT_EQ((*client.Get("k"))->version, *touched);
    EXPECT_NE((*client.Get("k"))->expiry, 0u);
    const auto got = client.GetAndTouch("k", seconds(0));
    ASSERT_TRUE(got && *got);
    EXPECT_EQ((*got)->value, value);
    EXPECT_EQ((*got)->flags, 7u);
    EXPECT_GT((*got)->version, *touched);
    EXPECT_EQ((*client.Get("k"))->expiry, 0u);
  }
  EXPECT_EQ(client.Touch("k", seconds(-1)).error().code, Code::kInvalidArgument);
  EXPECT_EQ(client.GetAndTouch("none", seconds(-1)).error().code, Code::kInvalidArgument);
}

TEST_F(Modify, IncrementManyTellsEachNumber) {
  constexpr size_t kItems = 1000;
  std::vector<IncrementItem> items;
  for (size_t i = 0; i < kItems; ++i)
    items.push_back({.key = "n", .delta = 2, .options = {.initial = 0}});
  items[500].key = "none";
  items[500].options.initial = {};
  ASSERT_TRUE(client.Put("text", "x"));
  items[600].key = "text";
  std::vector<int64_t> numbers(kItems);
  std::vector<Code> codes(kItems, Code::kOk);
  client.IncrementMany(items, [&](size_t i, const Client::IncrementResult& result) {
    if (result) numbers[i] = result->value;
    if (!result) codes[i] = result.error().code;
  });
  int64_t number = 0;
  for (size_t i = 0; i < kItems; ++i) {
    const bool is_refused = i == 500 || i == 600;
    EXPECT_EQ(numbers[i], is_refused ? 0 : number += 2);
  }
  EXPECT_EQ(codes[499], Code::kOk);
  EXPECT_EQ(codes[500], Code::kNotFound);
  EXPECT_EQ(codes[600], Code::kNotANumber);
}

TEST_F(Modify, ItemsEndAtAMomentOfTheServersClock) {
  const auto time = client.Time("k");
  ASSERT_TRUE(time);
  EXPECT_LE(time->earliest_us, time->latest_us);
  const auto now = static_cast<uint32_t>(time->latest_us / 1'000'000);
  ASSERT_TRUE(client.Put("k", "v", {.ttl = Lifetime::Until(now + 5000)}));
  EXPECT_EQ((*client.Get("k"))->expiry, now + 5000);
  ASSERT_TRUE(client.Touch("k", Lifetime::Until(now + 6000)));
  EXPECT_EQ((*client.Get("k"))->expiry, now + 6000);
  EXPECT_EQ((*client.GetAndTouch("k", Lifetime::Until(now + 7000)))->expiry, now + 6000);
  EXPECT_EQ((*client.Get("k"))->expiry, now + 7000);
  ASSERT_TRUE(client.Increment("n", 1, {.initial = 0, .ttl = Lifetime::Until(now + 8000)}));
  EXPECT_EQ((*client.Get("n"))->expiry, now + 8000);
  ASSERT_TRUE(client.Put("k", "over", {.ttl = Lifetime::Until(now - 1)}));
  EXPECT_FALSE(client.Get("k")->has_value());
  EXPECT_TRUE(client.Put("k", "new", {.mode = PutMode::kAdd}));
  EXPECT_EQ(client.Time("").error().code, Code::kInvalidArgument);
  bool is_told = false;
  const std::vector<std::string> keys = {"k"};
  client.GetMany(keys,
                 [&](size_t, const Client::GetResult&) { is_told = client.Time("k").has_value(); });
  EXPECT_TRUE(is_told);
}

TEST_F(Modify, FlushDeletesEverythingThatIsThere) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2000; ++i) keys.push_back("key " + std::to_string(i));
  for (const auto& key : keys) ASSERT_TRUE(client.Put(key, std::string(key.size() * 10, 'v')));
  Client other = server.Connect();
  for (const auto& key : keys) ASSERT_TRUE(*other.Get(key)) << "it remembers where they are";
  EXPECT_EQ(client.Flush(), 2000);
  for (const auto& key : keys) {
    ASSERT_FALSE(*other.Get(key));
    ASSERT_FALSE(*client.Get(key));
  }
  EXPECT_EQ(client.Flush(), 0);
  EXPECT_EQ(client.Flush(seconds(-1)).error().code, Code::kInvalidArgument);
}

TEST_F(Modify, DelayedFlushIsOverAtOnce) {
  ASSERT_TRUE(client.Put("key", "v"));
  EXPECT_EQ(client.Flush(seconds(1)), 0);
  EXPECT_TRUE(*client.Get("key"));
  const auto gone = [this] { return !*client.Get("key"); };
  for (int i = 0; i < 1000 && !gone(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(gone());
}

// Others go on meanwhile.
TEST_F(Modify, StartedFlushTellsHowManyItDeleted) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("key " + std::to_string(i));
  for (const auto& key : keys) ASSERT_TRUE(client.Put(key, "v"));
  std::optional<Client::FlushResult> flushed;
  bool put = false;
  client.StartFlush(seconds(0), [&](Client::FlushResult result) { flushed = std::move(result); });
  client.StartPut("other", "v", {}, [&](const Client::PutResult& result) { put = !!result; });
  while (client.Poll() > 0) continue;
  EXPECT_TRUE(put);
  ASSERT_TRUE(flushed && *flushed);
  EXPECT_GE(**flushed, 1000);
  client.StartFlush(seconds(-1), [&](Client::FlushResult result) { flushed = std::move(result); });
  EXPECT_EQ(flushed->error().code, Code::kInvalidArgument);
  {
    Client ended = std::move(client);
    ended.StartFlush(seconds(0), [&](Client::FlushResult result) { flushed = std::move(result); });
  }
  EXPECT_EQ(flushed->error().code, Code::kUnavailable);
}

TEST_F(Modify, StartedOnesKeepTheirOrder) {
  int64_t last = 0;
  for (int i = 1; i <= 600; ++i) {
    client.StartIncrement("n", 1, {.initial = 0}, [&, i](const Client::IncrementResult& result) {
      EXPECT_EQ(result->value, i);
      last = result->value;
    });
  }
  Version touched = 0;
  client.StartTouch("n", seconds(100), 0,
                    [&](const Client::PutResult& result) { touched = *result; });
  std::optional<Version> got;
  client.StartGet("n", [&](const Client::GetResult& result) { got = (*result)->version; });
  while (client.Poll() > 0) continue;
  EXPECT_EQ(last, 600);
  EXPECT_EQ(got, touched);
}

TEST_F(Modify, ConcurrentOnesAllCount) {
  constexpr int kThreads = 3, kEach = 300;
  ASSERT_TRUE(client.Put("log", std::string(70'000, 'l')));
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this] {
      Client mine = server.Connect({.timeout = seconds(60)});
      for (int i = 0; i < kEach; ++i) {
        EXPECT_TRUE(mine.Increment("n", 1, {.initial = 0}));
        if (i % 10 == 0) {
          EXPECT_TRUE(mine.Put("log", "!", {.mode = PutMode::kAppend}));
          EXPECT_TRUE(mine.GetAndTouch("n", seconds(1000)));
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ((*client.Get("n"))->value, std::to_string(kThreads * kEach));
  EXPECT_EQ((*client.Get("log"))->value.size(), 70'000u + kThreads * kEach / 10);
}

}  // namespace
}  // namespace plov
