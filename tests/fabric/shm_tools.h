// What the tests of the shared-memory fabric share: a folder for its sockets, the fabric as the
// conformance suite takes it, and a client made by hand, which need not keep to the protocol.
#pragma once

#include <string>
#include <string_view>

#include "fabric/shm/channel.h"
#include "tests/fabric/conformance.h"

namespace plov::fabric::shm {

// A fresh path in a temporary folder that goes with the process.
std::string FreshPath(std::string_view suffix = ".sock");

FabricUnderTest Shm();

// A server whose URI is a fresh path.
TestServer ServeShm(uint32_t shards = 1);
std::string PathOf(const TestServer& server);

// A socket connected to the server that has said nothing yet.
Fd Dial(const TestServer& server);

inline constexpr uint64_t kRawClientId = 0x68616e64;
Hello GoodHello();

struct RawClient {
  Fd socket;
  Welcome welcome;
  HandshakeFds fds;
  Channel channel;
};

// Shakes hands as a client does; ends the test where the server refuses.
RawClient ShakeHands(TestServer* server, const Hello& hello = GoodHello());

// What the server says to a Hello; an error when it hangs up instead.
std::expected<Welcome, Error> AnswerTo(TestServer* server, const Hello& hello);

}  // namespace plov::fabric::shm
