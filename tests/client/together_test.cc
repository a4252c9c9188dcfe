// Snapshots of keys and Commits, as programs call them, against a real plovd.
#include <gtest/gtest.h>
#include <plov/client.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/folder.h"
#include "tests/support/plovd.h"

namespace plov {
namespace {

using std::chrono::seconds;
using test::Plovd;
using Views = std::vector<std::string_view>;
using Reads = std::vector<CommitRead>;
using Writes = std::vector<CommitWrite>;

// "none" where there is nothing.
std::vector<std::string> ValuesOf(Client* client, const Views& keys) {
  const auto items = client->Snapshot(keys);
  if (!items) return {items.error().message};
  std::vector<std::string> values;
  for (const auto& item : *items) values.emplace_back(item ? item->value : "none");
  return values;
}

class Together : public ::testing::Test {
 protected:
  Plovd server{{"--memory", "64M"}};
  Client client = server.Connect({.timeout = seconds(20)});
};

TEST_F(Together, ACommitAppliesAllOfItsWrites) {
  const auto a = client.Put("a", "1");
  const std::string large(9000, 'x');
  const auto first = client.Commit(Reads{{"a", *a}, {"b", 0}},
                                   Writes{{.key = "a"},
                                          {.key = "b", .value = large, .flags = 7},
                                          {.key = "c", .value = "3", .ttl = seconds(1000)}});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*first, *a + 1);
  const auto items = client.Snapshot(Views{"a", "b", "c", "b"});
  ASSERT_TRUE(items);
  EXPECT_FALSE((*items)[0]);
  EXPECT_EQ((*items)[1]->value, large);
  EXPECT_EQ((*items)[1]->version, *first + 1);
  EXPECT_EQ((*items)[1]->flags, 7u);
  EXPECT_EQ((*items)[2]->version, *first + 2);
  EXPECT_NE((*items)[2]->expiry, 0u);
  EXPECT_EQ((*items)[3]->value, large);
}

TEST_F(Together, ACommitAppliesNothingWhereAReadDoesNotStand) {
  const auto a = client.Put("a", "1");
  for (const Reads& reads : {Reads{{"a", 0}}, Reads{{"a", *a}, {"b", *a}}, Reads{{"a", *a + 1}}}) {
    const auto done =
        client.Commit(reads, Writes{{.key = "a", .value = "2"}, {.key = "b", .value = "2"}});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Code::kVersionMismatch);
  }
  EXPECT_EQ(ValuesOf(&client, {"a", "b"}), (std::vector<std::string>{"1", "none"}));
  EXPECT_EQ(client.Commit(Reads{{"a", *a}, {"b", 0}}, {}), 0u);
  EXPECT_EQ(client.Commit(Reads{{"b", *a}}, {}).error().code, Code::kVersionMismatch);
}

TEST_F(Together, WhatIsNoCommitIsRefused) {
  const auto code = [this](const Reads& reads, const Writes& writes) {
    const auto done = client.Commit(reads, writes);
    return done ? Code::kOk : done.error().code;
  };
  const std::string half(8 << 10, 'x');
  EXPECT_EQ(code({}, {}), Code::kInvalidArgument);
  EXPECT_EQ(code({{"", 0}}, {}), Code::kInvalidArgument);
  EXPECT_EQ(code({}, {{.key = "k", .value = "", .ttl = seconds(-1)}}), Code::kInvalidArgument);
  EXPECT_EQ(code(Reads(129, {"k", 0}), {}), Code::kInvalidArgument);
  EXPECT_EQ(code({}, Writes(129, {.key = "k"})), Code::kInvalidArgument);
  EXPECT_EQ(code({}, {{.key = "a", .value = half}, {.key = "b", .value = half}}), Code::kTooLarge);
  EXPECT_EQ(code(Reads(128, {"k", 0}), Writes(128, {.key = "k", .value = "1"})), Code::kOk);
  EXPECT_EQ(ValuesOf(&client, {"a", "b", "k"}), (std::vector<std::string>{"none", "none", "1"}));
}

TEST_F(Together, AStartedCommitNeedsNoneOfItsStringsAnyMore) {
  std::optional<Client::PutResult> done;
  {
    const std::string key = "key", value = "value";
    client.StartCommit(Reads{{key, 0}}, Writes{{.key = key, .value = value}},
                       [&done](Client::PutResult result) { done = std::move(result); });
  }
  while (client.Poll() > 0) {
  }
  ASSERT_TRUE(done && *done);
  EXPECT_EQ(ValuesOf(&client, {"key"}), std::vector<std::string>{"value"});
}

// Keys of any shards, where the server keeps no log.
TEST(TogetherOverShards, ACommitHasKeysOfAll) {
  const Plovd server({"--memory", "64M", "--shards", "4"});
  Client client = server.Connect({.timeout = seconds(20)});
  std::vector<std::string> names;
  for (int i = 0; i < 40; ++i) names.push_back("key" + std::to_string(i));
  Reads reads;
  Writes writes;
  for (const std::string& name : names) {
    reads.push_back({name, 0});
    writes.push_back({.key = name, .value = name});
  }
  const auto done = client.Commit(reads, writes);
  ASSERT_TRUE(done) << done.error().message;
  const Views keys(names.begin(), names.end());
  EXPECT_EQ(ValuesOf(&client, keys), names);
  const auto items = client.Snapshot(keys);
  ASSERT_TRUE(items);
  for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ((*items)[i]->version, *done + i);
  EXPECT_EQ(client.Commit(reads, writes).error().code, Code::kVersionMismatch);
  for (size_t i = 0; i < names.size(); ++i) reads[i].version = *done + i;
  reads[17].version += 1;
  writes = {{.key = names[3]}};
  EXPECT_EQ(client.Commit(reads, writes).error().code, Code::kVersionMismatch);
  reads[17].version -= 1;
  EXPECT_EQ(client.Commit(reads, {}), 0u);
  ASSERT_TRUE(client.Commit(reads, writes));
  EXPECT_EQ(ValuesOf(&client, {names[3], names[4]}), (std::vector<std::string>{"none", names[4]}));
}

TEST(TogetherOverShards, WithALogItHasKeysOfOne) {
  const test::TemporaryFolder folder;
  const Plovd server({"--memory", "64M", "--shards", "4", "--log", folder.path() + "/log"});
  Client client = server.Connect({.timeout = seconds(20)});
  uint64_t refused = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string key = "key" + std::to_string(i);
    const auto done =
        client.Commit({}, Writes{{.key = "key", .value = "1"}, {.key = key, .value = "1"}});
    if (!done) {
      EXPECT_EQ(done.error().code, Code::kInvalidArgument);
      EXPECT_NE(done.error().message.find("--shards 1"), std::string::npos);
      ++refused;
    }
    EXPECT_EQ(ValuesOf(&client, {key})[0], done ? "1" : "none");
  }
  EXPECT_GT(refused, 10u);
  EXPECT_LT(refused, 40u);
}

// Transfers between accounts: no Snapshot finds another sum, whatever the server keeps.
void Transfer(const std::vector<std::string>& options) {
  const Plovd server(options);
  constexpr size_t kAccounts = 6;
  std::vector<std::string> names;
  for (size_t i = 0; i < kAccounts; ++i) names.push_back("account" + std::to_string(i));
  const Views keys(names.begin(), names.end());
  Client first = server.Connect({.timeout = seconds(60)});
  for (const std::string& name : names) ASSERT_TRUE(first.Put(name, "100"));
  std::atomic<int> wrong = 0, applied = 0;
  const auto transfer = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    Client client = server.Connect({.timeout = seconds(60)});
    for (int i = 0; i < 150; ++i) {
      const size_t from = random() % kAccounts;
      const size_t to = (from + 1 + random() % (kAccounts - 1)) % kAccounts;
      const auto now = client.Snapshot(Views{keys[from], keys[to]});
      if (!now) {
        ++wrong;
        continue;
      }
      const auto amount = [&](size_t k) {
        return (*now)[k] ? std::stol(std::string((*now)[k]->value)) : 0;
      };
      const auto version = [&](size_t k) { return (*now)[k] ? (*now)[k]->version : 0; };
      const long moved = random() % 3 == 0 ? amount(0) : 1;
      const std::string less = std::to_string(amount(0) - moved),
                        more = std::to_string(amount(1) + moved);
      CommitWrite taken{.key = keys[from]};
      if (less != "0") taken.value = less;
      const auto done = client.Commit(Reads{{keys[from], version(0)}, {keys[to], version(1)}},
                                      Writes{taken, {.key = keys[to], .value = more}});
      applied += done ? 1 : 0;
      if (!done && done.error().code != Code::kVersionMismatch) ++wrong;
      const auto all = client.Snapshot(keys);
      long sum = 0;
      for (size_t k = 0; all && k < kAccounts; ++k) {
        if ((*all)[k]) sum += std::stol(std::string((*all)[k]->value));
      }
      if (sum != 100 * static_cast<long>(kAccounts)) ++wrong;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (uint64_t seed = 1; seed <= 3; ++seed) threads.emplace_back(transfer, seed);
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(applied, 100);
}

TEST(TogetherTransfers, NoSnapshotFindsAnotherSum) { Transfer({"--memory", "64M"}); }

TEST(TogetherTransfers, NorOverShards) {
  Transfer({"--memory", "64M", "--shards", "3", "--threads", "2"});
}

TEST(TogetherTransfers, NorWithALog) {
  const test::TemporaryFolder folder;
  Transfer({"--memory", "64M", "--log", folder.path() + "/log"});
}

}  // namespace
}  // namespace plov
