// Conformance: the end of a connection, from either side and in any state (guarantees 3 and 5).

#include <array>
#include <atomic>

#include "tests/fabric/conformance.h"

namespace plov::fabric {

namespace {

using Kind = PortEvent::Kind;

std::array<std::byte, 64> g_destination;

ReadOp SomeRead() { return {.bytes = 64, .to = g_destination.data()}; }

// Polls until the peer's end; what still came before it may come, but nothing after.
void ExpectClosed(TestServer* server, PeerId peer) {
  while (true) {
    const Event event = server->Next();
    ASSERT_EQ(event.peer, peer);
    if (event.kind == Kind::kClosed) break;
    ASSERT_NE(event.kind, Kind::kOpened);
    if (event.kind == Kind::kMessage) server->port().Send(peer, event.message);
  }
  EXPECT_TRUE(server->Silent());
}

}  // namespace

TEST_P(FabricConformance, IdleClientThatGoesIsNoticed) {
  TestServer server = Serve();
  auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  client.reset();
  EXPECT_EQ(server.Expect(Kind::kClosed).peer, peer);
  EXPECT_TRUE(server.Silent());
}

TEST_P(FabricConformance, ClientThatGoesBeforeItIsHeardOfIsNoticed) {
  TestServer server = Serve();
  server.Connect().reset();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  ExpectClosed(&server, peer);
}

TEST_P(FabricConformance, ClientThatGoesAfterSendingIsNoticed) {
  TestServer server = Serve();
  auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  ASSERT_TRUE(client->Send(Pattern(100, 1)));
  ASSERT_TRUE(client->Send(Pattern(100, 2)));
  client.reset();
  ExpectClosed(&server, peer);
}

TEST_P(FabricConformance, ClientThatGoesBeforeItsReplyIsNoticed) {
  TestServer server = Serve();
  auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  ASSERT_TRUE(client->Send(Pattern(100, 1)));
  server.Expect(Kind::kMessage);
  client.reset();
  server.port().Send(peer, Pattern(100, 2));  // to nobody
  ExpectClosed(&server, peer);
}

TEST_P(FabricConformance, ClientThatGoesWithItsReplyUnreadIsNoticed) {
  TestServer server = Serve();
  auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  ASSERT_TRUE(client->Send(Pattern(100, 1)));
  server.Expect(Kind::kMessage);
  server.port().Send(peer, Pattern(100, 2));
  client.reset();
  ExpectClosed(&server, peer);
}

TEST_P(FabricConformance, ClientThatGoesUnderAReadOfItsStagingIsNoticed) {
  TestServer server = Serve();
  auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  client.reset();
  for (uint64_t tag = 0; tag < 5; ++tag) {
    server.port().Read(
        peer, {.bytes = 4096, .shared = server.words(), .masks = kNoMasks.data(), .tag = tag});
  }
  ExpectClosed(&server, peer);
}

TEST_P(FabricConformance, ClientThatGoesWakesASleepingPort) {
  TestServer server = Serve();
  auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  ASSERT_TRUE(server.FallAsleep());
  std::thread leaver([&] { client.reset(); });
  EXPECT_TRUE(WaitReadable(server.port().fd()));
  leaver.join();
  server.port().Disarm();
  ExpectClosed(&server, peer);
}

TEST_P(FabricConformance, CallsForAPeerThatIsGoneAreHarmless) {
  TestServer server = Serve();
  auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  client.reset();
  server.Expect(Kind::kClosed);
  server.port().Send(peer, Pattern(10, 1));
  server.port().Read(peer, {.bytes = 8, .shared = server.words(), .masks = kNoMasks.data()});
  server.port().Close(peer);
  server.port().Close(peer + 1000);
  EXPECT_TRUE(server.Silent());
}

TEST_P(FabricConformance, PeerClosedByThePortNoticesAndNoEventFollows) {
  TestServer server = Serve();
  const auto client = server.Connect(0, 1);
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  const auto other = server.Connect(0, 2);
  server.Expect(Kind::kOpened);
  ASSERT_TRUE(client->Send(Pattern(10, 1)));
  ASSERT_TRUE(client->Send(Pattern(10, 2)));
  server.Expect(Kind::kMessage);
  server.port().Read(peer, {.bytes = 8, .shared = server.words(), .masks = kNoMasks.data()});
  server.port().Close(peer);
  EXPECT_TRUE(NoticesDeath(client.get()));
  EXPECT_EQ(ReadOne(client.get(), SomeRead()), Status::kPeerGone);
  EXPECT_TRUE(server.Silent());
  EXPECT_TRUE(other->alive());
  EXPECT_EQ(ReadOne(other.get(), SomeRead()), Status::kDone);
}

TEST_P(FabricConformance, StoppedListenerIsNoticedByReads) {
  TestServer server = Serve();
  const auto client = server.Connect();
  EXPECT_EQ(ReadOne(client.get(), SomeRead()), Status::kDone);
  ASSERT_TRUE(client->alive());
  server.Stop();
  EXPECT_EQ(ReadOne(client.get(), SomeRead()), Status::kPeerGone);
  EXPECT_TRUE(NoticesDeath(client.get()));
  EXPECT_EQ(ReadOne(client.get(), SomeRead()), Status::kPeerGone);
}

TEST_P(FabricConformance, StoppedListenerIsNoticedInEveryShardAndState) {
  TestServer server = Serve(3);
  std::vector<std::unique_ptr<Connection>> clients;
  for (uint32_t shard = 0; shard < 3; ++shard) clients.push_back(server.Connect(shard));
  // One nobody has looked at, one with a request unread, one that waits for its reply.
  ASSERT_TRUE(clients[1]->Send(Pattern(10, 1)));
  ASSERT_TRUE(clients[2]->Send(Pattern(10, 1)));
  server.Expect(Kind::kOpened, 2);
  server.Expect(Kind::kMessage, 2);
  server.Stop();
  for (const auto& client : clients) EXPECT_TRUE(NoticesDeath(client.get()));
}

TEST_P(FabricConformance, StoppedListenerWakesASleepingClient) {
  TestServer server = Serve();
  const auto client = server.Connect();
  std::atomic<bool> asleep = false;
  std::atomic<bool> woken = false;
  std::thread sleeper([&] {
    if (!client->Arm()) return;
    asleep.store(true);
    woken.store(WaitReadable(client->fd()));
    client->Receive();
  });
  EXPECT_TRUE(Eventually([&] { return asleep.load(); }));
  server.Stop();
  sleeper.join();
  EXPECT_TRUE(woken.load());
  EXPECT_FALSE(client->alive());
}

TEST_P(FabricConformance, DeadConnectionRefusesToSleep) {
  TestServer server = Serve();
  const auto client = server.Connect();
  server.Stop();
  ASSERT_TRUE(NoticesDeath(client.get()));
  EXPECT_FALSE(client->Arm());
}

TEST_P(FabricConformance, ReadsThatRaceWithTheEndAreNeverOfTheNextLife) {
  const std::string uri = FreshUri();
  TestServer former(GetParam(), uri);
  const auto client = former.Connect();
  std::atomic<bool> next_life = false;
  std::atomic<uint64_t> wrong = 0;
  std::thread reader([&] {
    const bool ended = Eventually([&] {
      const bool was_next = next_life.load(std::memory_order_acquire);
      const Status status = ReadOne(client.get(), SomeRead());
      if (was_next && status == Status::kDone) wrong.fetch_add(1);
      return status == Status::kPeerGone;
    });
    if (!ended) wrong.fetch_add(1);
  });
  former.Stop();
  next_life.store(true, std::memory_order_release);
  const TestServer next(GetParam(), uri);
  reader.join();
  EXPECT_EQ(wrong.load(), 0u);
}

}  // namespace plov::fabric
