// Conformance: messages, and READs of the client's staging memory (guarantees 4 and 6).

#include <array>
#include <cstring>
#include <random>

#include "tests/fabric/conformance.h"
#include "verify/seal.h"
#include "verify/words.h"

namespace plov::fabric {

namespace {

using Kind = PortEvent::Kind;

// Sends until there is no room; returns how many.
size_t SendUntilFull(Connection* client, std::span<const std::byte> message) {
  size_t count = 0;
  while (count < 1'000'000 && client->Send(message)) ++count;
  return count;
}

}  // namespace

TEST_P(FabricConformance, MessageOfEverySizeArrivesWholeBothWays) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  const size_t bytes_max = client->limits().message_bytes_max;
  const auto pattern = Pattern(bytes_max + 512, 1);
  // Where that would take minutes: all small sizes, then every 61st.
  const size_t stride = GetParam().news_travel ? 61 : 1;
  for (size_t bytes = 1; bytes <= bytes_max; bytes += bytes < 600 ? 1 : stride) {
    const auto request = std::span(pattern).subspan(bytes % 251, bytes);
    ASSERT_TRUE(client->Send(request)) << bytes;
    const Event event = server.Expect(Kind::kMessage);
    ASSERT_EQ(event.peer, peer);
    ASSERT_TRUE(Same(event.message, request)) << bytes;
    const auto reply = std::span(pattern).subspan(bytes % 257, bytes_max + 1 - bytes);
    server.port().Send(peer, reply);
    const auto received = ReceiveNext(client.get());
    ASSERT_TRUE(received.has_value() && Same(*received, reply)) << bytes;
  }
  EXPECT_FALSE(client->Receive().has_value());
  EXPECT_TRUE(server.Silent());
}

// Sends, handles and receives at random, so that both directions are at times full and at times
// empty.
TEST_P(FabricConformance, PipelinedMessagesKeepTheirOrderAcrossManyWraps) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  const size_t bytes_max = client->limits().message_bytes_max;
  std::mt19937_64 random(42);
  uint64_t sent = 0;
  uint64_t handled = 0;
  uint64_t received = 0;
  const auto size_of = [&](uint64_t number) { return 8 + verify::Mix(number) % (bytes_max - 7); };
  const auto make = [&](uint64_t number) {
    std::vector<std::byte> message(size_of(number), static_cast<std::byte>(number));
    std::memcpy(message.data(), &number, sizeof(number));
    return message;
  };
  for (int step = 0; step < 20'000; ++step) {
    switch (random() % 3) {
      case 0:
        if (client->Send(make(sent))) ++sent;
        break;
      case 1:
        if (const auto event = server.port().Poll()) {
          ASSERT_EQ(event->kind, Kind::kMessage);
          ASSERT_TRUE(Same(event->message, make(handled))) << handled;
          server.port().Send(peer, make(handled++ + 1'000'000'000));
        }
        break;
      default:
        if (const auto reply = client->Receive()) {
          ASSERT_TRUE(Same(*reply, make(received++ + 1'000'000'000))) << received;
        }
    }
  }
  EXPECT_GT(received, 1000u);
  EXPECT_LE(received, handled);
  EXPECT_LE(handled, sent);
}

TEST_P(FabricConformance, SendIsRefusedWhenFullAndWorksAgainAfterReplies) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  const auto request = Pattern(client->limits().message_bytes_max, 2);
  for (int round = 0; round < 20; ++round) {
    const size_t count = SendUntilFull(client.get(), request);
    ASSERT_GE(count, 1u);
    EXPECT_FALSE(client->Send(request));
    EXPECT_TRUE(client->alive());
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(Same(server.Expect(Kind::kMessage).message, request));
      server.port().Send(peer, std::span(request).first(i + 1));
    }
    EXPECT_TRUE(server.Silent()) << "what was refused arrived";
    for (size_t i = 0; i < count; ++i) {
      const auto reply = ReceiveNext(client.get());
      ASSERT_TRUE(reply.has_value() && reply->size() == i + 1);
    }
  }
}

// Small requests that all get the largest reply, from a client that does not look for them.
TEST_P(FabricConformance, ReplyAlwaysHasRoom) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  const auto reply = Pattern(client->limits().message_bytes_max, 3);
  const size_t count = SendUntilFull(client.get(), Pattern(1, 0));
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(server.Next().kind, Kind::kMessage) << "after " << i << " of " << count;
    server.port().Send(peer, reply);
  }
  EXPECT_TRUE(server.Silent());
  for (size_t i = 0; i < count; ++i) {
    const auto received = ReceiveNext(client.get());
    ASSERT_TRUE(received.has_value() && Same(*received, reply)) << i;
  }
  EXPECT_TRUE(client->Send(reply));
}

TEST_P(FabricConformance, NextMessageComesOnlyAfterTheReplyToTheLast) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  ASSERT_TRUE(client->Send(Pattern(10, 1)));
  ASSERT_TRUE(client->Send(Pattern(20, 2)));
  EXPECT_EQ(server.Expect(Kind::kMessage).message.size(), 10u);
  EXPECT_TRUE(server.Silent());
  server.port().Send(peer, Pattern(1, 3));
  EXPECT_EQ(server.Expect(Kind::kMessage).message.size(), 20u);
  EXPECT_TRUE(server.Silent());
}

TEST_P(FabricConformance, ClientWithoutItsReplyDoesNotHoldUpOthers) {
  TestServer server = Serve();
  const auto slow = server.Connect(0, 1);
  const PeerId slow_peer = server.Expect(Kind::kOpened).peer;
  const auto quick = server.Connect(0, 2);
  const PeerId quick_peer = server.Expect(Kind::kOpened).peer;
  ASSERT_TRUE(slow->Send(Pattern(10, 1)));
  EXPECT_EQ(server.Expect(Kind::kMessage).peer, slow_peer);
  ASSERT_TRUE(slow->Send(Pattern(11, 1)));
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(quick->Send(Pattern(10, i)));
    ASSERT_EQ(server.Expect(Kind::kMessage).peer, quick_peer);
    server.port().Send(quick_peer, Pattern(5, i));
    const auto reply = ReceiveNext(quick.get());
    ASSERT_TRUE(reply.has_value() && Same(*reply, Pattern(5, i)));
  }
  server.port().Send(slow_peer, Pattern(1, 1));
  EXPECT_EQ(server.Expect(Kind::kMessage).message.size(), 11u);
}

TEST_P(FabricConformance, BusyClientDoesNotStarveAnother) {
  TestServer server = Serve();
  const auto busy = server.Connect(0, 1);
  const PeerId busy_peer = server.Expect(Kind::kOpened).peer;
  const auto calm = server.Connect(0, 2);
  server.Expect(Kind::kOpened);
  const auto request = Pattern(16, 1);
  ASSERT_TRUE(calm->Send(request));
  const bool served = Eventually([&] {
    busy->Send(request);
    busy->Receive();
    const Event event = server.Expect(Kind::kMessage);
    server.port().Send(event.peer, request);
    return event.peer != busy_peer;
  });
  EXPECT_TRUE(served);
}

TEST_P(FabricConformance, ServerReadsStagingMemory) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  const auto value = Pattern(TestServer::kStagingBytes, 4);
  std::memcpy(client->staging()->data(), value.data(), value.size());
  const auto before = Pattern(TestServer::kRegionBytes, 5);
  for (const size_t shared_offset : {0u, 1u, 7u, 40u}) {
    for (const size_t bytes : {0u, 1u, 8u, 13u, 4096u, 30'001u}) {
      server.Fill(before);
      const PeerRead read{.offset = 16,
                          .bytes = bytes,
                          .shared = server.words() + 8,
                          .masks = kNoMasks.data(),
                          .shared_offset = shared_offset,
                          .tag = bytes * 100 + shared_offset};
      server.port().Read(peer, read);
      const Event done = server.Expect(Kind::kReadDone);
      EXPECT_TRUE(done.ok);
      EXPECT_EQ(done.peer, peer);
      EXPECT_EQ(done.tag, read.tag);
      auto expected = before;
      const size_t end = 64 + shared_offset + bytes;
      std::memcpy(expected.data() + end - bytes, value.data() + 16, bytes);
      // What follows in the last word is masked zeros.
      if (bytes > 0) std::fill_n(expected.data() + end, (8 - end % 8) % 8, std::byte{0});
      ASSERT_TRUE(Same(server.region(), expected)) << bytes << " at " << shared_offset;
    }
  }
}

TEST_P(FabricConformance, ReadOutsideStagingMemoryTouchesNothing) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  ASSERT_TRUE(client->staging());
  const auto before = Pattern(TestServer::kRegionBytes, 6);
  server.Fill(before);
  constexpr uint64_t kEnd = TestServer::kStagingBytes;
  const std::pair<uint64_t, uint64_t> ranges[] = {{kEnd, 1},
                                                  {kEnd - 8, 9},
                                                  {kEnd + 8, 8},
                                                  {0, kEnd + 1},
                                                  {8, kEnd},
                                                  {8, UINT64_MAX - 7},
                                                  {UINT64_MAX - 7, 8},
                                                  {UINT64_MAX - 7, 16},
                                                  {uint64_t{1} << 63, 8}};
  for (const auto& [offset, bytes] : ranges) {
    server.port().Read(peer, {.offset = offset,
                              .bytes = bytes,
                              .shared = server.words(),
                              .masks = kNoMasks.data(),
                              .tag = offset});
    const Event done = server.Expect(Kind::kReadDone);
    EXPECT_FALSE(done.ok) << offset << " " << bytes;
    EXPECT_EQ(done.tag, offset);
  }
  EXPECT_TRUE(Same(server.region(), before));
  server.port().Read(
      peer, {.offset = kEnd - 8, .bytes = 8, .shared = server.words(), .masks = kNoMasks.data()});
  EXPECT_TRUE(server.Expect(Kind::kReadDone).ok);
}

TEST_P(FabricConformance, EveryReadOfStagingMemoryCompletesOnce) {
  TestServer server = Serve();
  std::vector<std::unique_ptr<Connection>> clients;
  for (uint64_t id = 1; id <= 3; ++id) {
    clients.push_back(server.Connect(0, id));
    (*clients.back()->staging())[0] = static_cast<std::byte>(id);
  }
  std::array<std::pair<PeerId, std::byte>, 3> peers;
  for (auto& [peer, byte] : peers) {
    const Event opened = server.Expect(Kind::kOpened);
    peer = opened.peer;
    byte = static_cast<std::byte>(opened.client_id);
  }
  std::array<bool, 30> done{};
  for (size_t tag = 0; tag < done.size(); ++tag) {
    server.port().Read(
        peers[tag % 3].first,
        {.bytes = 1, .shared = server.words() + tag, .masks = kNoMasks.data(), .tag = tag});
  }
  for (size_t i = 0; i < done.size(); ++i) {
    const Event event = server.Expect(Kind::kReadDone);
    EXPECT_TRUE(event.ok);
    EXPECT_EQ(event.peer, peers[event.tag % 3].first);
    EXPECT_FALSE(std::exchange(done.at(event.tag), true));
    EXPECT_EQ(server.region()[8 * event.tag], peers[event.tag % 3].second);
  }
  EXPECT_TRUE(server.Silent());
}

// The way of a large value: request, READ of the staging memory, reply.
TEST_P(FabricConformance, StagingMemoryIsSeenAsItWasWhenTheRequestWasSent) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  for (uint64_t round = 0; round < 200; ++round) {
    const auto value = Pattern(1000 + round, round);
    std::memcpy(client->staging()->data(), value.data(), value.size());
    ASSERT_TRUE(client->Send(Pattern(8, round)));
    server.Expect(Kind::kMessage);
    server.port().Read(peer,
                       {.bytes = value.size(), .shared = server.words(), .masks = kNoMasks.data()});
    ASSERT_TRUE(server.Expect(Kind::kReadDone).ok);
    ASSERT_TRUE(Same(server.region().first(value.size()), value)) << round;
    server.port().Send(peer, Pattern(8, round));
    ASSERT_TRUE(ReceiveNext(client.get()).has_value());
  }
}

}  // namespace plov::fabric
