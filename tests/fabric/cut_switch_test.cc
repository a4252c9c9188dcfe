// The switch that the tests of several servers cut hosts off with.

#include "fabric/cut_switch.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>

#include "tests/fabric/shm_tools.h"
#include "verify/words.h"

namespace plov::fabric {

namespace {

using Kind = PortEvent::Kind;
using std::chrono::milliseconds;

constexpr HostId kClient = 3, kServer = 1, kOther = 2;
// Longer than any test takes, and shorter than it waits.
constexpr milliseconds kLong{60'000}, kShort{50};

class CutSwitchTest : public testing::Test {
 protected:
  std::unique_ptr<Connection> Connect(Clock::duration dies_after,
                                      const ConnectOptions& options = OptionsFor(0, 1)) {
    CutSwitch hosts(&table_, kClient, dies_after);
    std::expected<std::unique_ptr<Connection>, Error> connection;
    server_.AcceptWhile([&] { connection = hosts.Connect(kServer, server_.uri(), options); });
    auto made = Must(std::move(connection));
    peer_ = server_.Expect(Kind::kOpened).peer;
    return made;
  }
  void Cut() { table_.Cut(kServer, kClient); }
  void Heal() { table_.Heal(kClient, kServer); }

  static void Post(Connection* connection, uint64_t* word) {
    auto* to = std::as_writable_bytes(std::span(word, 1)).data();
    const ReadOp op{.offset = 0, .bytes = 8, .to = to, .tag = 5};
    ASSERT_EQ(connection->Read({&op, 1}), 1u);
  }
  // Nothing comes while many calls look for it.
  static bool Silent(Connection* connection) {
    std::array<Completion, 4> completions;
    for (int i = 0; i < kManyPolls; ++i) {
      if (connection->Poll(completions) > 0 || connection->Receive()) return false;
    }
    return true;
  }
  static Completion Collect(Connection* connection) {
    Completion done{};
    EXPECT_TRUE(Eventually([&] { return connection->Poll({&done, 1}) == 1; }));
    return done;
  }

  CutTable table_;
  TestServer server_ = shm::ServeShm();
  PeerId peer_ = 0;
};

TEST_F(CutSwitchTest, ConnectionThatIsNotCutIsAsEver) {
  table_.Cut(kClient, kOther);
  table_.Cut(kServer, kOther);
  const auto client = Connect(kLong);
  verify::StoreWord(server_.words(), 7);
  EXPECT_EQ(ReadWord(client.get(), 0), 7u);
  EXPECT_TRUE(client->region().empty());
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(client->Send(Pattern(10, i)));
    const Event asked = server_.Expect(Kind::kMessage);
    EXPECT_TRUE(Same(asked.message, Pattern(10, i)));
    server_.port().Send(peer_, asked.message);
    const auto reply = ReceiveNext(client.get());
    ASSERT_TRUE(reply && Same(*reply, Pattern(10, i)));
  }
  std::vector<ReadOp> many(100, {.bytes = 0, .to = nullptr});
  EXPECT_EQ(client->Read(many), client->limits().read_depth);
  EXPECT_EQ(client->Read(many), 0u);
}

TEST_F(CutSwitchTest, NothingGetsThroughUntilTheHostsAreHealed) {
  const auto client = Connect(kLong);
  uint64_t before = 0, during = 0;
  Post(client.get(), &before);
  ASSERT_TRUE(client->Send(Pattern(10, 1)));
  Cut();
  Cut();  // already
  Post(client.get(), &during);
  ASSERT_TRUE(client->Send(Pattern(10, 2)));
  server_.port().Send(server_.Expect(Kind::kMessage).peer, Pattern(10, 3));
  verify::StoreWord(server_.words(), 7);
  EXPECT_TRUE(Silent(client.get()));
  EXPECT_TRUE(server_.Silent());
  EXPECT_TRUE(client->alive());
  EXPECT_EQ(before + during, 0u);
  Heal();
  Heal();
  EXPECT_EQ(Collect(client.get()).status, Status::kDone);
  EXPECT_EQ(Collect(client.get()).status, Status::kDone);
  EXPECT_EQ(during, 7u);
  const auto reply = ReceiveNext(client.get());
  EXPECT_TRUE(reply && Same(*reply, Pattern(10, 3)));
  EXPECT_TRUE(Same(server_.Expect(Kind::kMessage).message, Pattern(10, 2)));
}

TEST_F(CutSwitchTest, WhoWaitsTooLongIsDeadForEver) {
  for (const bool reads : {true, false}) {
    auto client = Connect(kShort);
    uint64_t word = 0;
    Cut();
    if (reads) {
      Post(client.get(), &word);
    } else {
      ASSERT_TRUE(client->Send(Pattern(10, 1)));
    }
    EXPECT_TRUE(NoticesDeath(client.get())) << "asleep";
    Heal();
    EXPECT_FALSE(client->alive());
    EXPECT_FALSE(client->Send(Pattern(10, 2)));
    if (!reads) Post(client.get(), &word);
    const Completion done = Collect(client.get());
    EXPECT_EQ(done.status, Status::kPeerGone);
    EXPECT_EQ(done.tag, 5u);
    EXPECT_TRUE(server_.Silent()) << "the message is lost";
    client.reset();
    EXPECT_EQ(server_.Expect(Kind::kClosed).peer, peer_);
  }
}

TEST_F(CutSwitchTest, WhoWaitsForNothingSurvives) {
  const auto client = Connect(milliseconds(1));
  Cut();
  std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(Silent(client.get()));
  Heal();
  EXPECT_EQ(ReadWord(client.get(), 0), 0u);
}

TEST_F(CutSwitchTest, EndOfTheServerIsNotSeenThroughACut) {
  const auto client = Connect(kShort);
  Cut();
  server_.port().Close(peer_);
  EXPECT_TRUE(Silent(client.get()));
  EXPECT_TRUE(client->alive());
  Heal();
  EXPECT_FALSE(client->alive());
}

TEST_F(CutSwitchTest, LoadsAreNoGoodOnceTheHostsWereCutOff) {
  const auto client = Connect(milliseconds(0));
  EXPECT_EQ(client->region().size(), TestServer::kRegionBytes);
  EXPECT_TRUE(client->alive());
  Cut();
  EXPECT_FALSE(client->alive());
  Heal();
  EXPECT_FALSE(client->alive());
  uint64_t word = 0;
  Post(client.get(), &word);
  EXPECT_EQ(Collect(client.get()).status, Status::kPeerGone);
}

TEST_F(CutSwitchTest, WhoIsCutOffCannotConnect) {
  CutSwitch hosts(&table_, kClient);
  Cut();
  ConnectOptions options = OptionsFor(0, 1);
  options.deadline = Clock::now() + milliseconds(20);
  EXPECT_EQ(CodeOf(hosts.Connect(kServer, server_.uri(), options)), Code::kTimeout);
  std::expected<std::unique_ptr<Connection>, Error> connection;
  server_.AcceptWhile([&] {
    std::jthread healing([&] { Heal(); });
    connection = hosts.Connect(kServer, server_.uri(), OptionsFor(0, 1));
  });
  EXPECT_EQ(CodeOf(connection), Code::kOk);
}

TEST_F(CutSwitchTest, SleeperWakesForAReplyAndForTheHealing) {
  const auto client = Connect(kLong);
  ASSERT_TRUE(client->Send(Pattern(10, 1)));
  server_.Expect(Kind::kMessage);
  std::atomic<bool> came = false;
  std::thread sleeper([&] { came = ReceiveNext(client.get()).has_value(); });
  Cut();
  server_.port().Send(peer_, Pattern(10, 2));
  std::this_thread::sleep_for(milliseconds(20));
  Heal();
  sleeper.join();
  EXPECT_TRUE(came);
}

TEST_F(CutSwitchTest, ConnectionThatOnlyReadsIsCutOffLikeOthers) {
  const auto reader = Connect(kShort, ReaderOptions());
  EXPECT_FALSE(reader->Send({}));
  uint64_t word = 0;
  Post(reader.get(), &word);
  Cut();
  EXPECT_EQ(Collect(reader.get()).status, Status::kPeerGone);
  EXPECT_FALSE(reader->alive());
}

TEST(CutFileTest, ProcessesShareIt) {
  const std::string path = testing::TempDir() + "cuts." + std::to_string(::getpid());
  const std::vector<std::string> names = {"a1", std::string(CutFile::kNameBytes, 'b')};
  const auto mine = Must(CutFile::Create(path, names));
  const auto others = Must(CutFile::Open(path));
  EXPECT_EQ(others.Find("a1"), 0u);
  EXPECT_EQ(others.Find(names[1]), 1u);
  EXPECT_EQ(others.Find("c1"), std::nullopt);
  EXPECT_EQ(others.Find(""), std::nullopt);
  mine.table()->Cut(0, 1);
  EXPECT_TRUE(others.table()->IsCut(1, 0));
  EXPECT_EQ(CodeOf(CutFile::Open(path + ".none")), Code::kSystem);
  EXPECT_EQ(CodeOf(CutFile::Create(path, std::vector<std::string>(65, "x"))),
            Code::kInvalidArgument);
  std::ofstream(path) << "something else";
  EXPECT_EQ(CodeOf(CutFile::Open(path)), Code::kInvalidArgument);
  std::filesystem::remove(path);
}

}  // namespace

}  // namespace plov::fabric
