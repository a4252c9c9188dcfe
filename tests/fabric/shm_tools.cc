#include "tests/fabric/shm_tools.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <filesystem>
#include <utility>

namespace plov::fabric::shm {

namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "plov-fabric-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct OwnedMemory {
  Fd fd;
  Mapping mapping;
};

ExposedMemory MakeMemory(size_t bytes) {
  auto owned = std::make_shared<OwnedMemory>();
  owned->fd = Must(CreateMemory("plov-test-region", bytes));
  owned->mapping = Must(Mapping::Map(owned->fd.get(), bytes, PROT_READ | PROT_WRITE));
  return {owned->mapping.bytes(), owned->fd.get(), owned};
}

// Neither side of a broken handshake waits for ever.
void SetWaitMax(int socket) {
  const timeval wait_max{.tv_sec = kWaitMax.count(), .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &wait_max, sizeof(wait_max));
}

}  // namespace

std::string FreshPath(std::string_view suffix) {
  static const TemporaryFolder folder;
  static std::atomic<uint64_t> number = 0;
  return folder.path() / (std::to_string(number.fetch_add(1)) + std::string(suffix));
}

FabricUnderTest Shm() {
  return {
      .name = "shm", .fresh_uri = [] { return "shm:" + FreshPath(); }, .make_memory = MakeMemory};
}

TestServer ServeShm(uint32_t shards) { return TestServer(Shm(), "shm:" + FreshPath(), shards); }

std::string PathOf(const TestServer& server) { return server.uri().substr(4); }

Fd Dial(const TestServer& server) {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  SetWaitMax(socket.get());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  PathOf(server).copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    throw std::runtime_error("cannot dial " + PathOf(server));
  }
  return socket;
}

Hello GoodHello() { return {kHandshakeMagic, kTestFormatVersion, 0, 0, kRawClientId}; }

RawClient ShakeHands(TestServer* server, const Hello& hello) {
  RawClient client;
  client.socket = Dial(*server);
  SendHello(client.socket.get(), hello);
  server->Accept();
  client.welcome = Must(ReceiveWelcome(client.socket.get(), &client.fds));
  if (client.welcome.status != 0) throw std::runtime_error("the server refuses");
  const bool has_rings = (hello.flags & kHelloReadsOnly) == 0;
  client.channel.mapping = Must(Mapping::Map(
      client.fds[kChannelFd].get(), has_rings ? Channel::kBytes : Channel::kBytesWithoutRings,
      PROT_READ | PROT_WRITE));
  return client;
}

std::expected<Welcome, Error> AnswerTo(TestServer* server, const Hello& hello) {
  const Fd socket = Dial(*server);
  SendHello(socket.get(), hello);
  server->Accept();
  HandshakeFds fds;
  return ReceiveWelcome(socket.get(), &fds);
}

}  // namespace plov::fabric::shm
