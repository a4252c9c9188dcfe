// plov drain: a server that lets in no new clients and ends when those it has are gone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/support/plovd.h"
#include "tests/support/probe.h"

namespace plov {
namespace {

using test::Plovd;
using ::testing::HasSubstr;

constexpr auto kMinute = "60000";

Client Administrator(const Plovd& server) {
  return server.Connect({.timeout = std::chrono::seconds(10), .administers = true});
}

// Of what `plov drain` reads.
std::string Field(const std::expected<std::string, Error>& lines, const std::string& name) {
  if (!lines) return lines.error().message;
  const size_t at = ("\n" + *lines).find("\n" + name + " ");
  if (at == std::string::npos) return "no " + name;
  const size_t from = at + name.size() + 1;
  return lines->substr(from, lines->find('\n', from) - from);
}

TEST(Drain, ClientsFinishAndNewOnesAreToldWhy) {
  Plovd server({"--memory", "64M", "--shards", "2"});
  std::optional<Client> client(server.Connect({.timeout = std::chrono::seconds(10)}));
  Client administrator = Administrator(server);
  const auto begun = administrator.Administer("drain", kMinute);
  EXPECT_EQ(Field(begun, "state"), "draining");
  EXPECT_EQ(Field(begun, "clients"), "1") << "the administrator is none";
  const auto late = Client::Connect(server.uri());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kUnavailable);
  EXPECT_THAT(late.error().message, HasSubstr("no new clients"));
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(client->Put("k" + std::to_string(i), "v"));
  EXPECT_TRUE(client->Get("k7"));
  EXPECT_EQ(Field(administrator.Administer("status"), "state"), "draining");
  client.reset();
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_THAT(server.Log(), HasSubstr("all clients have gone"));
}

TEST(Drain, TheLastWordIsThatItIsDrained) {
  Plovd server({"--memory", "64M"});
  std::optional<Client> client(server.Connect());
  Client administrator = Administrator(server);
  EXPECT_EQ(Field(administrator.Administer("drain", kMinute), "state"), "draining");
  client.reset();
  std::string state;
  do {
    state = Field(administrator.Administer("status"), "state");
  } while (state == "draining");
  EXPECT_EQ(state, "drained");
  EXPECT_EQ(server.Wait(), 0);
}

TEST(Drain, WhoStaysIsClosedAfterTheTime) {
  Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  EXPECT_EQ(Field(Administrator(server).Administer("drain", "100"), "clients"), "1");
  EXPECT_EQ(server.Wait(), 0);
  EXPECT_THAT(server.Log(), HasSubstr("1 client did not go in time"));
  EXPECT_EQ(client.Get("k").error().code, Code::kUnavailable);
}

TEST(Drain, CancelledItServesAgain) {
  Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  Client administrator = Administrator(server);
  ASSERT_TRUE(administrator.Administer("drain", kMinute));
  ASSERT_FALSE(Client::Connect(server.uri()));
  EXPECT_EQ(Field(administrator.Administer("resume"), "state"), "serving");
  Client next = server.Connect();
  EXPECT_TRUE(next.Put("k", "v"));
  EXPECT_EQ((*client.Get("k"))->value, "v");
}

TEST(Drain, WithoutClientsItEndsAtOnce) {
  Plovd server({"--memory", "64M"});
  EXPECT_EQ(Field(Administrator(server).Administer("drain", kMinute), "state"), "drained");
  EXPECT_EQ(server.Wait(), 0);
}

TEST(Drain, NonsenseIsRefusedAndChangesNothing) {
  const Plovd server({"--memory", "64M"});
  Client administrator = Administrator(server);
  for (const char* limit : {"", "-1", "1s", "99999999999", " 5", "0x1"}) {
    EXPECT_EQ(administrator.Administer("drain", limit).error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(administrator.Administer("explode").error().code, Code::kInvalidArgument);
  EXPECT_EQ(administrator.Administer("").error().code, Code::kInvalidArgument);
  EXPECT_EQ(Field(administrator.Administer("status"), "state"), "serving");
}

// A client in the middle of its writes is cut off; what it was told of is in the log.
TEST(Drain, WhatWasAcknowledgedIsThereAtTheNextStart) {
  const test::TemporaryFolder folder;
  Plovd server({"--memory", "64M", "--log", folder.path() + "/log"});
  Client client = server.Connect();
  std::atomic<int> acknowledged = 0;
  std::thread writer([&] {
    for (int i = 0; client.Put("k" + std::to_string(i), "v"); ++i) acknowledged.store(i + 1);
  });
  EXPECT_TRUE(
      test::Eventually([&] { return acknowledged.load() > 100; }, std::chrono::seconds(60)));
  EXPECT_EQ(Field(Administrator(server).Administer("drain", "50"), "clients"), "1");
  EXPECT_EQ(server.Wait(), 0);
  writer.join();
  server.Restart();
  Client next = server.Connect();
  for (int i = 0; i < acknowledged.load(); ++i) {
    const auto hit = next.Get("k" + std::to_string(i));
    ASSERT_TRUE(hit && *hit) << i;
  }
}

TEST(Drain, AnAdministratorIsLetInWhereNoClientIs) {
  const Plovd server({"--memory", "64M", "--max-clients", "1"});
  const Client client = server.Connect();
  EXPECT_FALSE(Client::Connect(server.uri()));
  Client administrator = Administrator(server);
  EXPECT_TRUE(administrator.Administer("set", "max-clients 2"));
  EXPECT_TRUE(Client::Connect(server.uri()));
}

// His places are few, so that they are no way around the limits.
TEST(Drain, AdministratorsHaveFewPlaces) {
  const Plovd server({"--memory", "64M", "--max-clients", "1"});
  std::vector<Client> administrators;
  for (int i = 0; i < 17; ++i) administrators.push_back(Administrator(server));
  const auto more = Client::Connect(server.uri(), {.administers = true});
  ASSERT_FALSE(more);
  EXPECT_THAT(more.error().message, HasSubstr("--max-clients"));
}

}  // namespace
}  // namespace plov
