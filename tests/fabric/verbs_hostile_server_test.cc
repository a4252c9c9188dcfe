// The verbs fabric's client against a server that does not keep to the protocol: an error or a dead
// connection, never bytes that were not READ, never a crash.

#include <algorithm>
#include <cstring>
#include <limits>

#include "tests/fabric/verbs_raw.h"
#include "tests/fabric/verbs_tools.h"

namespace plov::fabric::verbs {

namespace {

class VerbsHostileServer : public testing::Test {
 protected:
  void SetUp() override {
    const FabricUnderTest verbs = Verbs();
    if (!verbs.missing.empty()) GTEST_SKIP() << verbs.missing;
    server_.emplace();
  }

  // Connected to a server that has said nothing wrong so far.
  std::unique_ptr<Connection> Join() {
    return Must(server_->Answer([](Welcome*) {}));
  }
  static Status ReadWords(Connection* connection, uint64_t offset, uint32_t bytes) {
    std::vector<std::byte> into(bytes);
    return ReadOne(connection, {.offset = offset, .bytes = bytes, .to = into.data()});
  }

  std::optional<RawServer> server_;
};

TEST_F(VerbsHostileServer, GoodWelcomeIsTaken) {
  const auto connection = Join();
  EXPECT_EQ(ReadWords(connection.get(), 0, 64), Status::kDone);
  EXPECT_EQ(ReadWords(connection.get(), RawServer::kRegionBytes, 8), Status::kOutOfRange);
}

TEST_F(VerbsHostileServer, BadWelcomeIsRefused) {
  constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
  const std::pair<const char*, void (*)(Welcome*)> changes[] = {
      {"magic", [](Welcome* welcome) { ++welcome->magic; }},
      {"format", [](Welcome* welcome) { ++welcome->format_version; }},
      {"no region", [](Welcome* welcome) { welcome->region_bytes = 0; }},
      {"wrapping region", [](Welcome* welcome) { welcome->region_bytes = kAll; }},
      {"wrapping region by one",
       [](Welcome* welcome) { welcome->region_bytes = kAll - welcome->region_address + 2; }},
      {"all memory for staging", [](Welcome* welcome) { welcome->staging_bytes = kAll; }},
  };
  for (const auto& [name, change] : changes) {
    EXPECT_EQ(CodeOf(RawServer().Answer(change)), Code::kProtocol) << name;
  }
  EXPECT_EQ(CodeOf(RawServer().Answer([](Welcome*) {}, 0)), Code::kProtocol);
  EXPECT_EQ(CodeOf(RawServer().Answer([](Welcome*) {}, 8)), Code::kProtocol);
}

TEST_F(VerbsHostileServer, RegionThatIsNotTheServersGivesNothing) {
  const auto wrong_key = Must(RawServer().Answer([](Welcome* w) { w->region_rkey ^= 0xff00; }));
  EXPECT_EQ(ReadWords(wrong_key.get(), 0, 64), Status::kPeerGone);
  EXPECT_FALSE(wrong_key->alive());
  RawServer server;
  const auto too_long =
      Must(server.Answer([](Welcome* w) { w->region_bytes += RawQp::kMemoryBytes; }));
  EXPECT_EQ(ReadWords(too_long.get(), RawQp::kMemoryBytes, 64), Status::kPeerGone);
  EXPECT_FALSE(too_long->alive());
}

TEST_F(VerbsHostileServer, ReplyThatNobodyAskedForEndsTheConnection) {
  const auto connection = Join();
  EXPECT_EQ(server_->qp().Send(Pattern(64, 1)), IBV_WC_SUCCESS);
  EXPECT_TRUE(Eventually([&] {
    EXPECT_FALSE(connection->Receive().has_value());
    return !connection->alive();
  }));
  EXPECT_EQ(ReadWords(connection.get(), 0, 64), Status::kPeerGone);
}

TEST_F(VerbsHostileServer, SecondReplyToOneMessageEndsTheConnection) {
  const auto connection = Join();
  ASSERT_TRUE(connection->Send(Pattern(64, 1)));
  ASSERT_EQ(server_->qp().Send(Pattern(64, 2)), IBV_WC_SUCCESS);
  ASSERT_EQ(server_->qp().Send(Pattern(64, 3)), IBV_WC_SUCCESS);
  const auto reply = ReceiveNext(connection.get());
  ASSERT_TRUE(reply && Same(*reply, Pattern(64, 2)));
  EXPECT_TRUE(Eventually([&] {
    EXPECT_FALSE(connection->Receive().has_value());
    return !connection->alive();
  }));
}

TEST_F(VerbsHostileServer, ReplyThatIsTooLongEndsTheConnection) {
  const auto connection = Join();
  ASSERT_TRUE(connection->Send(Pattern(64, 1)));
  EXPECT_NE(server_->qp().Send(Pattern(kMessageBytesMax + 1, 2)), IBV_WC_SUCCESS);
  EXPECT_FALSE(ReceiveNext(connection.get()).has_value());
  EXPECT_FALSE(connection->alive());
}

TEST_F(VerbsHostileServer, MoreRepliesThanBuffersAreTheServersTrouble) {
  const auto connection = Join();
  const auto [status, arrived] = server_->qp().SendMany(16, Pattern(64, 1));
  EXPECT_EQ(status, IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_LT(arrived, size_t{16});
}

TEST_F(VerbsHostileServer, CannotWriteToItsClient) {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    RawServer server;
    const auto connection = Must(server.Answer([](Welcome*) {}));
    const std::span<std::byte> staging = *connection->staging();
    ASSERT_FALSE(staging.empty());
    std::ranges::fill(staging, std::byte{7});
    Announcement announced{};
    const auto message = server.qp().AwaitReceive();
    ASSERT_EQ(message.size(), sizeof(announced));
    std::memcpy(&announced, message.data(), sizeof(announced));
    const auto status = server.qp().Access(opcode, announced.address, announced.rkey, 64);
    EXPECT_EQ(status == IBV_WC_SUCCESS, opcode == IBV_WR_RDMA_READ);
    EXPECT_TRUE(std::ranges::all_of(staging, [](std::byte b) { return b == std::byte{7}; }));
  }
}

}  // namespace

}  // namespace plov::fabric::verbs
