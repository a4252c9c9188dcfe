// GetMany and PutMany.

#include <gtest/gtest.h>
#include <plov/client.h>

#include <algorithm>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Plovd;

std::vector<std::string> Keys(size_t count) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back("key:" + std::to_string(i));
  return keys;
}

std::string ValueOf(size_t index) {
  return std::to_string(index) + std::string(index * 7919 % 3000, 'v');
}

void PutAll(Client* client, const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  for (size_t i = 0; i < keys.size(); ++i) values.push_back(ValueOf(i));
  std::vector<PutItem> items;
  for (size_t i = 0; i < keys.size(); ++i) items.push_back({keys[i], values[i]});
  std::vector<int> answers(keys.size());
  client->PutMany(items, [&answers](size_t index, Client::PutResult result) {
    ASSERT_TRUE(result) << result.error().message;
    ++answers[index];
  });
  EXPECT_EQ(std::ranges::count(answers, 1), static_cast<std::ptrdiff_t>(keys.size()));
}

TEST(Many, EveryKeyIsAnsweredOnce) {
  for (const char* shards : {"1", "2"}) {
    const Plovd server({"--memory", "128M", "--shards", shards});
    Client client = server.Connect({.timeout = std::chrono::seconds(20)});
    const auto keys = Keys(5000);
    PutAll(&client, keys);
    std::vector<std::string_view> wanted(keys.begin(), keys.end());
    wanted.push_back("absent");
    wanted.push_back("");
    std::vector<int> answers(wanted.size());
    client.GetMany(wanted, [&](size_t index, Client::GetResult result) {
      ++answers[index];
      if (index < keys.size()) {
        ASSERT_TRUE(result && *result);
        EXPECT_EQ((*result)->value, ValueOf(index));
      } else if (index == keys.size()) {
        EXPECT_TRUE(result && !*result);
      } else {
        EXPECT_EQ(result.error().code, Code::kInvalidArgument);
      }
    });
    EXPECT_EQ(std::ranges::count(answers, 1), static_cast<std::ptrdiff_t>(wanted.size()));
  }
}

TEST(Many, WritesOfOneKeyKeepTheirOrder) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  const auto texts = Keys(1000);
  std::vector<PutItem> items;
  for (const std::string& text : texts) items.push_back({"k", text});
  Version last = 0;
  client.PutMany(items, [&last](size_t, Client::PutResult result) {
    ASSERT_TRUE(result);
    EXPECT_GT(*result, last);
    last = *result;
  });
  EXPECT_EQ((*client.Get("k"))->value, texts.back());
}

TEST(Many, LargeAndSmallValuesMix) {
  const Plovd server({"--memory", "256M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  const auto keys = Keys(60);
  std::vector<std::string> values;
  for (size_t i = 0; i < keys.size(); ++i) {
    values.emplace_back(i % 3 == 0 ? 1'000'000 + i : i, static_cast<char>('a' + i % 26));
  }
  std::vector<PutItem> items;
  for (size_t i = 0; i < keys.size(); ++i) items.push_back({keys[i], values[i]});
  client.PutMany(items, [](size_t, Client::PutResult result) { ASSERT_TRUE(result); });
  const std::vector<std::string_view> wanted(keys.begin(), keys.end());
  size_t right = 0;
  client.GetMany(wanted, [&](size_t index, Client::GetResult result) {
    right += result && *result && (*result)->value == values[index];
  });
  EXPECT_EQ(right, keys.size());
}

TEST(Many, BlockingCallsInCallbacksAreRefused) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  ASSERT_TRUE(client.Put("k", "v"));
  const std::vector<std::string_view> wanted = {"k", "k"};
  size_t refused = 0;
  client.GetMany(wanted, [&](size_t, Client::GetResult) {
    refused += client.Get("k").error().code == Code::kInvalidArgument;
    refused += client.Put("k", "w").error().code == Code::kInvalidArgument;
  });
  EXPECT_EQ(refused, 4);
  EXPECT_EQ((*client.Get("k"))->value, "v");
}

TEST(Many, EmptyBatchesEndAtOnce) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  client.GetMany({}, [](size_t, Client::GetResult) { FAIL(); });
  client.PutMany({}, [](size_t, Client::PutResult) { FAIL(); });
}

}  // namespace
}  // namespace plov
