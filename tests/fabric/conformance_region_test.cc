// Conformance: shards that are exposed and withdrawn while the listener serves. What is exposed next
// under the same number has nothing to do with what was there before.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "tests/fabric/conformance.h"
#include "verify/words.h"

namespace plov::fabric {

namespace {

using Kind = PortEvent::Kind;

constexpr uint64_t kLate = UINT64_MAX;  // stored into memory that was withdrawn

void StoreEverywhere(std::span<std::byte> memory, uint64_t word) {
  for (size_t at = 0; at < memory.size(); at += sizeof(word)) {
    verify::StoreWord(verify::WordsAt(memory.data(), at), word);
  }
}

// A READ of several words.
struct Words {
  std::array<uint64_t, 64> values{};

  Status ReadFrom(Connection* connection) {
    const auto bytes = std::as_writable_bytes(std::span(values));
    return ReadOne(connection, {.bytes = sizeof(values), .to = bytes.data()});
  }
  // The same by loads, where READs are nothing else.
  Status LoadFrom(Connection* connection) {
    verify::CopyFromShared(values.data(), connection->region().data(), sizeof(values));
    return connection->alive() ? Status::kDone : Status::kPeerGone;
  }
};

// Reads until the shard is withdrawn, on a thread of its own.
class Reader {
 public:
  explicit Reader(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {
    thread_ = std::thread([this] {
      Words words;
      const bool ended = Eventually([&] {
        const bool loads = !connection_->region().empty() && reads_ % 2 == 1;
        const Status status =
            loads ? words.LoadFrom(connection_.get()) : words.ReadFrom(connection_.get());
        if (status == Status::kDone && std::ranges::count(words.values, kLate) > 0) ++late_;
        ++reads_;
        return status == Status::kPeerGone;
      });
      if (!ended) ++late_;
    });
  }

  uint64_t reads() const { return reads_; }
  // Waits for the end; how often what was stored after it was taken for good.
  uint64_t Join() {
    thread_.join();
    return late_;
  }

 private:
  std::unique_ptr<Connection> connection_;
  std::atomic<uint64_t> reads_ = 0;
  uint64_t late_ = 0;
  std::thread thread_;
};

// Connects to shard 0 and READs, again and again. `wrong` counts what is neither the life of the
// shard that was there last when it asked, nor a later one, nor a refusal of one that is gone.
class Visitor {
 public:
  Visitor(std::string uri, const ConnectOptions& options, const std::atomic<uint64_t>* life)
      : uri_(std::move(uri)), options_(options), life_(life) {}

  void Run(const std::atomic<bool>& stop) {
    while (!stop) Visit();
  }

  uint64_t visits() const { return visits_; }
  uint64_t wrong() const { return wrong_; }

 private:
  void Visit() {
    const uint64_t life = *life_;
    options_.deadline = WaitDeadline();
    const auto connection = Connection::Connect(uri_, options_);
    if (!connection) {
      const Code code = connection.error().code;
      // One that was let in and ended at once may not have been told more.
      EXPECT_TRUE(code == Code::kNoShard || code == Code::kUnavailable)
          << CodeName(code) << ": " << connection.error().message;
      return;
    }
    Words words;
    for (int i = 0; i < 20 && words.ReadFrom(connection->get()) == Status::kDone; ++i) {
      wrong_ += words.values[0] < life || words.values[0] == kLate ||
                std::ranges::count(words.values, words.values[0]) != std::ssize(words.values);
      visits_ += i == 0;
    }
  }

  std::string uri_;
  ConnectOptions options_;
  const std::atomic<uint64_t>* life_;
  std::atomic<uint64_t> visits_ = 0;
  std::atomic<uint64_t> wrong_ = 0;
};

}  // namespace

TEST_P(FabricConformance, ShardsComeWhileTheListenerServes) {
  TestServer server = Serve(0);
  EXPECT_EQ(CodeOf(server.TryConnect(OptionsFor(0, 1))), Code::kNoShard);
  for (const uint32_t shard : {7u, 0u, kShardMax}) {
    server.Expose(shard);
    verify::StoreWord(server.words(shard), 100 + shard);
    const auto client = server.Connect(shard, shard);
    EXPECT_EQ(server.Expect(Kind::kOpened, shard).client_id, shard);
    EXPECT_EQ(ReadWord(client.get(), 0), 100 + shard);
    ASSERT_TRUE(client->Send(Pattern(10, 1)));
    const Event asked = server.Expect(Kind::kMessage, shard);
    server.port(shard).Send(asked.peer, Pattern(10, 2));
    EXPECT_TRUE(ReceiveNext(client.get()).has_value());
  }
  EXPECT_EQ(CodeOf(server.TryConnect(OptionsFor(1, 1))), Code::kNoShard);
}

TEST_P(FabricConformance, WithdrawnShardIsRefusedUntilItIsExposedAnew) {
  TestServer server = Serve(2);
  for (uint64_t life = 1; life <= 3; ++life) {
    verify::StoreWord(server.words(), life);
    const auto client = server.Connect(0, 1);
    EXPECT_EQ(server.Expect(Kind::kOpened).client_id, 1u) << "nothing of the life before";
    EXPECT_EQ(ReadWord(client.get(), 0), life);
    server.Withdraw();
    server.listener().Withdraw(0);  // there is none: nothing happens
    EXPECT_EQ(CodeOf(server.TryConnect(OptionsFor(0, 1))), Code::kNoShard);
    EXPECT_EQ(CodeOf(server.TryConnect(ReaderOptions())), Code::kNoShard);
    Words words;
    EXPECT_EQ(words.ReadFrom(client.get()), Status::kPeerGone);
    server.Expose(0, life * TestServer::kRegionBytes);
    const auto next = server.Connect(0, 2);
    EXPECT_EQ(next->limits().region_bytes, life * TestServer::kRegionBytes);
    EXPECT_EQ(ReadWord(next.get(), 0), 0u);
    EXPECT_EQ(words.ReadFrom(client.get()), Status::kPeerGone);
    server.port().Close(server.Expect(Kind::kOpened).peer);
  }
  EXPECT_TRUE(server.Silent(1));
}

TEST_P(FabricConformance, WithdrawInEveryStateOfAConversationIsFine) {
  TestServer server = Serve(2);
  const auto other = server.Connect(1, 1);
  const PeerId other_peer = server.Expect(Kind::kOpened, 1).peer;
  const auto each = [&](const char* state, auto&& bring_about) {
    SCOPED_TRACE(state);
    const auto unheard = server.Connect(0, 1);
    const auto client = server.Connect(0, 2);
    const auto reader = Must(server.TryConnect(ReaderOptions()));
    bring_about(client.get());
    server.Withdraw();
    for (const auto& one : {unheard.get(), client.get(), reader.get()}) {
      if (!GetParam().news_travel) {
        EXPECT_FALSE(one->alive()) << "without a call that looks at the socket";
      }
      Words words;
      EXPECT_EQ(words.ReadFrom(one), Status::kPeerGone);
      EXPECT_TRUE(NoticesDeath(one));
    }
    server.Expose();
    EXPECT_TRUE(server.Silent());
  };
  const auto send = [](Connection* client) { ASSERT_TRUE(client->Send(Pattern(10, 1))); };
  const auto open = [&] {
    server.Expect(Kind::kOpened);
    const PeerId peer = server.Expect(Kind::kOpened).peer;
    server.Expect(Kind::kOpened);
    return peer;
  };
  each("never polled", [&](Connection*) {});
  each("idle", [&](Connection*) { open(); });
  each("requests unread", [&](Connection* client) { open(), send(client), send(client); });
  each("a reply owed", [&](Connection* client) {
    open(), send(client), send(client);
    server.Expect(Kind::kMessage);
  });
  each("a reply unread", [&](Connection* client) {
    const PeerId peer = open();
    send(client);
    server.Expect(Kind::kMessage);
    server.port().Send(peer, Pattern(10, 2));
  });
  each("its staging being READ", [&](Connection* client) {
    const PeerId peer = open();
    ASSERT_TRUE(client->staging());
    for (int i = 0; i < 3; ++i) {
      server.port().Read(
          peer,
          {.bytes = TestServer::kStagingBytes, .shared = server.words(), .masks = kNoMasks.data()});
    }
  });
  each("the client asleep", [&](Connection* client) { ASSERT_TRUE((open(), client->Arm())); });
  each("the port asleep", [&](Connection*) { ASSERT_TRUE((open(), server.FallAsleep())); });
  EXPECT_TRUE(other->alive());
  send(other.get());
  EXPECT_EQ(server.Expect(Kind::kMessage, 1).peer, other_peer);
}

TEST_P(FabricConformance, ReadsPostedBeforeTheWithdrawDoNotSucceedAfterIt) {
  TestServer server = Serve();
  const auto client = server.Connect();
  std::array<uint64_t, 3> words{};
  for (uint64_t& word : words) {
    const auto bytes = std::as_writable_bytes(std::span(&word, 1));
    const ReadOp op{.bytes = 8, .to = bytes.data()};
    ASSERT_EQ(client->Read({&op, 1}), 1u);
  }
  const ExposedMemory memory = server.Withdraw();
  StoreEverywhere(memory.bytes, kLate);
  size_t ended = 0;
  size_t good = 0;
  EXPECT_TRUE(Eventually([&] {
    std::array<Completion, 4> completions;
    const size_t count = client->Poll(completions);
    for (const Completion& one : std::span(completions).first(count)) {
      good += one.status == Status::kDone;
    }
    ended += count;
    return ended == words.size();
  }));
  if (GetParam().news_travel) {
    // Some may have been answered before, so with what was there then.
    EXPECT_EQ(std::ranges::count(words, 0u), std::ssize(words));
  } else {
    EXPECT_EQ(good, 0u);
  }
}

// Guarantee 3, of all clients at once, also of those that the port has not heard of.
TEST_P(FabricConformance, NothingStoredAfterAWithdrawIsEverReadAsGood) {
  TestServer server = Serve(0);
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    server.Expose();
    std::vector<std::unique_ptr<Reader>> readers;
    for (uint64_t i = 0; i < 2; ++i) {
      readers.push_back(std::make_unique<Reader>(server.Connect(0, i)));
      readers.push_back(std::make_unique<Reader>(Must(server.TryConnect(ReaderOptions()))));
      if (i == 0) server.Expect(Kind::kOpened);
    }
    const auto all_read = [&] {
      return std::ranges::all_of(readers, [](const auto& one) { return one->reads() > 20; });
    };
    EXPECT_TRUE(Eventually(all_read));
    const ExposedMemory memory = server.Withdraw();
    StoreEverywhere(memory.bytes, kLate);
    for (const auto& reader : readers) EXPECT_EQ(reader->Join(), 0u);
  }
}

TEST_P(FabricConformance, ClientsThatComeWhileAShardComesAndGoesGetWhatIsThere) {
  constexpr uint64_t kLives = 100;
  TestServer server = Serve(0);
  std::atomic<uint64_t> life = 0;
  std::atomic<bool> stop = false;
  std::array<Visitor, 3> visitors = {Visitor(server.uri(), OptionsFor(0, 1), &life),
                                     Visitor(server.uri(), OptionsFor(0, 2), &life),
                                     Visitor(server.uri(), ReaderOptions(), &life)};
  std::vector<std::thread> threads;
  for (Visitor& visitor : visitors) threads.emplace_back([&] { visitor.Run(stop); });
  while (life < kLives) {
    const ExposedMemory memory = GetParam().make_memory(4096);
    StoreEverywhere(memory.bytes, life + 1);
    Port* port = Must(server.listener().Expose(0, {memory.bytes, memory.fd}));
    ++life;
    Visitor& awaited = visitors[life % visitors.size()];
    const uint64_t before = awaited.visits();
    EXPECT_TRUE(Eventually([&] {
      server.Accept();
      if (life % 2 == 0) port->Poll();
      return awaited.visits() > before;
    })) << life;
    server.listener().Withdraw(0);
    StoreEverywhere(memory.bytes, kLate);
  }
  stop = true;
  server.AcceptWhile([&] {
    for (std::thread& thread : threads) thread.join();
  });
  for (const Visitor& visitor : visitors) EXPECT_EQ(visitor.wrong(), 0u);
}

TEST_P(FabricConformance, WithdrawGivesPlacesBack) {
  ListenOptions options;
  options.admission = std::make_shared<Admission>(Admission::Limits{.clients = 2});
  TestServer server(GetParam(), FreshUri(), 1, TestServer::kRegionBytes, options);
  for (int life = 0; life < 3; ++life) {
    const auto client = server.Connect();
    const auto reader = Must(server.TryConnect(ReaderOptions()));
    if (life == 1) server.Expect(Kind::kOpened);
    EXPECT_EQ(CodeOf(server.TryConnect(ReaderOptions())), Code::kUnavailable) << "one too many";
    EXPECT_EQ(options.admission->clients(), 2u);
    server.Withdraw();
    EXPECT_EQ(options.admission->clients(), 0u);
    server.Expose();
  }
}

}  // namespace plov::fabric
