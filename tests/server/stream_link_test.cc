// The stream between two servers: what a link sends arrives at the port, whole, in order and in that life alone.
#include "server/stream_link.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "server/stream_port.h"
#include "tests/server/stream_listener.h"
#include "tests/support/folder.h"

namespace plov::server {
namespace {

using cluster::Ack;
using cluster::Append;
using cluster::StreamId;
using cluster::StreamMessage;

constexpr StreamId kStream{0xc1, 5};
constexpr uint32_t kStreamShard = StreamShardOf(kStream.shard);
constexpr size_t kMessageBytesMax = size_t{24} << 20;
constexpr size_t kWaitingBytesMax = size_t{1} << 20;
constexpr std::chrono::seconds kAwaitMax{30};

Append AppendOf(size_t data_bytes) {
  Append append{.epoch = 1, .from = "a1", .to = 2, .before = {}, .entries = {}, .held = {}};
  append.entries.push_back(cluster::MakeEntry({}, 1, std::string(data_bytes, 'x')));
  return append;
}

// The server that is sent to.
class Receiver {
 public:
  explicit Receiver(const std::string& uri) : listener_(uri) { Begin(); }

  // A life: what is sent to the one before does not reach it.
  void Begin() {
    received.clear();
    port_.emplace(kStream, kMessageBytesMax,
                  [this](const StreamMessage& message) { received.push_back(message); });
    port_->AddPort(listener_.Expose(kStream.shard));
  }
  void End() { listener_->Withdraw(kStreamShard); }

  void Step() {
    listener_->HandleEvents();
    while (port_->Step()) continue;
  }
  uint64_t garbage() const { return port_->garbage(); }
  bool HasMoved() { return port_->HasMoved(); }

  std::vector<StreamMessage> received;

 private:
  StreamListener listener_;
  std::optional<StreamPort> port_;
};

class StreamLinkTest : public ::testing::Test {
 protected:
  // Until it is so; both sides go on meanwhile.
  template <typename Condition>
  bool Await(const Condition& condition) {
    const auto deadline = fabric::Clock::now() + kAwaitMax;
    while (!condition()) {
      if (fabric::Clock::now() > deadline) return false;
      link_.Step();
      if (receiver_) receiver_->Step();
    }
    return true;
  }
  bool AwaitMessages(size_t count) {
    return Await([&] { return receiver_->received.size() >= count; });
  }
  bool AwaitUp() {
    return Await([&] {
      link_.Connect();
      return link_.is_up();
    });
  }
  void Send(const StreamMessage& message) { link_.Send(Encode(kStream, message)); }

  test::TemporaryFolder folder_;
  std::string uri_ = "shm:" + folder_.path() + "/b1";
  Dialer dialer_{"b1", {uri_}, [] {}};
  StreamLink link_{&dialer_, kStreamShard, -1, kWaitingBytesMax};
  std::optional<Receiver> receiver_;
};

TEST_F(StreamLinkTest, MessagesOfEverySizeArriveInOrder) {
  receiver_.emplace(uri_);
  ASSERT_TRUE(AwaitUp());
  const std::vector<size_t> sizes = {
      0, 1, 7, 32'000, 32'768 - 152, 32'768, 40'000, size_t{20} << 20, 3};
  for (const size_t bytes : sizes) {
    Send(AppendOf(bytes));
    ASSERT_TRUE(AwaitMessages(1)) << bytes;
    const auto& append = std::get<Append>(receiver_->received[0]);
    ASSERT_EQ(append.entries.size(), 1u);
    EXPECT_EQ(*append.entries[0].data, std::string(bytes, 'x'));
    receiver_->received.clear();
  }
  for (uint64_t i = 1; i <= 1000; ++i) Send(Ack{.epoch = 1, .from = 9, .end = i});
  ASSERT_TRUE(AwaitMessages(1000));
  for (uint64_t i = 1; i <= 1000; ++i) {
    ASSERT_EQ(std::get<Ack>(receiver_->received[i - 1]).end, i);
  }
  EXPECT_EQ(link_.waiting_bytes(), 0u);
}

// Replies to short ones tell nothing of who they are for.
TEST_F(StreamLinkTest, OnlyLongMessagesMove) {
  receiver_.emplace(uri_);
  ASSERT_TRUE(AwaitUp());
  for (size_t i = 1; i <= 100; ++i) {
    Send(AppendOf(20'000));
    Send(AppendOf(20'000));
    ASSERT_TRUE(AwaitMessages(2 * i));
  }
  EXPECT_FALSE(link_.HasMoved());
  EXPECT_FALSE(receiver_->HasMoved());
  Send(AppendOf(size_t{4} << 20));
  EXPECT_TRUE(Await([&] { return link_.HasMoved() && receiver_->HasMoved(); }));
  ASSERT_TRUE(AwaitMessages(201));
}

TEST_F(StreamLinkTest, ServerThatComesLaterIsFound) {
  Send(Ack{.epoch = 1, .from = 9, .end = 1});
  EXPECT_FALSE(link_.is_up());
  receiver_.emplace(uri_);
  ASSERT_TRUE(AwaitUp());
  Send(Ack{.epoch = 1, .from = 9, .end = 2});
  ASSERT_TRUE(AwaitMessages(1));
  EXPECT_EQ(std::get<Ack>(receiver_->received[0]).end, 2u) << "what was sent before is lost";
}

TEST_F(StreamLinkTest, ServerIsFoundWhereItHasGone) {
  const std::string elsewhere = "shm:" + folder_.path() + "/b2";
  receiver_.emplace(elsewhere);
  Send(Ack{.epoch = 1, .from = 9, .end = 1});
  dialer_.SetUris({elsewhere});
  EXPECT_TRUE(AwaitUp());
}

TEST_F(StreamLinkTest, WhatWaitsForALifeReachesNoOther) {
  receiver_.emplace(uri_);
  ASSERT_TRUE(AwaitUp());
  for (uint64_t i = 1; i <= 5000; ++i) Send(Ack{.epoch = 1, .from = 9, .end = i});
  EXPECT_GT(link_.waiting_bytes(), 0u);
  receiver_->End();
  receiver_->Begin();
  ASSERT_TRUE(Await([&] { return !link_.is_up(); }));
  ASSERT_TRUE(AwaitUp());
  Send(Ack{.epoch = 2, .from = 9, .end = 1});
  ASSERT_TRUE(AwaitMessages(1));
  EXPECT_EQ(std::get<Ack>(receiver_->received[0]).epoch, 2u);
}

TEST_F(StreamLinkTest, ServerThatIsGoneIsLostOnce) {
  for (int life = 1; life <= 2; ++life) {
    EXPECT_FALSE(link_.TakeLoss()) << "it is not there yet";
    receiver_.emplace(uri_);
    ASSERT_TRUE(AwaitUp());
    receiver_->End();
    receiver_->Begin();
    ASSERT_TRUE(Await([&] { return !link_.is_up(); }));
    ASSERT_TRUE(AwaitUp());
    EXPECT_FALSE(link_.TakeLoss()) << "another life came";
    receiver_.reset();
    EXPECT_TRUE(Await([&] { return link_.TakeLoss(); }));
    EXPECT_FALSE(link_.TakeLoss());
  }
}

// As one that is stopped does.
TEST_F(StreamLinkTest, ReceiverThatTakesNothingCostsBoundedMemory) {
  receiver_.emplace(uri_);
  ASSERT_TRUE(AwaitUp());
  for (int i = 0; i < 100; ++i) {
    Send(AppendOf(100'000));
    link_.Step();
    ASSERT_LE(link_.waiting_bytes(), kWaitingBytesMax);
  }
  EXPECT_GT(link_.waiting_bytes(), kWaitingBytesMax / 2);
  ASSERT_TRUE(Await([&] { return link_.waiting_bytes() == 0; })) << "and goes on when it does";
  Send(AppendOf(1));
  const size_t before = receiver_->received.size();
  EXPECT_TRUE(AwaitMessages(before + 1));
}

TEST_F(StreamLinkTest, WhatIsNoMessageOfTheStreamEndsItsConnection) {
  receiver_.emplace(uri_);
  const auto other = cluster::Encode({kStream.cluster_id, 6}, Ack{.epoch = 1, .from = 9});
  const auto too_long = std::vector<std::byte>(kMessageBytesMax + 1);
  uint64_t garbage = 0;
  for (const std::vector<std::byte>& message : {other, too_long, std::vector<std::byte>(8)}) {
    ASSERT_TRUE(AwaitUp());
    link_.Send(message);
    ASSERT_TRUE(Await([&] { return !link_.is_up(); }));
    EXPECT_EQ(receiver_->garbage(), ++garbage);
  }
  EXPECT_TRUE(receiver_->received.empty());
  ASSERT_TRUE(AwaitUp());
  Send(Ack{.epoch = 1, .from = 9});
  EXPECT_TRUE(AwaitMessages(1));
}

// A client's message, not even a part.
TEST_F(StreamLinkTest, ClientThatSendsAMessageIsDisconnected) {
  receiver_.emplace(uri_);
  ASSERT_TRUE(AwaitUp());
  dialer_.Ask(kStreamShard);
  std::unique_ptr<fabric::Connection> client;
  ASSERT_TRUE(Await([&] { return (client = dialer_.Take(kStreamShard)) != nullptr; }));
  ASSERT_TRUE(client->Send(std::vector<std::byte>(100)));
  ASSERT_TRUE(Await([&] { return !client->alive(); }));
  Send(Ack{.epoch = 1, .from = 9});
  EXPECT_TRUE(AwaitMessages(1)) << "the others go on";
}

}  // namespace
}  // namespace plov::server
