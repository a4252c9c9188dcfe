// Conformance: a server that closes one connection (guarantees 3 and 7). It may reuse memory from
// then on, so READs of that client must not succeed any more, at once and without its help.

#include <array>
#include <atomic>
#include <cstring>

#include "tests/fabric/conformance.h"
#include "verify/words.h"

namespace plov::fabric {

namespace {

using Kind = PortEvent::Kind;

struct Word {
  uint64_t value = 0;

  ReadOp Op() {
    auto* bytes = std::as_writable_bytes(std::span(&value, 1)).data();
    return {.offset = 0, .bytes = 8, .to = bytes};
  }
};

// Whether a client of this id can connect, READ and send as a new one can.
void ExpectServes(TestServer* server, uint64_t client_id) {
  const auto client = server->Connect(0, client_id);
  const PeerId peer = server->Expect(Kind::kOpened).peer;
  Word word;
  EXPECT_EQ(ReadOne(client.get(), word.Op()), Status::kDone);
  ASSERT_TRUE(client->Send(Pattern(10, 1)));
  EXPECT_EQ(server->Expect(Kind::kMessage).peer, peer);
  server->port().Send(peer, Pattern(10, 2));
  EXPECT_TRUE(ReceiveNext(client.get()).has_value());
}

}  // namespace

TEST_P(FabricConformance, ClosedConnectionReadsNothingMoreAndOthersGoOn) {
  TestServer server = Serve();
  const auto client = server.Connect(0, 1);
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  const auto other = server.Connect(0, 2);
  server.Expect(Kind::kOpened);
  Word word;
  ASSERT_EQ(ReadOne(client.get(), word.Op()), Status::kDone);
  server.port().Close(peer);
  if (!GetParam().news_travel) {
    EXPECT_FALSE(client->alive()) << "without a call that looks at the socket";
  }
  EXPECT_EQ(ReadOne(client.get(), word.Op()), Status::kPeerGone);
  EXPECT_FALSE(client->alive());
  EXPECT_FALSE(client->Arm());
  EXPECT_TRUE(other->alive());
  EXPECT_EQ(ReadOne(other.get(), word.Op()), Status::kDone);
  ExpectServes(&server, 1);
}

TEST_P(FabricConformance, ReadsPostedBeforeTheCloseDoNotSucceedAfterIt) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  std::array<Word, 3> words;
  for (Word& word : words) {
    const ReadOp op = word.Op();
    ASSERT_EQ(client->Read({&op, 1}), 1u);
  }
  server.port().Close(peer);
  verify::StoreWord(server.words(), 1);
  size_t ended = 0;
  size_t gone = 0;
  EXPECT_TRUE(Eventually([&] {
    std::array<Completion, 4> completions;
    const size_t count = client->Poll(completions);
    for (const Completion& one : std::span(completions).first(count)) {
      gone += one.status == Status::kPeerGone;
    }
    ended += count;
    return ended == words.size();
  }));
  if (GetParam().news_travel) {
    // Some may have been answered before the Close, so with what was there then.
    for (const Word& word : words) EXPECT_EQ(word.value, 0u);
  } else {
    EXPECT_EQ(gone, words.size());
  }
}

// The server stores a sign into memory that it has taken back: who READs it was closed before.
TEST_P(FabricConformance, NothingStoredAfterACloseIsEverReadAsGood) {
  for (int round = 0; round < 20; ++round) {
    TestServer server = Serve();
    const auto client = server.Connect();
    const PeerId peer = server.Expect(Kind::kOpened).peer;
    std::atomic<uint64_t> reads = 0;
    std::atomic<uint64_t> wrong = 0;
    std::thread reader([&] {
      Word word;
      const bool ended = Eventually([&] {
        const Status status = ReadOne(client.get(), word.Op());
        if (status == Status::kDone && word.value != 0) wrong.fetch_add(1);
        reads.fetch_add(1);
        return status == Status::kPeerGone;
      });
      if (!ended) wrong.fetch_add(1);
    });
    EXPECT_TRUE(Eventually([&] { return reads.load() > 100; }));
    server.port().Close(peer);
    verify::StoreWord(server.words(), 1);
    reader.join();
    EXPECT_EQ(wrong.load(), 0u);
  }
}

TEST_P(FabricConformance, CloseInEveryStateOfAConversationIsFine) {
  TestServer server = Serve();
  const auto each = [&](const char* state, auto&& bring_about) {
    SCOPED_TRACE(state);
    const auto client = server.Connect(0, 1);
    const PeerId peer = server.Expect(Kind::kOpened).peer;
    bring_about(client.get(), peer);
    server.port().Close(peer);
    server.port().Close(peer);
    Word word;
    EXPECT_EQ(ReadOne(client.get(), word.Op()), Status::kPeerGone);
    server.port().Send(peer, Pattern(10, 1));
    server.port().Read(peer, {.bytes = 8, .shared = server.words(), .masks = kNoMasks.data()});
    EXPECT_TRUE(server.Silent());
  };
  const auto send = [](Connection* client) { ASSERT_TRUE(client->Send(Pattern(10, 1))); };
  each("idle", [](Connection*, PeerId) {});
  each("requests unread", [&](Connection* client, PeerId) { send(client), send(client); });
  each("a reply owed", [&](Connection* client, PeerId) {
    send(client), send(client);
    server.Expect(Kind::kMessage);
  });
  each("a reply unread", [&](Connection* client, PeerId peer) {
    send(client);
    server.Expect(Kind::kMessage);
    server.port().Send(peer, Pattern(10, 2));
  });
  each("its staging being READ", [&](Connection* client, PeerId peer) {
    ASSERT_TRUE(client->staging());
    for (int i = 0; i < 3; ++i) {
      server.port().Read(peer, {.bytes = 8, .shared = server.words(), .masks = kNoMasks.data()});
    }
  });
  each("the client asleep", [&](Connection* client, PeerId) { ASSERT_TRUE(client->Arm()); });
  each("the port asleep", [&](Connection*, PeerId) { ASSERT_TRUE(server.FallAsleep()); });
  server.port().Disarm();
  ExpectServes(&server, 1);
}

TEST_P(FabricConformance, ClosedClientThatSleepsIsWoken) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  std::atomic<bool> asleep = false;
  std::atomic<bool> woken = false;
  std::thread sleeper([&] {
    if (!client->Arm()) return;
    asleep.store(true);
    woken.store(WaitReadable(client->fd()));
  });
  EXPECT_TRUE(Eventually([&] { return asleep.load(); }));
  server.port().Close(peer);
  sleeper.join();
  EXPECT_TRUE(woken.load());
  if (GetParam().news_travel) client->Receive();  // as a client does that wakes
  EXPECT_FALSE(client->alive());
}

// Guarantee 7: the client's first act is to look whether the port has heard of it.
TEST_P(FabricConformance, PortHasHeardOfAClientBeforeItCanRead) {
  TestServer server = Serve();
  for (uint64_t round = 0; round < 100; ++round) {
    std::unique_ptr<Connection> client;
    std::optional<PortEvent> event;
    server.AcceptWhile([&] {
      client = Must(Connection::Connect(server.uri(), OptionsFor(0, 1)));
      event = server.port().Poll();  // this thread is the shard's for a moment
    });
    ASSERT_TRUE(event.has_value()) << round;
    ASSERT_EQ(event->kind, Kind::kOpened);
    server.port().Close(event->peer);
  }
}

}  // namespace plov::fabric
