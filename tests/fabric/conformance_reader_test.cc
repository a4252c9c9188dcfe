// Conformance: connections that only READ.

#include <array>

#include "tests/fabric/conformance.h"
#include "verify/words.h"

namespace plov::fabric {

namespace {

using Kind = PortEvent::Kind;

constexpr uint64_t kReaderBytesMax = 16 << 10;

}  // namespace

TEST_P(FabricConformance, ConnectionThatOnlyReadsReadsAndDoesNothingElse) {
  TestServer server = Serve();
  server.Fill(Pattern(TestServer::kRegionBytes, 1));
  const auto reader = Must(server.TryConnect(ReaderOptions()));
  const Event opened = server.Expect(Kind::kOpened);
  EXPECT_TRUE(opened.reads_only);
  EXPECT_FALSE(opened.may_write);
  EXPECT_EQ(opened.client_id, 0u);
  const Limits& limits = reader->limits();
  EXPECT_EQ(limits.region_bytes, TestServer::kRegionBytes);
  EXPECT_EQ(limits.staging_bytes, 0u);
  EXPECT_EQ(limits.message_bytes_max, 0u);
  EXPECT_EQ(CodeOf(reader->staging()), Code::kPermission);
  EXPECT_FALSE(reader->Send({}));
  EXPECT_FALSE(reader->Send(Pattern(10, 1)));
  EXPECT_FALSE(reader->Receive().has_value());
  EXPECT_TRUE(server.Silent());
  std::vector<std::byte> bytes(TestServer::kRegionBytes);
  EXPECT_EQ(ReadOne(reader.get(), {.bytes = TestServer::kRegionBytes, .to = bytes.data()}),
            Status::kDone);
  EXPECT_TRUE(Same(bytes, Pattern(TestServer::kRegionBytes, 1)));
  EXPECT_EQ(
      ReadOne(reader.get(), {.offset = TestServer::kRegionBytes, .bytes = 8, .to = bytes.data()}),
      Status::kOutOfRange);
  EXPECT_TRUE(reader->alive());
  EXPECT_TRUE(reader->Arm());
  EXPECT_FALSE(IsReadable(reader->fd()));
}

TEST_P(FabricConformance, ConnectionsThatNeverWriteSendMessagesUnderOneId) {
  TestServer server = Serve();
  ConnectOptions options = OptionsFor(0, 7);
  options.never_writes = true;
  for (int i = 0; i < 2; ++i) {
    const auto client = Must(server.TryConnect(options));
    const Event opened = server.Expect(Kind::kOpened);
    EXPECT_TRUE(opened.never_writes);
    EXPECT_FALSE(opened.may_write || opened.reads_only);
    EXPECT_EQ(opened.client_id, 7u);
    ASSERT_TRUE(client->Send(Pattern(10, 1)));
    EXPECT_TRUE(Same(server.Expect(Kind::kMessage).message, Pattern(10, 1)));
    EXPECT_EQ(CodeOf(client->staging()), Code::kPermission);
  }
}

TEST_P(FabricConformance, OneClientMayHaveManyConnectionsThatOnlyReadBesideItsOthers) {
  constexpr size_t kMany = 20;
  TestServer server = Serve();
  TestServer elsewhere = Serve();
  const auto client = server.Connect();
  server.Expect(Kind::kOpened);
  const uint64_t before = server.port().connection_bytes();
  std::vector<std::unique_ptr<Connection>> readers;
  for (size_t i = 0; i < kMany; ++i) {
    readers.push_back(Must(server.TryConnect(ReaderOptions())));
    server.Expect(Kind::kOpened);
    readers.push_back(Must(elsewhere.TryConnect(ReaderOptions())));
    elsewhere.Expect(Kind::kOpened);
  }
  const uint64_t taken = server.port().connection_bytes() - before;
  EXPECT_GT(taken, 0u);
  EXPECT_LE(taken, kMany * kReaderBytesMax);
  verify::StoreWord(server.words(), 5);
  verify::StoreWord(elsewhere.words(), 6);
  for (size_t i = 0; i < readers.size(); ++i) {
    EXPECT_EQ(ReadWord(readers[i].get(), 0), 5 + i % 2) << i;
  }
  ASSERT_TRUE(client->Send(Pattern(10, 1)));
  server.port().Send(server.Expect(Kind::kMessage).peer, Pattern(10, 2));
  EXPECT_TRUE(ReceiveNext(client.get()).has_value());
  readers.clear();
  for (size_t i = 0; i < kMany; ++i) server.Expect(Kind::kClosed);
  EXPECT_EQ(server.port().connection_bytes(), before);
}

TEST_P(FabricConformance, ClosedConnectionThatOnlyReadsIsWokenAndReadsNothingMore) {
  TestServer server = Serve();
  const auto reader = Must(server.TryConnect(ReaderOptions()));
  const auto other = Must(server.TryConnect(ReaderOptions()));
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  server.Expect(Kind::kOpened);
  ASSERT_TRUE(reader->Arm());
  server.port().Close(peer);
  EXPECT_TRUE(WaitReadable(reader->fd()));
  EXPECT_TRUE(NoticesDeath(reader.get()));
  std::array<std::byte, 8> word;
  EXPECT_EQ(ReadOne(reader.get(), {.bytes = 8, .to = word.data()}), Status::kPeerGone);
  EXPECT_EQ(ReadOne(other.get(), {.bytes = 8, .to = word.data()}), Status::kDone);
  server.Stop();
  EXPECT_TRUE(NoticesDeath(other.get()));
}

// Guarantee 7.
TEST_P(FabricConformance, PortHasHeardOfAConnectionThatOnlyReadsBeforeItCanRead) {
  TestServer server = Serve();
  for (int round = 0; round < 50; ++round) {
    std::unique_ptr<Connection> reader;
    std::optional<PortEvent> event;
    server.AcceptWhile([&] {
      reader = Must(Connection::Connect(server.uri(), ReaderOptions()));
      event = server.port().Poll();  // this thread is the shard's for a moment
    });
    ASSERT_TRUE(event.has_value() && event->kind == Kind::kOpened) << round;
    server.port().Close(event->peer);
  }
}

}  // namespace plov::fabric
