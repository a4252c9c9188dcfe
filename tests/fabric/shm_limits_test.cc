// Who gets no connection of a listener of the shared-memory fabric, and what everybody is told.

#include <sys/socket.h>

#include "tests/fabric/shm_tools.h"

namespace plov::fabric::shm {

namespace {

using Kind = PortEvent::Kind;

TestServer ServeWith(const Admission::Limits& limits, uint32_t shards = 1) {
  ListenOptions options;
  options.admission = std::make_shared<Admission>(limits);
  return TestServer(Shm(), "shm:" + FreshPath(), shards, TestServer::kRegionBytes, options);
}

// What a client that is refused is told.
std::string TextOf(TestServer* server, uint32_t shard = 0) {
  const auto connection = server->TryConnect(OptionsFor(shard, 99));
  EXPECT_EQ(CodeOf(connection), Code::kUnavailable);
  return connection ? std::string() : connection.error().message;
}

bool Contains(const std::string& text, std::string_view part) { return text.contains(part); }

}  // namespace

TEST(ShmLimits, ClientBeyondTheLimitIsToldWhichAndComesWhenOneGoes) {
  TestServer server = ServeWith({.clients = 2});
  auto first = server.Connect(0, 1);
  const auto second = server.Connect(0, 2);
  const std::string text = TextOf(&server);
  EXPECT_TRUE(Contains(text, "2 clients") && Contains(text, "--max-clients")) << text;
  EXPECT_TRUE(first->alive() && second->alive());
  first.reset();
  EXPECT_TRUE(Eventually([&] {
    const auto event = server.port().Poll();
    return event && event->kind == Kind::kClosed;
  }));
  EXPECT_NE(server.Connect(0, 3), nullptr);
}

TEST(ShmLimits, ClientBeyondItsUsersLimitIsToldWhich) {
  TestServer server = ServeWith({.clients = 9, .clients_per_user = 1});
  const auto first = server.Connect(0, 1);
  EXPECT_TRUE(Contains(TextOf(&server), "--max-clients-per-user"));
}

// A client has a connection to each shard.
TEST(ShmLimits, LimitIsOfEachShard) {
  TestServer server = ServeWith({.clients = 1, .clients_per_user = 1}, 2);
  const auto first = server.Connect(0, 1);
  const auto other = server.Connect(1, 1);
  TextOf(&server, 0);
  TextOf(&server, 1);
}

// Who cannot be exposed is not there, and may be another time.
TEST(ShmLimits, ShardWithoutAFileIsNotExposed) {
  TestServer server = ServeShm(0);
  EXPECT_FALSE(server.listener().Expose(0, {}).has_value());
  EXPECT_EQ(CodeOf(server.TryConnect(OptionsFor(0, 1))), Code::kNoShard);
  server.Expose();
  EXPECT_TRUE(server.Connect()->alive());
}

TEST(ShmLimits, RefusalsAreNoticedTheFirstSecondFourthTime) {
  TestServer server = ServeWith({.clients = 1});
  const auto first = server.Connect(0, 1);
  EXPECT_EQ(server.listener().TakeNotice(), "");
  for (int i = 0; i < 6; ++i) TextOf(&server);
  for (const char* count : {"(1 so far)", "(2 so far)", "(4 so far)"}) {
    const std::string notice = server.listener().TakeNotice();
    EXPECT_TRUE(notice.starts_with("refused a client of user ") && Contains(notice, count))
        << notice;
  }
  EXPECT_EQ(server.listener().TakeNotice(), "");
}

TEST(ShmLimits, ClientThatSaysNothingIsHungUpOn) {
  ListenOptions options;
  options.hello_time = std::chrono::milliseconds(50);
  TestServer server(Shm(), "shm:" + FreshPath(), 1, TestServer::kRegionBytes, options);
  const Fd silent = Dial(server);
  server.Accept();
  char byte;
  EXPECT_TRUE(Eventually([&] {
    server.Accept();
    return ::recv(silent.get(), &byte, 1, MSG_DONTWAIT) == 0;
  }));
  EXPECT_NE(server.Connect(), nullptr);
  EXPECT_FALSE(IsReadable(server.listener().fd()));
}

}  // namespace plov::fabric::shm
