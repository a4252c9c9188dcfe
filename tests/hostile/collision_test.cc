// A client stores keys that collide, as if somebody knew how to make them. Everybody can store and read
// every key all the same, growth goes on, and what was displaced comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "cuckoo/hash.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/support/sanitizers.h"

namespace plov {
namespace {

using test::Plovd;
using test::StatOf;
using ::testing::HasSubstr;

// Keys of one hash (colliding_hash.cc).
std::vector<std::string> KeysOfOneHash(size_t count) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) {
    keys.push_back("collide, all " + std::to_string(1'000'000 + i) + " of you");
    EXPECT_EQ(cuckoo::HashKey(keys[i], 1), cuckoo::HashKey(keys[0], 1));
  }
  return keys;
}

size_t PutAll(Client* client, const std::vector<std::string>& keys, std::string_view value) {
  std::vector<PutItem> items;
  for (const std::string& key : keys) items.push_back({key, value});
  size_t stored = 0;
  client->PutMany(items, [&](size_t, const Client::PutResult& result) { stored += !!result; });
  return stored;
}

size_t Right(Client* client, const std::vector<std::string>& keys, std::string_view value) {
  size_t right = 0;
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  client->GetMany(views, [&](size_t, const Client::GetResult& result) {
    right += result && *result && (*result)->value == value;
  });
  return right;
}

class Collision : public ::testing::TestWithParam<size_t> {
 protected:
  static std::vector<std::string> HonestKeys(const std::string& prefix, size_t count) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
    return keys;
  }

  const std::string value_ = std::string(GetParam(), 'v');
};

TEST_P(Collision, DeniesNobodyAKey) {
  const Plovd server({"--memory", "256M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(30)});
  const auto keys = KeysOfOneHash(20'001);
  const std::string victim = keys.back();
  EXPECT_EQ(PutAll(&client, {keys.begin(), keys.begin() + 3}, value_), 3u);
  ASSERT_TRUE(client.Put(victim, value_)) << "three keys at 0 % fill denied it for ever";
  EXPECT_EQ(Right(&client, {victim}, value_), 1u);

  EXPECT_EQ(PutAll(&client, keys, value_), keys.size());
  EXPECT_THAT(server.Log(), HasSubstr("collide"));
  const auto honest = HonestKeys("honest", 40'000);
  EXPECT_EQ(PutAll(&client, honest, value_), honest.size()) << "six keys stopped growth for good";
  EXPECT_EQ(StatOf(&client, "no_space"), 0);
  EXPECT_GT(StatOf(&client, "growths"), 3);
  // Three of them have a bucket, unless others had taken all three when a growth moved them.
  EXPECT_THAT(StatOf(&client, "stashed"),
              testing::AllOf(testing::Ge(keys.size() - 3), testing::Le(keys.size())));
  EXPECT_EQ(Right(&client, keys, value_), keys.size());
  const uint64_t asked = StatOf(&client, "gets_by_message");
  EXPECT_EQ(Right(&client, honest, value_), honest.size());
  EXPECT_LT(StatOf(&client, "gets_by_message"), asked + 100) << "honest GETs do without the server";
  size_t scanned = 0;
  const auto summary = client.Scan([&](std::string_view, const Item&) { return ++scanned > 0; });
  ASSERT_TRUE(summary);
  EXPECT_TRUE(summary->settled);
  EXPECT_EQ(scanned, keys.size() + honest.size());

  for (size_t i = 0; i + 1 < keys.size(); ++i) ASSERT_TRUE(client.Delete(keys[i]));
  EXPECT_TRUE(
      test::Eventually([&] { return StatOf(&client, "stashed") <= 1; }, std::chrono::seconds(60)))
      << "but the victim, while all three are others'";
  EXPECT_EQ(Right(&client, {victim}, value_), 1u);
  EXPECT_FALSE(client.Get(keys[0])->has_value());
}

uint64_t HeapBytesOf(const Plovd& server) {
  std::ifstream status("/proc/" + std::to_string(server.pid()) + "/status");
  std::string word;
  uint64_t kib = 0;
  while (status >> word) {
    if (word == "RssAnon:") status >> kib;
  }
  return kib << 10;
}

// What the server keeps of each such key beside its memory is counted, too.
TEST_P(Collision, TakesNoMoreThanTheMemory) {
  const Plovd server({"--memory", "32M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(30)});
  const auto keys = KeysOfOneHash(200'000);
  const uint64_t heap_before = HeapBytesOf(server);
  const size_t stored = PutAll(&client, keys, value_);
  const uint64_t budget = StatOf(&client, "memory_bytes");
  EXPECT_LT(stored, keys.size());
  EXPECT_GT(stored, budget / 1000);
  EXPECT_EQ(StatOf(&client, "items"), stored);
  EXPECT_LE(StatOf(&client, "memory_used_bytes"), budget);
  const uint64_t region = StatOf(&client, "memory_committed_bytes");
  if (!test::kSanitized) {
    EXPECT_LE(region + HeapBytesOf(server) - heap_before, budget + budget / 8);
  }
  EXPECT_EQ(Right(&client, keys, value_), stored);

  for (const std::string& key : keys) ASSERT_TRUE(client.Delete(key));
  EXPECT_EQ(StatOf(&client, "items"), 0);
  const auto honest = HonestKeys("honest", stored / 4);
  EXPECT_EQ(PutAll(&client, honest, value_), honest.size());
}

INSTANTIATE_TEST_SUITE_P(Values, Collision, ::testing::Values(8, 200),
                         [](const auto& bytes) { return std::to_string(bytes.param) + "bytes"; });

}  // namespace
}  // namespace plov
