// The verbs fabric's server against clients that do not keep to the protocol: verdicts, never a
// crash, nothing left behind, and never at the cost of the others.

#include <rdma/rdma_cma.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "fabric/verbs/peer.h"
#include "tests/fabric/verbs_raw.h"
#include "tests/fabric/verbs_tools.h"
#include "tests/support/rdma.h"
#include "verify/words.h"

namespace plov::fabric::verbs {

namespace {

using test::QueuePairs;
using Kind = PortEvent::Kind;

constexpr uint64_t kHonestClientId = 1;
constexpr uint64_t kTag = 77;
constexpr auto kAnswered = RDMA_CM_EVENT_CONNECT_RESPONSE;

// A server with an honest client, which is served whatever the other one does.
class VerbsHostileClient : public testing::Test {
 protected:
  void SetUp() override {
    const FabricUnderTest verbs = Verbs();
    if (!verbs.missing.empty()) GTEST_SKIP() << verbs.missing;
    server_.emplace(verbs, FreshRdmaUri());
    server_->Fill(Pattern(TestServer::kRegionBytes, 5));
    honest_ = server_->Connect(0, kHonestClientId);
    honest_peer_ = server_->Expect(Kind::kOpened).peer;
    queue_pairs_ = QueuePairs();
  }

  // A client that has said what an honest one says, and is known to the port.
  std::unique_ptr<RawClient> Join(ReadDepths depths = RawClient::kDepths) {
    auto client = RawClient::ConnectedTo(&*server_, depths);
    peer_ = server_->Expect(Kind::kOpened).peer;
    return client;
  }

  void ExpectHonestServed() {
    ASSERT_TRUE(honest_->Send(Pattern(100, 1)));
    const Event asked = server_->Expect(Kind::kMessage);
    ASSERT_EQ(asked.peer, honest_peer_);
    ASSERT_TRUE(Same(asked.message, Pattern(100, 1)));
    server_->port().Send(honest_peer_, Pattern(100, 2));
    const auto reply = ReceiveNext(honest_.get());
    ASSERT_TRUE(reply && Same(*reply, Pattern(100, 2)));
    ExpectRegionUnchanged();
  }

  void ExpectRegionUnchanged() {
    std::vector<std::byte> bytes(TestServer::kRegionBytes);
    ASSERT_EQ(ReadOne(honest_.get(), {.bytes = TestServer::kRegionBytes, .to = bytes.data()}),
              Status::kDone);
    EXPECT_TRUE(Same(bytes, Pattern(TestServer::kRegionBytes, 5)));
  }

  void ExpectClosed() {
    const Event closed = server_->Expect(Kind::kClosed);
    EXPECT_EQ(closed.peer, peer_);
  }

  // Whether all that come, if any does, are closed, and no queue pair of the server is left.
  void ExpectThatCameToGo() {
    const Deadline deadline = WaitDeadline();
    int open = 0, opened = 0;
    const auto settled = [&] {
      while (const auto event = server_->port().Poll()) {
        opened += event->kind == Kind::kOpened;
        open += event->kind == Kind::kOpened ? 1 : -1;
      }
      return open == 0 && QueuePairs() <= queue_pairs_ + (opened == 0 ? 0 : 1);
    };
    while (!settled()) ASSERT_LT(Clock::now(), deadline) << open << " are open";
  }

  void ExpectNothingLeft() {
    EXPECT_TRUE(Eventually([&] { return QueuePairs() == queue_pairs_; }))
        << QueuePairs() << " queue pairs, before " << queue_pairs_;
    EXPECT_TRUE(server_->Silent());
    ExpectHonestServed();
  }

  std::optional<TestServer> server_;
  std::unique_ptr<Connection> honest_;
  PeerId honest_peer_ = 0;
  PeerId peer_ = 0;
  size_t queue_pairs_ = 0;
};

TEST_F(VerbsHostileClient, WhatIsNoHelloIsRefused) {
  const Hello good = RawClient::GoodHello();
  Hello magic = good, version = good, shard = good, no_shard = good, flags = good;
  ++magic.magic;
  ++version.format_version;
  shard.shard = 1;
  flags.flags = kHelloFlags + 1;
  no_shard.shard = std::numeric_limits<uint16_t>::max();
  const std::pair<std::span<const std::byte>, Code> hellos[] = {
      {{}, Code::kProtocol},
      {BytesOf(good).first(8), Code::kProtocol},
      {BytesOf(good).first(1), Code::kProtocol},
      {BytesOf(magic), Code::kProtocol},
      {BytesOf(version), Code::kProtocol},
      {BytesOf(shard), Code::kNoShard},
      {BytesOf(no_shard), Code::kNoShard},
      {BytesOf(flags), Code::kProtocol}};
  for (const auto& [hello, code] : hellos) {
    RawClient client(server_->uri());
    CmNews answer{};
    server_->AcceptWhile([&] {
      client.Request(hello);
      answer = client.Answer();
    });
    ASSERT_EQ(answer.type, RDMA_CM_EVENT_REJECTED);
    Refusal refusal{};
    ASSERT_GE(answer.private_data.size(), sizeof(refusal));
    std::memcpy(&refusal, answer.private_data.data(), sizeof(refusal));
    EXPECT_EQ(refusal.magic, kWireMagic);
    EXPECT_EQ(refusal.code, static_cast<uint32_t>(code));
    EXPECT_TRUE(server_->Silent());
  }
  ExpectNothingLeft();
}

TEST_F(VerbsHostileClient, MoreMessagesThanBuffersAreTheSendersTrouble) {
  {
    const auto client = Join();
    const auto [status, arrived] = client->qp().SendMany(2 * kRequestBuffers, Pattern(64, 3));
    EXPECT_EQ(status, IBV_WC_RNR_RETRY_EXC_ERR);
    EXPECT_EQ(arrived, kRequestBuffers);
    server_->Expect(Kind::kMessage);  // and no more than this one before its reply
    EXPECT_TRUE(server_->Silent());
    ExpectHonestServed();
  }
  ExpectClosed();
  ExpectNothingLeft();
}

// There is no buffer for it, whatever it sends.
TEST_F(VerbsHostileClient, OneThatSaidItOnlyReadsCanSendNothing) {
  Hello hello = RawClient::GoodHello();
  hello.flags = kHelloReadsOnly;
  for (const bool announces : {false, true}) {
    {
      RawClient client(server_->uri());
      server_->AcceptWhile([&] {
        client.Request(BytesOf(hello));
        client.Establish(client.Answer());
      });
      const Event opened = server_->Expect(Kind::kOpened);
      EXPECT_TRUE(opened.reads_only && !opened.may_write && opened.client_id == 0);
      peer_ = opened.peer;
      const Welcome& to = client.welcome();
      EXPECT_EQ(to.staging_bytes, 0u);
      EXPECT_EQ(client.qp().Access(IBV_WR_RDMA_READ, to.region_address, to.region_rkey, 64),
                IBV_WC_SUCCESS);
      EXPECT_NE(announces ? client.Announce(BytesOf(client.GoodAnnouncement()))
                          : client.qp().Send(Pattern(64, 3)),
                IBV_WC_SUCCESS);
      ExpectHonestServed();
    }
    ExpectClosed();
  }
  ExpectNothingLeft();
}

// Not by who was never let into the shard either.
TEST_F(VerbsHostileClient, WithdrawnRegionCannotBeReadByItsKey) {
  server_->Expose(1);
  Hello hello = RawClient::GoodHello();
  hello.shard = 1;
  RawClient of_other(server_->uri());
  server_->AcceptWhile([&] {
    of_other.Request(BytesOf(hello));
    of_other.Establish(of_other.Answer());
  });
  const Welcome to = of_other.welcome();
  const auto client = Join();
  server_->Withdraw(1);
  EXPECT_NE(client->qp().Access(IBV_WR_RDMA_READ, to.region_address, to.region_rkey, 64),
            IBV_WC_SUCCESS);
  ExpectClosed();
  EXPECT_NE(of_other.qp().Access(IBV_WR_RDMA_READ, to.region_address, to.region_rkey, 64),
            IBV_WC_SUCCESS);
  server_->Expose(1);
  EXPECT_TRUE(server_->Silent(1));
  ExpectHonestServed();
}

TEST_F(VerbsHostileClient, LongestMessageArrivesAndALongerOneEndsTheConnection) {
  {
    const auto client = Join();
    EXPECT_EQ(client->qp().Send(Pattern(kMessageBytesMax, 3)), IBV_WC_SUCCESS);
    EXPECT_TRUE(Same(server_->Expect(Kind::kMessage).message, Pattern(kMessageBytesMax, 3)));
    EXPECT_NE(client->qp().Send(Pattern(kMessageBytesMax + 1, 3)), IBV_WC_SUCCESS);
    ExpectClosed();
  }
  ExpectNothingLeft();
}

TEST_F(VerbsHostileClient, RepliesThatItHasNoBufferForEndItsConnection) {
  {
    const auto client = Join();
    ASSERT_EQ(client->qp().Send(Pattern(64, 3)), IBV_WC_SUCCESS);
    server_->Expect(Kind::kMessage);
    server_->port().Send(peer_, Pattern(kMessageBytesMax, 4));
    ExpectClosed();
  }
  ExpectNothingLeft();
}

TEST_F(VerbsHostileClient, GoodAnnouncementLetsTheServerRead) {
  const auto client = Join();
  std::ranges::copy(Pattern(256, 9), client->qp().memory().begin() + 1024);
  ASSERT_EQ(client->Announce(BytesOf(client->GoodAnnouncement())), IBV_WC_SUCCESS);
  server_->port().Read(peer_, {.offset = 1024,
                               .bytes = 256,
                               .shared = server_->words(),
                               .masks = kNoMasks.data(),
                               .shared_offset = 512,
                               .tag = kTag});
  const Event done = server_->Expect(Kind::kReadDone);
  EXPECT_TRUE(done.ok);
  EXPECT_EQ(done.tag, kTag);
  EXPECT_TRUE(Same(server_->region().subspan(512, 256), Pattern(256, 9)));
}

TEST_F(VerbsHostileClient, BadAnnouncementEndsTheConnection) {
  struct Spoiled {
    const char* name;
    size_t bytes;
    void (*spoil)(Announcement*);
  };
  constexpr auto kLeave = [](Announcement*) {};
  const Spoiled all[] = {
      {"empty", 0, kLeave},
      {"short", sizeof(Announcement) - 1, kLeave},
      {"long", sizeof(Announcement) + 1, kLeave},
      {"magic", sizeof(Announcement), [](Announcement* one) { ++one->magic; }},
      {"too large", sizeof(Announcement), [](Announcement* one) { ++one->bytes; }},
      {"all memory", sizeof(Announcement),
       [](Announcement* one) { one->bytes = std::numeric_limits<uint64_t>::max(); }},
      {"wrapping", sizeof(Announcement),
       [](Announcement* one) { one->address = std::numeric_limits<uint64_t>::max() - 4096; }},
  };
  for (const Spoiled& one : all) {
    SCOPED_TRACE(one.name);
    const auto client = Join();
    std::array<Announcement, 2> said = {client->GoodAnnouncement(), {}};
    one.spoil(said.data());
    client->Announce(std::as_bytes(std::span(said)).first(one.bytes));
    ExpectClosed();
  }
  ExpectNothingLeft();
}

TEST_F(VerbsHostileClient, SecondAnnouncementEndsTheConnection) {
  {
    const auto client = Join();
    ASSERT_EQ(client->Announce(BytesOf(client->GoodAnnouncement())), IBV_WC_SUCCESS);
    ASSERT_TRUE(server_->Silent());
    client->Announce(BytesOf(client->GoodAnnouncement()));
    ExpectClosed();
  }
  ExpectNothingLeft();
}

TEST_F(VerbsHostileClient, NothingCanBeWritten) {
  struct Attempt {
    ibv_wr_opcode opcode;
    uint32_t bytes;
  };
  const Attempt attempts[] = {
      {IBV_WR_RDMA_WRITE, 64},          {IBV_WR_RDMA_WRITE, 8192},
      {IBV_WR_RDMA_WRITE_WITH_IMM, 64}, {IBV_WR_RDMA_WRITE_WITH_IMM, sizeof(Announcement)},
      {IBV_WR_ATOMIC_CMP_AND_SWP, 8},   {IBV_WR_ATOMIC_FETCH_AND_ADD, 8}};
  for (const auto& [opcode, bytes] : attempts) {
    SCOPED_TRACE("opcode " + std::to_string(opcode) + " of " + std::to_string(bytes));
    const auto client = Join();
    const Welcome& to = client->welcome();
    EXPECT_NE(client->qp().Access(opcode, to.region_address, to.region_rkey, bytes),
              IBV_WC_SUCCESS);
    ExpectClosed();
    ExpectRegionUnchanged();
  }
  ExpectNothingLeft();
}

TEST_F(VerbsHostileClient, NothingButTheRegionCanBeRead) {
  constexpr uint64_t kEnd = TestServer::kRegionBytes;
  struct Attempt {
    uint64_t offset;
    uint32_t bytes;
    uint32_t wrong_key_bits;
  };
  const Attempt attempts[] = {{kEnd, 8, 0},
                              {kEnd - 8, 16, 0},
                              {uint64_t{0} - 8, 8, 0},
                              {uint64_t{0} - 8, 16, 0},
                              {0, kEnd + 8, 0},
                              {uint64_t{1} << 40, 64, 0},
                              {0, 64, 1},
                              {0, 64, 0x100},
                              {0, 64, 0xff00}};
  for (const auto& [offset, bytes, wrong_key_bits] : attempts) {
    SCOPED_TRACE("offset " + std::to_string(offset) + ", " + std::to_string(bytes) +
                 " bytes, key ^ " + std::to_string(wrong_key_bits));
    const auto client = Join();
    const Welcome& to = client->welcome();
    EXPECT_EQ(client->qp().Access(IBV_WR_RDMA_READ, to.region_address, to.region_rkey, 64),
              IBV_WC_SUCCESS);
    EXPECT_NE(client->qp().Access(IBV_WR_RDMA_READ, to.region_address + offset,
                                  to.region_rkey ^ wrong_key_bits, bytes),
              IBV_WC_SUCCESS);
    ExpectClosed();
  }
  ExpectNothingLeft();
}

TEST_F(VerbsHostileClient, RendezvousWithMemoryThatIsNotItsEndsItsConnection) {
  const auto spoil_key = [](Announcement* one) { one->rkey ^= 0xff00; };
  const auto spoil_address = [](Announcement* one) { one->address += RawQp::kMemoryBytes; };
  for (void (*spoil)(Announcement*) : {+spoil_key, +spoil_address}) {
    const auto client = Join();
    Announcement announcement = client->GoodAnnouncement();
    spoil(&announcement);
    ASSERT_EQ(client->Announce(BytesOf(announcement)), IBV_WC_SUCCESS);
    server_->port().Read(
        peer_, {.bytes = 4096, .shared = server_->words(), .masks = kNoMasks.data(), .tag = kTag});
    ExpectClosed();
    ExpectRegionUnchanged();
  }
  ExpectNothingLeft();
}

TEST_F(VerbsHostileClient, RendezvousOutsideTheAnnouncedIsRefused) {
  const auto client = Join();
  Announcement announcement = client->GoodAnnouncement();
  announcement.bytes = 4096;
  ASSERT_EQ(client->Announce(BytesOf(announcement)), IBV_WC_SUCCESS);
  const std::pair<uint64_t, uint64_t> ranges[] = {
      {4096, 8}, {4088, 16}, {0, 4104}, {uint64_t{0} - 8, 16}, {8, uint64_t{0} - 8}};
  for (const auto& [offset, bytes] : ranges) {
    server_->port().Read(peer_, {.offset = offset,
                                 .bytes = bytes,
                                 .shared = server_->words(),
                                 .masks = kNoMasks.data(),
                                 .tag = kTag});
    const Event done = server_->Expect(Kind::kReadDone);
    EXPECT_FALSE(done.ok) << offset << " " << bytes;
  }
  ExpectRegionUnchanged();
}

TEST_F(VerbsHostileClient, RendezvousWithoutAnAnnouncementIsRefused) {
  const auto client = Join();
  ASSERT_EQ(client->qp().Send(Pattern(64, 3)), IBV_WC_SUCCESS);
  server_->Expect(Kind::kMessage);
  server_->port().Read(
      peer_, {.bytes = 64, .shared = server_->words(), .masks = kNoMasks.data(), .tag = kTag});
  EXPECT_FALSE(server_->Expect(Kind::kReadDone).ok);
}

// It lets nobody READ from it: a value could never be fetched, and its PUT would wait for ever.
TEST_F(VerbsHostileClient, OneThatAnswersNoReadsIsRefused) {
  for (const ReadDepths depths : {ReadDepths{0, 16}, ReadDepths{16, 0}}) {
    RawClient client(server_->uri());
    CmNews answer{};
    server_->AcceptWhile([&] {
      client.Request(BytesOf(RawClient::GoodHello()), depths);
      answer = client.Answer();
    });
    EXPECT_EQ(answer.type, RDMA_CM_EVENT_REJECTED);
  }
  ExpectNothingLeft();
}

// After its first READ has arrived, and before most are posted. Once it is closed, nothing that was
// on its way touches the region.
TEST_F(VerbsHostileClient, OneThatDiesInTheMiddleOfARendezvousIsClosed) {
  constexpr uint64_t kReads = 4000;  // a quarter of a GiB: seconds, where it dies within one
  {
    const auto client = Join();
    ASSERT_EQ(client->Announce(BytesOf(client->GoodAnnouncement())), IBV_WC_SUCCESS);
    const std::atomic_ref<uint64_t> first(*server_->words());
    constexpr uint64_t kNotRead = 0xfedcba9876543210;
    first.store(kNotRead, std::memory_order_relaxed);
    std::jthread death([&] {
      EXPECT_TRUE(Eventually([&] { return first.load(std::memory_order_relaxed) != kNotRead; }));
      client->qp().Destroy();
    });
    for (uint64_t tag = 0; tag < kReads; ++tag) {
      server_->port().Read(peer_, {.bytes = TestServer::kStagingBytes,
                                   .shared = server_->words(),
                                   .masks = kNoMasks.data(),
                                   .tag = tag});
    }
    uint64_t arrived = 0;
    Event event = server_->Next();
    for (; event.kind == Kind::kReadDone; event = server_->Next()) {
      EXPECT_TRUE(event.ok);
      EXPECT_EQ(event.tag, arrived++);
    }
    death.join();
    EXPECT_EQ(event.kind, Kind::kClosed);
    EXPECT_EQ(event.peer, peer_);
    EXPECT_LT(arrived, kReads);
    server_->Fill(Pattern(TestServer::kRegionBytes, 5));
  }
  ExpectNothingLeft();
}

TEST_F(VerbsHostileClient, OneThatVanishesAfterItsRequestIsClosed) {
  for (const bool before_the_answer : {true, false}) {
    SCOPED_TRACE(before_the_answer ? "before the answer" : "after it");
    auto client = std::make_unique<RawClient>(server_->uri());
    client->Request(BytesOf(RawClient::GoodHello()));
    if (before_the_answer) {
      client.reset();
      EXPECT_TRUE(WaitReadable(server_->listener().fd()));
      server_->Accept();
    } else {
      server_->AcceptWhile([&] { EXPECT_EQ(client->Answer().type, kAnswered); });
      client.reset();
    }
    ExpectThatCameToGo();
  }
  ExpectNothingLeft();
}

// rdmacm would repeat its answer for minutes; but its queue pair does not answer.
TEST_F(VerbsHostileClient, OneThatNeverConfirmsTheAnswerIsClosed) {
  RawClient client(server_->uri());
  client.Request(BytesOf(RawClient::GoodHello()));
  server_->AcceptWhile([&] { EXPECT_EQ(client.Answer().type, kAnswered); });
  peer_ = server_->Expect(Kind::kOpened).peer;
  ExpectClosed();
  ExpectHonestServed();
}

}  // namespace

}  // namespace plov::fabric::verbs
