// Connections of the shared-memory fabric that say that they only READ, and do other things.

#include <sys/stat.h>

#include "tests/fabric/shm_tools.h"

namespace plov::fabric::shm {

namespace {

using Kind = PortEvent::Kind;

}  // namespace

// It has no rings: whatever it writes where their controls are is a broken ring, and the memory that
// it passes is not READ.
TEST(ShmHostileClient, OneThatSaidItOnlyReadsCanSendNothing) {
  TestServer server = ServeShm();
  const auto honest = server.Connect(0, 1);
  const PeerId honest_peer = server.Expect(Kind::kOpened).peer;
  Hello hello = GoodHello();
  hello.flags = kHelloReadsOnly;
  for (const uint64_t tail : {uint64_t{8}, uint64_t{kRingBytes}, UINT64_MAX, UINT64_MAX - 7}) {
    const RawClient client = ShakeHands(&server, hello);
    const PeerId peer = server.Expect(Kind::kOpened).peer;
    EXPECT_EQ(client.welcome.staging_bytes, 0u);
    struct stat channel;
    ASSERT_EQ(::fstat(client.fds[kChannelFd].get(), &channel), 0);
    EXPECT_EQ(channel.st_size, ssize_t{Channel::kBytesWithoutRings});
    const Fd staging = Must(CreateMemory("plov-test-staging", 4096));
    EXPECT_TRUE(PassFile(client.socket.get(), staging.get()));
    EXPECT_TRUE(server.Silent());
    client.channel.request_control()->head.store(tail);
    client.channel.reply_control()->tail.store(tail);
    EXPECT_TRUE(server.Silent());
    client.channel.request_control()->tail.store(tail);
    WakePeer(client.socket.get());
    const Event closed = server.Expect(Kind::kClosed);
    EXPECT_EQ(closed.peer, peer);
  }
  ASSERT_TRUE(honest->Send(Pattern(10, 1)));
  EXPECT_EQ(server.Expect(Kind::kMessage).peer, honest_peer);
}

TEST(ShmHostileClient, HelloWithAnUnknownFlagIsRefused) {
  TestServer server = ServeShm();
  for (const int flag : {kHelloFlags + 1, 0x8000}) {
    Hello hello = GoodHello();
    hello.flags = static_cast<uint16_t>(flag);
    EXPECT_EQ(Must(AnswerTo(&server, hello)).status, static_cast<uint32_t>(Code::kProtocol));
  }
  EXPECT_TRUE(server.Silent());
}

}  // namespace plov::fabric::shm
