// What fabric/fabric.h guarantees of READs, messages and ends, of the simulated network.

#include "tests/sim/network.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "tests/sim/virtual_host.h"
#include "verify/words.h"

namespace plov::sim {

namespace {

constexpr uint32_t kFormat = 3;
constexpr size_t kWords = 64;

class SimNetwork : public testing::TestWithParam<Cut> {
 protected:
  SimNetwork()
      : host_(5),
        random_(5),
        network_(&host_, &random_, {.cut = GetParam(), .retransmit_one_in = 0}),
        port_(Listen(0, &memory_)) {}

  fabric::Port* Listen(uint32_t server, std::array<uint64_t, kWords>* memory) {
    return network_.Listen(server, 0,
                           {.region = std::as_writable_bytes(std::span(*memory)),
                            .format_version = kFormat,
                            .staging_bytes = 256});
  }

  static std::expected<std::unique_ptr<fabric::Connection>, Error> TryConnect(uint64_t client_id) {
    return fabric::Connection::Connect(
        "sim:", {.format_version = kFormat, .client_id = client_id, .deadline = {}});
  }

  std::unique_ptr<fabric::Connection> Connect(uint64_t client_id = 1) {
    auto connection = TryConnect(client_id);
    EXPECT_TRUE(connection.has_value());
    return std::move(*connection);
  }

  void Post(fabric::Connection* connection, uint64_t tag) {
    const fabric::ReadOp op{
        .bytes = sizeof(copy_), .to = std::as_writable_bytes(std::span(copy_)).data(), .tag = tag};
    EXPECT_EQ(connection->Read({&op, 1}), 1);
  }

  fabric::Status Finish(fabric::Connection* connection) {
    while (network_.flights() > 0) network_.Deliver(0);
    fabric::Completion completion{0, fabric::Status::kOutOfRange};
    EXPECT_EQ(connection->Poll({&completion, 1}), 1);
    return completion.status;
  }

  fabric::Status ReadAll(fabric::Connection* connection, uint64_t tag) {
    Post(connection, tag);
    return Finish(connection);
  }

  VirtualHost host_;
  Random random_;
  std::array<uint64_t, kWords> memory_{};
  std::array<uint64_t, kWords> copy_{};
  Network network_;
  fabric::Port* port_;
};

std::vector<std::byte> Bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST_P(SimNetwork, EachWordIsAsItWasAtSomeInstant) {
  const auto client = Connect();
  bool mixed = false;
  for (uint64_t round = 1; round <= 200; ++round) {
    for (uint64_t& word : memory_) verify::StoreWord(&word, round * 1000);
    Post(client.get(), round);
    uint64_t last = round * 1000;
    while (!network_.is_read(0)) {
      network_.Deliver(0);
      ++last;
      for (uint64_t& word : memory_) verify::StoreWord(&word, last);
    }
    EXPECT_EQ(Finish(client.get()), fabric::Status::kDone);
    for (const uint64_t word : copy_) {
      EXPECT_GE(word, round * 1000);
      EXPECT_LT(word, last);
      mixed = mixed || word != copy_[0];
    }
  }
  EXPECT_EQ(mixed, GetParam() != Cut::kWhole);
}

TEST_P(SimNetwork, NothingIsReadOfAServerThatStopped) {
  const auto client = Connect();
  Post(client.get(), 1);
  network_.Stop(0);
  memory_.fill(77);
  EXPECT_EQ(Finish(client.get()), fabric::Status::kPeerGone);
  EXPECT_NE(copy_[0], 77);
  EXPECT_FALSE(client->alive());
  EXPECT_FALSE(TryConnect(2).has_value());
}

TEST_P(SimNetwork, NothingIsReadThroughAClosedConnection) {
  const auto client = Connect();
  const auto opened = port_->Poll();
  ASSERT_TRUE(opened && opened->kind == fabric::PortEvent::Kind::kOpened);
  Post(client.get(), 1);
  port_->Close(opened->peer);
  EXPECT_EQ(Finish(client.get()), fabric::Status::kPeerGone);
  EXPECT_FALSE(port_->Poll().has_value());
}

TEST_P(SimNetwork, MessagesArriveOnceInOrderEachAfterTheReplyBefore) {
  const auto client = Connect(9);
  ASSERT_TRUE(client->Send(Bytes("one")) && client->Send(Bytes("two")));
  const auto opened = port_->Poll();
  ASSERT_TRUE(opened && opened->kind == fabric::PortEvent::Kind::kOpened);
  EXPECT_EQ(opened->client_id, 9);
  for (const std::string_view text : {"one", "two"}) {
    const auto event = port_->Poll();
    ASSERT_TRUE(event && event->kind == fabric::PortEvent::Kind::kMessage);
    EXPECT_EQ(std::memcmp(event->message.data(), text.data(), text.size()), 0);
    EXPECT_FALSE(port_->Poll().has_value());
    port_->Send(event->peer, event->message);
    const auto reply = client->Receive();
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(std::memcmp(reply->data(), text.data(), text.size()), 0);
  }
}

TEST_P(SimNetwork, BothSidesLearnOfABrokenConnection) {
  const auto client = Connect();
  EXPECT_TRUE(port_->Poll().has_value());
  network_.BreakAny();
  EXPECT_FALSE(client->alive());
  const auto event = port_->Poll();
  ASSERT_TRUE(event && event->kind == fabric::PortEvent::Kind::kClosed);
  EXPECT_EQ(ReadAll(client.get(), 3), fabric::Status::kPeerGone);
}

TEST_P(SimNetwork, OutOfRangeReadsNothing) {
  const auto client = Connect();
  memory_.fill(5);
  for (const uint64_t offset : {sizeof(memory_) + 8, sizeof(memory_) - 8, size_t{4}}) {
    const fabric::ReadOp op{
        .offset = offset, .bytes = 16, .to = std::as_writable_bytes(std::span(copy_)).data()};
    EXPECT_EQ(client->Read({&op, 1}), 1);
    EXPECT_EQ(Finish(client.get()), fabric::Status::kOutOfRange);
    EXPECT_EQ(copy_[0], 0);
  }
}

TEST_P(SimNetwork, TheNameLeadsToOneServerAndConnectionsStayWithTheirs) {
  std::array<uint64_t, kWords> other{};
  other.fill(2);
  memory_.fill(1);
  Listen(1, &other);
  const auto first = Connect();
  network_.Lead(1);
  const auto second = Connect();
  ReadAll(first.get(), 1);
  EXPECT_EQ(copy_[0], 1);
  ReadAll(second.get(), 2);
  EXPECT_EQ(copy_[0], 2);
  network_.BreakStrays();
  EXPECT_FALSE(first->alive());
  EXPECT_TRUE(second->alive());
  network_.Stop(1);
  EXPECT_FALSE(TryConnect(3).has_value());
}

TEST_P(SimNetwork, ClientsThatWriteBeyondTheirStagingMemoryAreFoundOut) {
  for (const size_t beyond : {0u, 1u}) {
    const auto client = Connect();
    const std::span<std::byte> staging = client->staging().value();
    std::memset(staging.data(), 0xff, staging.size() + beyond);
  }
  EXPECT_EQ(network_.overruns(), 1);
}

TEST(SimNetworkHold, AReadThatIsHeldUpTakesItsTime) {
  VirtualHost host(7);
  Random random(7);
  alignas(8) std::array<std::byte, 64> memory{};
  alignas(8) std::array<std::byte, 64> copy{};
  Network network(&host, &random, {.hold_one_in = 1, .hold_us_max = 1000});
  network.Listen(0, 0, {.region = memory, .format_version = kFormat});
  const auto client =
      fabric::Connection::Connect("sim:", {.format_version = kFormat, .deadline = {}});
  const fabric::ReadOp op{.bytes = sizeof(copy), .to = copy.data()};
  (*client)->Read({&op, 1});
  for (int i = 0; i < 1000; ++i) network.Deliver(0);
  EXPECT_EQ(network.flights(), 1);
  host.Pass(1000);
  while (network.flights() > 0) network.Deliver(0);
}

INSTANTIATE_TEST_SUITE_P(Cuts, SimNetwork,
                         testing::Values(Cut::kWhole, Cut::kHalves, Cut::kPieces, Cut::kWords));

}  // namespace

}  // namespace plov::sim
