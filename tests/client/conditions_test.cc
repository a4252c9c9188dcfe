// Conditional writes, flags, expiry.

#include <gtest/gtest.h>
#include <plov/client.h>

#include <thread>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Plovd;

TEST(Conditions, AddAndReplaceLookAtPresence) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  EXPECT_EQ(client.Put("k", "1", {.mode = PutMode::kReplace}).error().code, Code::kNotFound);
  EXPECT_TRUE(client.Put("k", "2", {.mode = PutMode::kAdd}));
  EXPECT_EQ(client.Put("k", "3", {.mode = PutMode::kAdd}).error().code, Code::kExists);
  EXPECT_TRUE(client.Put("k", "4", {.mode = PutMode::kReplace}));
  EXPECT_EQ((*client.Get("k"))->value, "4");
}

TEST(Conditions, VersionDecides) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  const auto first = client.Put("k", "1");
  const auto second = client.Put("k", "2", {.expected_version = *first});
  ASSERT_TRUE(second);
  EXPECT_GT(*second, *first);
  EXPECT_EQ(client.Put("k", "3", {.expected_version = *first}).error().code,
            Code::kVersionMismatch);
  EXPECT_EQ(client.Delete("k", *first).error().code, Code::kVersionMismatch);
  EXPECT_EQ((*client.Get("k"))->value, "2");
  EXPECT_TRUE(*client.Delete("k", *second));
  EXPECT_EQ(client.Put("k", "4", {.expected_version = *second}).error().code, Code::kNotFound);
}

TEST(Conditions, CompareAndSetLosesNoIncrement) {
  const Plovd server({"--memory", "64M"});
  ASSERT_TRUE(server.Connect().Put("counter", "0"));
  constexpr int kThreads = 3;
  constexpr int kIncrements = 300;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&server] {
      Client client = server.Connect({.timeout = std::chrono::seconds(20)});
      for (int done = 0; done < kIncrements;) {
        const auto hit = client.Get("counter");
        const Version version = (*hit)->version;
        const int next = std::stoi(std::string((*hit)->value)) + 1;
        if (client.Put("counter", std::to_string(next), {.expected_version = version})) ++done;
      }
    });
  }
  threads.clear();
  EXPECT_EQ((*server.Connect().Get("counter"))->value, std::to_string(kThreads * kIncrements));
}

TEST(Conditions, FlagsComeBack) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  for (const size_t bytes : std::initializer_list<size_t>{5, 500}) {
    ASSERT_TRUE(client.Put("k", std::string(bytes, 'x'), {.flags = 0xdeadbeef}));
    EXPECT_EQ((*client.Get("k"))->flags, 0xdeadbeef);
  }
}

TEST(Conditions, ExpiredItemsAreAbsentForEveryOperation) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  for (const size_t bytes : std::initializer_list<size_t>{5, 500}) {
    const std::string value(bytes, 'x');
    ASSERT_TRUE(client.Put("k", value, {.ttl = std::chrono::seconds(1)}));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (client.Get("k")->has_value() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    EXPECT_FALSE(client.Get("k")->has_value());
    EXPECT_FALSE(*client.Delete("k"));
    EXPECT_TRUE(client.Put("k", value, {.ttl = std::chrono::seconds(1)}));
    EXPECT_TRUE(client.Put("k", value, {.ttl = std::chrono::hours(1)}));
    EXPECT_NE((*client.Get("k"))->expiry, 0);
    EXPECT_TRUE(*client.Delete("k"));
  }
}

}  // namespace
}  // namespace plov
