// Servers that are killed.

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Plovd;

TEST(Death, AKilledServerIsSaidWithinTheDeadline) {
  Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::milliseconds(300)});
  ASSERT_TRUE(client.Put("k", "v"));
  ASSERT_TRUE(client.Get("k")->has_value());
  server.Signal(SIGKILL);
  server.Wait();
  EXPECT_EQ(client.Get("k").error().code, Code::kUnavailable);
  EXPECT_EQ(client.Put("k", "w").error().code, Code::kUnavailable);
  EXPECT_EQ(client.Delete("k").error().code, Code::kUnavailable);
  const std::vector<std::string_view> keys = {"k", "l"};
  size_t told = 0;
  client.GetMany(keys, [&told](size_t, Client::GetResult result) {
    told += result.error().code == Code::kUnavailable;
  });
  EXPECT_EQ(told, 2);
}

TEST(Death, AWriteUnderWayIsUnknown) {
  Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::milliseconds(500)});
  ASSERT_TRUE(client.Put("k", "v"));
  server.Signal(SIGSTOP);
  std::optional<Client::PutResult> result;
  client.StartPut("k", "w", {}, [&result](Client::PutResult got) { result = std::move(got); });
  client.Poll();  // sends it
  server.Signal(SIGKILL);
  server.Wait();
  while (!result) client.Poll();
  EXPECT_EQ(result->error().code, Code::kUnknown);
}

TEST(Death, WhatWasAnsweredBeforeTheEndCounts) {
  Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  Client other = server.Connect();
  server.Signal(SIGSTOP);
  std::optional<Client::PutResult> result;
  client.StartPut("k", "v", {}, [&result](Client::PutResult got) { result = std::move(got); });
  client.Poll();  // sends it
  server.Signal(SIGCONT);
  ASSERT_TRUE(other.Put("l", "v")) << "after it";
  const Version version = (*other.Get("k"))->version;
  server.Signal(SIGKILL);
  server.Wait();
  ASSERT_FALSE(result);
  while (!result) client.Poll();
  ASSERT_TRUE(*result) << result->error().message;
  EXPECT_EQ(**result, version);
}

TEST(Death, ClientsFindTheNewServerAndNoFormerValue) {
  Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  for (int life = 0; life < 10; ++life) {
    const std::string value = "life " + std::to_string(life);
    ASSERT_TRUE(client.Put("k", value));
    ASSERT_TRUE(client.Put("only" + std::to_string(life), value));
    ASSERT_EQ((*client.Get("k"))->value, value);
    server.Signal(life % 2 == 0 ? SIGKILL : SIGTERM);
    server.Wait();
    server.Restart();
    const auto hit = client.Get("only" + std::to_string(life));
    ASSERT_TRUE(hit) << hit.error().message;
    EXPECT_FALSE(hit->has_value());
    EXPECT_FALSE(client.Get("k")->has_value());
  }
  EXPECT_EQ(client.stats().reconnects, 10);
}

}  // namespace
}  // namespace plov
