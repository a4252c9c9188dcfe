// The shared-memory fabric when processes are killed. The tests fork before they start any thread,
// and their children end by _exit or SIGKILL only.

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>

#include "fabric/shm/life.h"
#include "tests/fabric/shm_tools.h"
#include "verify/words.h"

namespace plov::fabric::shm {

namespace {

using Kind = PortEvent::Kind;

// A process that runs `main` and is killed at the latest when this goes.
class Child {
 public:
  explicit Child(const std::function<void()>& main) : pid_(::fork()) {
    if (pid_ != 0) return;
    try {
      main();
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(0);
  }
  ~Child() { Kill(); }

  // Returns when the process is no more.
  void Kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  void Signal(int number) const { ::kill(pid_, number); }

 private:
  pid_t pid_;
};

// Serves echoes until it is killed.
void ServeForEver(const std::string& uri, uint64_t word) {
  TestServer server(Shm(), uri);
  verify::StoreWord(server.words(), word);
  while (true) {
    server.Accept();
    while (const auto event = server.port().Poll()) {
      if (event->kind == Kind::kMessage) server.port().Send(event->peer, event->message);
    }
    ::usleep(100);
  }
}

// Connects as soon as the child serves.
std::unique_ptr<Connection> ConnectTo(const std::string& uri) {
  std::unique_ptr<Connection> client;
  const bool connected = Eventually([&] {
    auto connection = Connection::Connect(uri, OptionsFor(0, 1));
    if (connection) client = std::move(*connection);
    return client != nullptr;
  });
  if (!connected) throw std::runtime_error("the child does not serve");
  return client;
}

}  // namespace

TEST(ShmLife, KilledServerIsNoticedByEveryCall) {
  const std::string uri = "shm:" + FreshPath();
  Child server([&] { ServeForEver(uri, 5); });
  const auto client = ConnectTo(uri);
  EXPECT_EQ(ReadWord(client.get(), 0), 5u);
  ASSERT_TRUE(client->alive());
  std::array<std::byte, 8> to{};
  const ReadOp op{.bytes = 8, .to = to.data()};
  server.Kill();
  // At once: the word was written before the process was gone.
  EXPECT_FALSE(client->alive());
  EXPECT_EQ(ReadOne(client.get(), op), Status::kPeerGone);
  EXPECT_FALSE(client->Arm());
  EXPECT_TRUE(WaitReadable(client->fd()));
}

// Guarantee 3: the copy is made when the completion is polled, so what counts is life at that time.
TEST(ShmLife, ReadPostedBeforeTheKillFailsAfterIt) {
  const std::string uri = "shm:" + FreshPath();
  Child server([&] { ServeForEver(uri, 5); });
  const auto client = ConnectTo(uri);
  std::array<std::array<std::byte, 8>, 10> to{};
  std::vector<ReadOp> ops;
  for (auto& bytes : to) ops.push_back({.bytes = 8, .to = bytes.data()});
  ASSERT_EQ(client->Read(ops), ops.size());
  server.Kill();
  std::array<Completion, 10> completions;
  ASSERT_EQ(client->Poll(completions), ops.size());
  for (const Completion& completion : completions) {
    EXPECT_EQ(completion.status, Status::kPeerGone);
  }
}

TEST(ShmLife, KilledServerWakesASleepingClient) {
  const std::string uri = "shm:" + FreshPath();
  Child server([&] { ServeForEver(uri, 5); });
  const auto client = ConnectTo(uri);
  ASSERT_TRUE(client->Arm());
  server.Kill();
  EXPECT_TRUE(WaitReadable(client->fd()));
  EXPECT_FALSE(client->Receive().has_value());
  EXPECT_FALSE(client->alive());
}

TEST(ShmLife, NewServerTakesTheNameOfAKilledOne) {
  const std::string path = FreshPath();
  Child killed([&] { ServeForEver("shm:" + path, 5); });
  const auto old_client = ConnectTo("shm:" + path);
  killed.Kill();
  // What a killed server leaves behind is in nobody's way.
  ASSERT_TRUE(std::filesystem::exists(path) && std::filesystem::exists(path + ".lock"));
  EXPECT_EQ(CodeOf(Connection::Connect("shm:" + path, OptionsFor(0, 1))), Code::kUnavailable);
  TestServer server(Shm(), "shm:" + path);
  verify::StoreWord(server.words(), 6);
  const auto client = server.Connect();
  EXPECT_EQ(ReadWord(client.get(), 0), 6u);
  EXPECT_FALSE(old_client->alive());
  server.Stop();
  EXPECT_FALSE(std::filesystem::exists(path) || std::filesystem::exists(path + ".lock"));
}

// As when its folder was removed, and a server started again before the former one had ended.
TEST(ShmLife, ServerThatEndsLeavesAnotherOneItsName) {
  const std::string path = FreshPath();
  TestServer former(Shm(), "shm:" + path);
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".lock");
  TestServer server(Shm(), "shm:" + path);
  former.Stop();
  EXPECT_TRUE(std::filesystem::exists(path) && std::filesystem::exists(path + ".lock"));
  verify::StoreWord(server.words(), 6);
  const auto client = server.Connect();
  EXPECT_EQ(ReadWord(client.get(), 0), 6u);
}

TEST(ShmLife, RunningServerInAnotherProcessHoldsItsName) {
  const std::string uri = "shm:" + FreshPath();
  Child child([&] { ServeForEver(uri, 5); });
  const auto client = ConnectTo(uri);
  const ExposedMemory memory = Shm().make_memory(4096);
  EXPECT_EQ(CodeOf(Listener::Listen(uri, {.shards = {{memory.bytes, memory.fd}}})), Code::kInUse);
  EXPECT_EQ(ReadWord(client.get(), 0), 5u);
}

// No server code runs in a READ (fabric/fabric.h); a stopped process is not a dead one.
TEST(ShmLife, StoppedProcessIsStillReadAndNotDead) {
  const std::string uri = "shm:" + FreshPath();
  Child server([&] { ServeForEver(uri, 5); });
  const auto client = ConnectTo(uri);
  server.Signal(SIGSTOP);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(ReadWord(client.get(), 0), 5u);
  EXPECT_TRUE(client->alive());
  server.Signal(SIGCONT);
  ASSERT_TRUE(client->Send(Pattern(10, 1)));
  EXPECT_TRUE(ReceiveNext(client.get()).has_value());
}

TEST(ShmLife, StoppedProcessThatIsKilledIsDead) {
  const std::string uri = "shm:" + FreshPath();
  Child server([&] { ServeForEver(uri, 5); });
  const auto client = ConnectTo(uri);
  server.Signal(SIGSTOP);
  server.Kill();
  EXPECT_FALSE(client->alive());
}

TEST(ShmLife, ClientKilledWhileItSendsIsClosed) {
  for (size_t kill_after = 1; kill_after <= 200; kill_after += 37) {
    TestServer server = ServeShm();
    Child child([&] {
      const auto client = Must(Connection::Connect(server.uri(), OptionsFor(0, 9)));
      for (uint64_t number = 0;; ++number) {
        const auto message = Pattern(1 + number * 97 % 30'000, number);
        while (!client->Send(message)) client->Receive();
      }
    });
    ASSERT_TRUE(Eventually([&] {
      server.Accept();
      return IsReadable(server.port().fd());
    }));
    const PeerId peer = server.Expect(Kind::kOpened).peer;
    size_t handled = 0;
    const bool closed = Eventually([&] {
      const Event event = server.Next();
      if (event.kind == Kind::kClosed) return true;
      EXPECT_TRUE(Same(event.message, Pattern(1 + handled * 97 % 30'000, handled))) << handled;
      server.port().Send(peer, Pattern(8, 1));
      if (++handled == kill_after) child.Kill();
      return false;
    });
    EXPECT_TRUE(closed);
    EXPECT_GE(handled, kill_after);
    EXPECT_TRUE(server.Silent());
  }
}

TEST(ShmLife, ClientKilledWhileThePortSleepsIsClosed) {
  TestServer server = ServeShm();
  Child child([&] {
    const auto client = Must(Connection::Connect(server.uri(), OptionsFor(0, 9)));
    ::pause();
  });
  ASSERT_TRUE(Eventually([&] {
    server.Accept();
    return IsReadable(server.port().fd());
  }));
  server.Expect(Kind::kOpened);
  ASSERT_TRUE(server.FallAsleep());
  child.Kill();
  EXPECT_TRUE(WaitReadable(server.port().fd()));
  server.port().Disarm();
  server.Expect(Kind::kClosed);
}

// A client that fails during the handshake leaves nothing to serve.
TEST(ShmLife, ClientKilledInTheHandshakeIsForgotten) {
  TestServer server = ServeShm();
  for (int round = 0; round < 20; ++round) {
    Fd socket = Dial(server);
    if (round % 2 == 0) server.Accept();
    SendHello(socket.get(), GoodHello());
    socket = Fd();
    server.Accept();
    while (const auto event = server.port().Poll()) EXPECT_NE(event->kind, Kind::kMessage);
  }
  EXPECT_NE(server.Connect(), nullptr);
}

TEST(Life, WordTurnsOnCleanStop) {
  auto holder = std::make_unique<LifeHolder>(Must(LifeHolder::Create()));
  const LifeWatch watch = Must(LifeWatch::Watch(holder->fd()));
  EXPECT_TRUE(watch.alive());
  holder.reset();
  EXPECT_FALSE(watch.alive());
}

TEST(Life, WordTurnsWhenTheHoldersProcessIsKilled) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
  const Fd ours(sockets[0]);
  Fd theirs(sockets[1]);
  Child child([&] {
    const LifeHolder holder = Must(LifeHolder::Create());
    const std::array<int, kHandshakeFds> fds = {holder.fd(), holder.fd(), holder.fd()};
    SendWelcome(theirs.get(), {kHandshakeMagic, 0, 0, 0, 0}, fds);
    ::pause();
  });
  theirs = Fd();
  HandshakeFds fds;
  Must(ReceiveWelcome(ours.get(), &fds));
  const LifeWatch watch = Must(LifeWatch::Watch(fds[kLifeFd].get()));
  EXPECT_TRUE(watch.alive());
  child.Kill();
  EXPECT_FALSE(watch.alive());
}

TEST(Life, FileThatIsTooShortIsRefused) {
  const Fd empty = Must(CreateMemory("plov-test-empty", 0));
  EXPECT_EQ(CodeOf(LifeWatch::Watch(empty.get())), Code::kProtocol);
}

}  // namespace plov::fabric::shm
