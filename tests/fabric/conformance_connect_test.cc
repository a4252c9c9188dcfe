// Conformance: who may connect to whom, and what is said to the others.

#include <atomic>

#include "tests/fabric/conformance.h"
#include "verify/words.h"

namespace plov::fabric {

namespace {

using Kind = PortEvent::Kind;
using std::chrono::milliseconds;

ListenOptions OneShard(const ExposedMemory& memory) {
  return {.shards = {{memory.bytes, memory.fd}},
          .format_version = kTestFormatVersion,
          .staging_bytes = TestServer::kStagingBytes};
}

}  // namespace

TEST_P(FabricConformance, ConnectionKnowsItsLimits) {
  TestServer server = Serve();
  const auto client = server.Connect();
  EXPECT_EQ(client->limits().region_bytes, TestServer::kRegionBytes);
  EXPECT_EQ(client->limits().staging_bytes, TestServer::kStagingBytes);
  EXPECT_EQ(client->staging()->size(), TestServer::kStagingBytes);
  EXPECT_GT(client->limits().message_bytes_max, 0u);
  EXPECT_GT(client->limits().read_depth, 0u);
  EXPECT_TRUE(client->alive());
}

TEST_P(FabricConformance, ListenerKnowsItsUri) {
  TestServer server = Serve();
  EXPECT_EQ(server.listener().uri(), server.uri());
}

TEST_P(FabricConformance, PortHearsOfAClientByItsId) {
  TestServer server = Serve();
  const auto first = server.Connect(0, 0x123456789abcdef0);
  const Event opened = server.Expect(Kind::kOpened);
  EXPECT_EQ(opened.client_id, 0x123456789abcdef0);
  const auto second = server.Connect(0, 2);
  const Event other = server.Expect(Kind::kOpened);
  EXPECT_EQ(other.client_id, 2u);
  EXPECT_NE(other.peer, opened.peer);
}

TEST_P(FabricConformance, ConnectToNobodyIsUnavailable) {
  EXPECT_EQ(CodeOf(Connection::Connect(FreshUri(), OptionsFor(0, 1))), Code::kUnavailable);
}

TEST_P(FabricConformance, ConnectToAStoppedListenerIsUnavailable) {
  TestServer server = Serve();
  server.Stop();
  EXPECT_EQ(CodeOf(Connection::Connect(server.uri(), OptionsFor(0, 1))), Code::kUnavailable);
}

TEST_P(FabricConformance, ServerThatDoesNotAnswerIsATimeout) {
  TestServer server = Serve();
  ConnectOptions options = OptionsFor(0, 1);
  options.deadline = Clock::now() + milliseconds(100);
  EXPECT_EQ(CodeOf(Connection::Connect(server.uri(), options)), Code::kTimeout);
  // Nor does the one who gave up harm those who come later.
  EXPECT_NE(server.Connect(0, 2), nullptr);
}

TEST_P(FabricConformance, OtherFormatVersionIsRefused) {
  TestServer server = Serve();
  ConnectOptions options = OptionsFor(0, 1);
  options.format_version = kTestFormatVersion + 1;
  EXPECT_EQ(CodeOf(server.TryConnect(options)), Code::kProtocol);
  EXPECT_TRUE(server.Silent());
}

TEST_P(FabricConformance, ShardThatIsNoneIsRefused) {
  TestServer server = Serve(2);
  for (const uint32_t shard : {2u, 3u, 65'535u, 65'536u, 65'537u, UINT32_MAX}) {
    const auto refused = server.TryConnect(OptionsFor(shard, 1));
    ASSERT_EQ(CodeOf(refused), Code::kNoShard) << shard;
    EXPECT_TRUE(refused.error().message.contains("shard " + std::to_string(shard)));
  }
  EXPECT_TRUE(server.Silent(0) && server.Silent(1));
}

TEST_P(FabricConformance, UnknownSchemeIsRefused) {
  const ExposedMemory memory = GetParam().make_memory(TestServer::kRegionBytes);
  for (const std::string uri : {"", "pigeon:coop", "pigeon", ":", "/tmp/x.sock"}) {
    EXPECT_EQ(CodeOf(Connection::Connect(uri, OptionsFor(0, 1))), Code::kInvalidArgument) << uri;
    EXPECT_EQ(CodeOf(Listener::Listen(uri, OneShard(memory))), Code::kInvalidArgument) << uri;
  }
}

TEST_P(FabricConformance, TwoListenersOnOneNameCannotBe) {
  TestServer server = Serve();
  const ExposedMemory memory = GetParam().make_memory(TestServer::kRegionBytes);
  EXPECT_EQ(CodeOf(Listener::Listen(server.uri(), OneShard(memory))), Code::kInUse);
  // The one that was refused took nothing from the one that serves.
  const auto client = server.Connect();
  EXPECT_TRUE(client->alive());
  EXPECT_EQ(CodeOf(Listener::Listen(server.uri(), OneShard(memory))), Code::kInUse);
}

TEST_P(FabricConformance, NameIsFreeAfterItsListener) {
  const std::string uri = FreshUri();
  for (uint64_t life = 1; life <= 3; ++life) {
    TestServer server(GetParam(), uri);
    verify::StoreWord(server.words(), life);
    const auto client = server.Connect();
    EXPECT_EQ(ReadWord(client.get(), 0), life);
  }
}

TEST_P(FabricConformance, ClientOfAFormerLifeStaysDead) {
  const std::string uri = FreshUri();
  auto former = std::make_unique<TestServer>(GetParam(), uri);
  const auto old_client = former->Connect();
  former.reset();
  TestServer server(GetParam(), uri);
  const auto client = server.Connect();
  EXPECT_TRUE(client->alive());
  std::byte byte{};
  const ReadOp op{.offset = 0, .bytes = 1, .to = &byte};
  EXPECT_EQ(ReadOne(old_client.get(), op), Status::kPeerGone);
  EXPECT_TRUE(NoticesDeath(old_client.get()));
}

TEST_P(FabricConformance, EachShardHasItsOwnRegionAndPort) {
  constexpr uint32_t kShards = 5;
  TestServer server = Serve(kShards);
  std::vector<std::unique_ptr<Connection>> clients;
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    verify::StoreWord(server.words(shard), 1000 + shard);
    clients.push_back(server.Connect(shard, 50 + shard));
  }
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(ReadWord(clients[shard].get(), 0), 1000 + shard);
    const Event opened = server.Expect(Kind::kOpened, shard);
    EXPECT_EQ(opened.client_id, 50 + shard);
    const auto request = Pattern(100, shard);
    ASSERT_TRUE(clients[shard]->Send(request));
    EXPECT_TRUE(Same(server.Expect(Kind::kMessage, shard).message, request));
    const auto reply = Pattern(200, shard);
    server.port(shard).Send(opened.peer, reply);
    const auto received = ReceiveNext(clients[shard].get());
    ASSERT_TRUE(received.has_value());
    EXPECT_TRUE(Same(*received, reply));
    EXPECT_TRUE(server.Silent(shard));
  }
}

TEST_P(FabricConformance, FiftyClientsConnectAtOnce) {
  constexpr size_t kClients = 50;
  TestServer server = Serve();
  verify::StoreWord(server.words(), 77);
  std::vector<std::unique_ptr<Connection>> clients(kClients);
  std::atomic<size_t> failures = 0;
  server.AcceptWhile([&] {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kClients; ++i) {
      threads.emplace_back([&, i] {
        auto connection = Connection::Connect(server.uri(), OptionsFor(0, 100 + i));
        if (!connection) {
          failures.fetch_add(1);
          return;
        }
        clients[i] = std::move(*connection);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  ASSERT_EQ(failures.load(), 0u);
  std::vector<PeerId> peer_of(kClients);
  for (size_t i = 0; i < kClients; ++i) {
    const Event opened = server.Expect(Kind::kOpened);
    peer_of.at(opened.client_id - 100) = opened.peer;
  }
  for (size_t i = 0; i < kClients; ++i) {
    EXPECT_EQ(ReadWord(clients[i].get(), 0), 77u);
    ASSERT_TRUE(clients[i]->Send(Pattern(64, i)));
  }
  // Everyone is served, each with its own messages.
  for (size_t i = 0; i < kClients; ++i) {
    const Event request = server.Expect(Kind::kMessage);
    server.port().Send(request.peer, request.message);
  }
  for (size_t i = 0; i < kClients; ++i) {
    const auto reply = ReceiveNext(clients[i].get());
    ASSERT_TRUE(reply.has_value());
    EXPECT_TRUE(Same(*reply, Pattern(64, i)));
  }
  clients.clear();
  for (size_t i = 0; i < kClients; ++i) {
    const Event closed = server.Expect(Kind::kClosed);
    EXPECT_EQ(std::erase(peer_of, closed.peer), 1u);
  }
  EXPECT_TRUE(server.Silent());
}

}  // namespace plov::fabric
