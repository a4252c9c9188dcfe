// GetMany and PutMany.

#include <gtest/gtest.h>
#include <plov/client.h>

#include <algorithm>
#include <map>

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

// Inline, in records, in large ones; with an expiry, expired, overwritten, deleted and never stored; keys
// that are none, and twice the same.
class MixedKeys {
 public:
  explicit MixedKeys(Client* writer) : writer_(writer) {
    for (size_t i = 0; i < kCount; ++i) Put(i, i);
  }

  // Changes what other clients remember.
  void Change() {
    for (size_t i = 0; i < kCount; i += 3) Put(i, i + 1);
    for (size_t i = 0; i < kCount; i += 10) {
      EXPECT_TRUE(writer_->Delete(keys_[i]));
      values_.erase(keys_[i]);
    }
  }

  void Check(Client* client) const {
    std::vector<std::string_view> wanted(keys_.begin(), keys_.end());
    wanted.insert(wanted.begin() + 100, {"absent", "", keys_[5], keys_[5]});
    std::vector<int> answers(wanted.size());
    client->GetMany(wanted, [&](size_t index, Client::GetResult result) {
      ++answers[index];
      const auto found = values_.find(wanted[index]);
      if (wanted[index].empty()) {
        EXPECT_EQ(result.error().code, Code::kInvalidArgument);
      } else if (found == values_.end()) {
        EXPECT_TRUE(result && !*result) << wanted[index];
      } else {
        ASSERT_TRUE(result && *result) << wanted[index];
        EXPECT_EQ((*result)->value, found->second);
      }
    });
    EXPECT_EQ(std::ranges::count(answers, 1), static_cast<std::ptrdiff_t>(wanted.size()));
  }

 private:
  static constexpr size_t kCount = 3000;

  void Put(size_t index, size_t shape) {
    static constexpr size_t kBytes[] = {0, 9, 16, 64, 983, 984, 1500, 70'000};
    const std::string& key = keys_.at(index);
    const auto ttl = std::chrono::seconds(shape % 5 == 0 ? 3600 : 0);
    const auto& value = values_[key] =
        std::string(kBytes[shape % std::size(kBytes)], static_cast<char>('a' + shape % 26));
    ASSERT_TRUE(writer_->Put(key, value, {.ttl = ttl}));
  }

  Client* writer_;
  std::vector<std::string> keys_ = Keys(kCount);
  std::map<std::string, std::string, std::less<>> values_;
};

TEST(Many, AgreesWithWhatIsStoredWhateverTheWindow) {
  const Plovd server({"--memory", "256M", "--shards", "2"});
  Client writer = server.Connect({.timeout = std::chrono::seconds(20)});
  MixedKeys keys(&writer);
  std::vector<Client> clients;
  const auto add = [&](uint32_t window, size_t cache) {
    clients.push_back(server.Connect(
        {.timeout = std::chrono::seconds(20), .location_cache_bytes = cache, .window = window}));
  };
  for (const uint32_t window : {1u, 31u, 64u}) add(window, 0);
  for (const uint32_t window : {2u, 32u}) add(window, 4096);
  for (const uint32_t window : {1u, 32u, 64u}) add(window, size_t{1} << 20);
  for (int round = 0; round < 3; ++round) {
    for (Client& client : clients) keys.Check(&client);
    keys.Change();
  }
}

TEST(Many, AKnownItemTakesOneRead) {
  const Plovd server({"--memory", "128M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  const auto keys = Keys(200);
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto ttl = std::chrono::seconds(i % 2 == 0 ? 3600 : 0);
    ASSERT_TRUE(client.Put(keys[i], ValueOf(i), {.ttl = ttl}));
  }
  const std::vector<std::string_view> wanted(keys.begin(), keys.end());
  const auto reads = [&client, &wanted] {
    const uint64_t before = client.stats().reads;
    client.GetMany(wanted,
                   [](size_t, Client::GetResult result) { ASSERT_TRUE(result && *result); });
    return client.stats().reads - before;
  };
  EXPECT_GT(reads(), keys.size());
  EXPECT_EQ(reads(), keys.size());
  const ClientStats stats = client.stats();
  EXPECT_EQ(stats.gets, 2 * keys.size());
  EXPECT_EQ(stats.hits, 2 * keys.size());
  EXPECT_EQ(stats.known_reads, keys.size());
  EXPECT_EQ(stats.known_misses, 0);
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
