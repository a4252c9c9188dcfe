// Servers and clients that are killed.

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Child;
using test::Plovd;

uint64_t StatOf(Client* client, const std::string& name) {
  const auto texts = client->ServerStats();
  if (!texts) return UINT64_MAX;
  const size_t at = texts->at(0).find(name + " ");
  return std::stoull(texts->at(0).substr(at + name.size() + 1));
}

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

TEST(Death, AKilledClientsMemoryComesBack) {
  Plovd server({"--memory", "128M"});
  Client watcher = server.Connect();
  ASSERT_TRUE(watcher.Put("k", "v"));
  const uint64_t records_before = StatOf(&watcher, "records_bytes");
  for (int round = 0; round < 20; ++round) {
    Child child = Child::Fork([&server] {
      Client client = server.Connect();
      const std::string large(size_t{8} << 20, 'x');
      while (client.Put("big", large) && client.Delete("big")) {
      }
      return 1;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + round));
    child.Signal(SIGKILL);
    ASSERT_EQ(child.Wait(), -SIGKILL);
  }
  ASSERT_TRUE(watcher.Delete("big"));
  for (int i = 0; i < 1000 && StatOf(&watcher, "clients") != 1; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(StatOf(&watcher, "clients"), 1);
  EXPECT_EQ(StatOf(&watcher, "records_bytes"), records_before);
}

TEST(Death, AStoppedClientDelaysNobody) {
  Plovd server({"--memory", "64M"});
  Child child = Child::Fork([&server] {
    Client client = server.Connect();
    while (client.Put("theirs", "x")) {
    }
    return 1;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  child.Signal(SIGSTOP);
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(client.Put("mine", std::to_string(i)));
  EXPECT_TRUE(client.Get("theirs")->has_value());
}

}  // namespace
}  // namespace plov
