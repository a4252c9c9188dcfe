// A client whose name leads from one server to another, and back.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/client/late_fabric.h"
#include "tests/support/plovd.h"

namespace plov {
namespace {

using fabric::Late;
using test::Plovd;

struct LivesTest : testing::Test {
  LivesTest() { Late().target = first.uri(); }

  // From now on the name leads there, and what was connected is not.
  static void LeadTo(const Plovd& server) {
    Late().target = server.uri();
    Late().cuts += 1;
  }

  static Client Connect() {
    return std::move(*Client::Connect("switch:", {.timeout = std::chrono::seconds(10)}));
  }
  static std::string ValueAt(const Plovd& server, std::string_view key) {
    Client client = server.Connect();
    const auto hit = client.Get(key);
    return hit && *hit ? std::string((*hit)->value) : "none";
  }

  const Plovd first{{"--memory", "64M"}};
  const Plovd second{{"--memory", "64M"}};
};

// The first server remembers the answers to this client's first writes.
TEST_F(LivesTest, AWriteToAServerThatWasMetBeforeIsApplied) {
  Client client = Connect();
  for (int round = 0; round < 5; ++round) {
    for (const Plovd* server : {&first, &second}) {
      LeadTo(*server);
      const std::string value = "round " + std::to_string(round);
      const auto version = client.Put("k", value);
      ASSERT_TRUE(version) << version.error().message;
      const auto hit = client.Get("k");
      ASSERT_TRUE(hit && *hit);
      EXPECT_EQ((*hit)->value, value);
      EXPECT_EQ((*hit)->version, *version);
      EXPECT_EQ(ValueAt(*server, "k"), value);
    }
  }
  EXPECT_GE(client.stats().reconnects, 9u);
}

// A retry in the same life is answered, and not applied, as before.
TEST_F(LivesTest, ABrokenConnectionToTheSameServerIsNoOtherLife) {
  Client client = Connect();
  ASSERT_TRUE(client.Put("k", "1"));
  for (int i = 0; i < 20; ++i) {
    first.Signal(SIGSTOP);
    const std::string value = std::to_string(i);
    int ended = 0;
    client.StartPut("k", value, {}, [&ended](Client::PutResult put) {
      EXPECT_TRUE(put);
      ++ended;
    });
    client.Poll();
    Late().cuts += 1;
    first.Signal(SIGCONT);
    while (client.Poll() > 0) {
    }
    EXPECT_EQ(ended, 1);
    EXPECT_EQ(ValueAt(first, "k"), value);
  }
  EXPECT_GE(client.stats().retries, 1u);
}

// The memory for values under way is the connection's, and may be smaller than on the last one.
TEST_F(LivesTest, AValueThatThisConnectionHasNoMemoryForIsRefused) {
  Client client = Connect();
  const std::string value(20'000, 'x');
  ASSERT_TRUE(client.Put("k", value));
  LeadTo(second);
  Late().staging_bytes = 8192;
  const auto put = client.Put("k", value);
  Late().staging_bytes = SIZE_MAX;
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Code::kTooLarge);
  EXPECT_EQ(ValueAt(second, "k"), "none");
}

// Keys that are hashed ahead are hashed anew for another server.
TEST_F(LivesTest, GetManyFindsEverythingWhicheverServerAnswers) {
  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i) names.push_back("key " + std::to_string(i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  for (const Plovd* server : {&first, &second}) {
    Client writer = server->Connect();
    std::vector<PutItem> items;
    for (const std::string& name : names) items.push_back({name, name});
    writer.PutMany(items, [](size_t, Client::PutResult put) { ASSERT_TRUE(put); });
  }
  Client client = Connect();
  for (int round = 0; round < 5; ++round) {
    size_t seen = 0, wrong = 0;
    client.GetMany(keys, [&](size_t i, Client::GetResult hit) {
      if (++seen % 300 == 0) LeadTo(seen % 600 == 0 ? first : second);
      wrong += !(hit && *hit && (*hit)->value == names[i]);
    });
    EXPECT_EQ(seen, names.size());
    EXPECT_EQ(wrong, 0u);
  }
}

TEST_F(LivesTest, WhatWasNotSentGoesToTheNextLifeAndWhatWasEndsUnknown) {
  Client client = Connect();
  ASSERT_TRUE(client.Put("k", "v"));
  first.Signal(SIGSTOP);
  std::map<Code, int> ended;
  int stored = 0;
  std::vector<std::string> names;
  for (int i = 0; i < 2000; ++i) names.push_back("key " + std::to_string(i));
  for (const std::string& name : names) {
    client.StartPut(name, name, {}, [&](Client::PutResult put) {
      if (put) {
        ++stored;
      } else {
        ++ended[put.error().code];
      }
    });
  }
  client.Poll();
  LeadTo(second);
  while (client.Poll() > 0) {
  }
  first.Signal(SIGCONT);
  EXPECT_GT(stored, 0);
  EXPECT_GT(ended[Code::kUnknown], 0);
  EXPECT_EQ(static_cast<size_t>(stored + ended[Code::kUnknown]), names.size());
}

}  // namespace
}  // namespace plov
