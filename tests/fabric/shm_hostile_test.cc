// The shared-memory fabric against peers that do not keep to the protocol: verdicts, never a crash,
// and never at the cost of the others.

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <random>
#include <thread>
#include <vector>

#include "fabric/shm/life.h"
#include "fabric/shm/shm.h"
#include "tests/fabric/shm_tools.h"
#include "verify/words.h"

namespace plov::fabric::shm {

namespace {

using Kind = PortEvent::Kind;

// What a hostile client writes over its channel.
struct Garbage {
  const char* name;
  std::function<void(const Channel&)> write;
};

uint64_t* FirstWord(std::span<std::byte> data) { return verify::WordsAt(data.data(), 0); }

// Pretends to have written a message of `length` bytes, the ring filled up to `tail`.
Garbage Request(const char* name, uint64_t length, uint64_t tail) {
  return {name, [=](const Channel& channel) {
            verify::StoreWord(FirstWord(channel.request_data()), length);
            channel.request_control()->tail.store(tail, std::memory_order_release);
          }};
}

// A server made by hand, which answers the one client that comes as it likes.
class RawServer {
 public:
  RawServer() : uri_("shm:" + FreshPath()), socket_(::socket(AF_UNIX, SOCK_SEQPACKET, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    uri_.copy(address.sun_path, sizeof(address.sun_path) - 1, 4);
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(socket_.get(), 1) != 0) {
      throw std::runtime_error("cannot listen");
    }
    memory_[kRegionFd] = Must(CreateMemory("plov-test-region", 4096));
    memory_[kLifeFd] = Must(CreateMemory("plov-test-life", 4096));
    memory_[kChannelFd] = Must(CreateMemory("plov-test-channel", Channel::kBytes));
    channel_.mapping =
        Must(Mapping::Map(memory_[kChannelFd].get(), Channel::kBytes, PROT_READ | PROT_WRITE));
  }

  static Welcome GoodWelcome() { return {kHandshakeMagic, 0, kTestFormatVersion, 4096, 4096}; }
  std::vector<int> GoodFds() const {
    std::vector<int> fds;
    for (const Fd& fd : memory_) fds.push_back(fd.get());
    fds[kLifeFd] = life_.fd();
    return fds;
  }
  // Says that another user serves here, as far as this process may: false where it may not.
  bool ListenAs(uid_t uid) const {
    if (::syscall(SYS_setresuid, -1, uid, -1) != 0)
      return false;  // this thread's, unlike setresuid
    const bool listens = ::listen(socket_.get(), 1) == 0;
    return ::syscall(SYS_setresuid, -1, 0, -1) == 0 && listens;
  }
  int empty_file() const { return empty_.get(); }
  const Channel& channel() const { return channel_; }

  // What a client makes of these bytes; the connection to it stays open.
  std::expected<std::unique_ptr<Connection>, Error> Answer(
      const std::function<void(int socket)>& answer) {
    std::expected<std::unique_ptr<Connection>, Error> connection;
    std::thread client([&] { connection = Connect(uri_, OptionsFor(0, 1)); });
    if (WaitReadable(socket_.get())) {
      peer_ = Fd(::accept(socket_.get(), nullptr, nullptr));
      Hello hello;
      if (WaitReadable(peer_.get()) && ReceiveHello(peer_.get(), &hello)) answer(peer_.get());
    }
    client.join();
    return connection;
  }
  std::expected<std::unique_ptr<Connection>, Error> Answer(const Welcome& welcome,
                                                           std::span<const int> fds) {
    return Answer([&](int socket) { SendWelcome(socket, welcome, fds); });
  }

 private:
  std::string uri_;
  Fd socket_;
  Fd peer_;
  HandshakeFds memory_;
  Fd empty_ = Must(CreateMemory("plov-test-empty", 0));
  LifeHolder life_ = Must(LifeHolder::Create());
  Channel channel_;
};

}  // namespace

TEST(ShmHostileClient, GarbageInTheRequestRingEndsItsConnectionOnly) {
  const Garbage garbage[] = {
      Request("tail inside a word", 8, 7),
      Request("tail beyond the ring", 8, kRingBytes + 8),
      Request("tail behind the head", 8, UINT64_MAX - 7),
      Request("tail far away", 8, uint64_t{1} << 63),
      Request("message longer than any", kMessageBytesMax + 1, kRingBytes),
      Request("message longer than the ring", kRingBytes, kRingBytes),
      Request("message longer than what is there", 9, 16),
      Request("length of all ones", UINT64_MAX, kRingBytes),
      Request("length that overflows when rounded", UINT64_MAX - 6, 8),
      Request("length with high bits", (uint64_t{1} << 32) + 8, 16),
  };
  TestServer server = ServeShm();
  const auto honest = server.Connect(0, 1);
  const Event opened = server.Expect(Kind::kOpened);
  EXPECT_EQ(opened.user, ::getuid());
  const PeerId honest_peer = opened.peer;
  for (const Garbage& one : garbage) {
    SCOPED_TRACE(one.name);
    const RawClient client = ShakeHands(&server);
    const PeerId peer = server.Expect(Kind::kOpened).peer;
    one.write(client.channel);
    EXPECT_EQ(server.Expect(Kind::kClosed).peer, peer);
    ASSERT_TRUE(honest->Send(Pattern(100, 1)));
    ASSERT_TRUE(Same(server.Expect(Kind::kMessage).message, Pattern(100, 1)));
    server.port().Send(honest_peer, Pattern(100, 2));
    EXPECT_TRUE(ReceiveNext(honest.get()).has_value());
  }
}

TEST(ShmHostileClient, GarbageInTheReplyRingsHeadEndsItsConnection) {
  for (const uint64_t head : {uint64_t{8}, uint64_t{1} << 63, UINT64_MAX - kRingBytes}) {
    TestServer server = ServeShm();
    const RawClient client = ShakeHands(&server);
    const PeerId peer = server.Expect(Kind::kOpened).peer;
    Request("one byte", 1, 16).write(client.channel);
    server.Expect(Kind::kMessage);
    client.channel.reply_control()->head.store(head, std::memory_order_release);
    server.port().Send(peer, Pattern(10, 1));
    EXPECT_EQ(server.Expect(Kind::kClosed).peer, peer) << head;
  }
}

TEST(ShmHostileClient, ClientThatNeverReadsItsRepliesIsClosed) {
  TestServer server = ServeShm();
  const RawClient client = ShakeHands(&server);
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  RingWriter requests(client.channel.request_control(), client.channel.request_data());
  const auto reply = Pattern(kMessageBytesMax, 1);
  const bool closed = Eventually([&] {
    requests.Write(Pattern(1, 1));
    const Event event = server.Next();
    if (event.kind == Kind::kClosed) return true;
    server.port().Send(peer, reply);
    return false;
  });
  EXPECT_TRUE(closed);
  EXPECT_TRUE(server.Silent());
}

// Every control and every byte of the rings changes at random while the server works on them.
TEST(ShmHostileClient, ChannelThatChangesUnderTheServerIsOnlyEverAVerdict) {
  TestServer server = ServeShm();
  const auto before = Pattern(TestServer::kRegionBytes, 9);
  server.Fill(before);
  for (uint64_t round = 0; round < 30; ++round) {
    const RawClient client = ShakeHands(&server);
    const PeerId peer = server.Expect(Kind::kOpened).peer;
    std::atomic<bool> stop = false;
    std::thread vandal([&] {
      std::mt19937_64 random(round);
      const auto garbage = [&] { return random() >> (random() % 64) & ~uint64_t{random() % 8}; };
      while (!stop.load(std::memory_order_relaxed)) {
        const auto data = client.channel.request_data();
        verify::StoreWord(verify::WordsAt(data.data(), random() % kRingBytes & ~7ull), garbage());
        client.channel.request_control()->tail.store(random() % 64 * 8, std::memory_order_relaxed);
        client.channel.request_control()->head.store(garbage(), std::memory_order_relaxed);
        client.channel.reply_control()->sleeps.store(1, std::memory_order_relaxed);
      }
    });
    bool closed = false;
    for (int polls = 0; polls < 3000 && !closed; ++polls) {
      const auto event = server.port().Poll();
      if (!event) continue;
      closed = event->kind == Kind::kClosed;
      if (event->kind != Kind::kMessage) continue;
      EXPECT_LE(event->message.size(), kMessageBytesMax);
      server.port().Send(peer, Pattern(8, 1));
    }
    stop.store(true, std::memory_order_relaxed);
    vandal.join();
    server.port().Close(peer);
    EXPECT_TRUE(server.Silent());
  }
  EXPECT_TRUE(Same(server.region(), before));
}

TEST(ShmHostileClient, MessageThatIsTakenBackIsNoMessage) {
  TestServer server = ServeShm();
  const RawClient client = ShakeHands(&server);
  server.Expect(Kind::kOpened);
  std::atomic<bool> stop = false;
  // The tail of an empty ring flickers: a port that looks twice sees something, then nothing.
  std::thread vandal([&] {
    verify::StoreWord(FirstWord(client.channel.request_data()), kMessageBytesMax + 1);
    while (!stop.load(std::memory_order_relaxed)) {
      client.channel.request_control()->tail.store(8, std::memory_order_relaxed);
      client.channel.request_control()->tail.store(0, std::memory_order_relaxed);
    }
  });
  EXPECT_TRUE(Eventually([&] { return server.Next().kind == Kind::kClosed; }));
  stop.store(true, std::memory_order_relaxed);
  vandal.join();
}

TEST(ShmHostileClient, GarbageInsteadOfHelloIsHungUpOn) {
  TestServer server = ServeShm();
  Hello wrong_magic = GoodHello();
  wrong_magic.magic ^= 1;
  EXPECT_EQ(CodeOf(AnswerTo(&server, wrong_magic)), Code::kUnavailable);
  const auto bytes = Pattern(60'000, 1);
  for (const size_t length : {0u, 1u, 23u, 24u, 25u, 48u, 60'000u}) {
    const Fd socket = Dial(server);
    ::send(socket.get(), bytes.data(), length, MSG_NOSIGNAL);
    server.Accept();
    HandshakeFds fds;
    EXPECT_EQ(CodeOf(ReceiveWelcome(socket.get(), &fds)), Code::kUnavailable) << length;
  }
  // A Hello of another length is none, whatever it begins with.
  std::array<Hello, 2> two = {GoodHello(), GoodHello()};
  const Fd socket = Dial(server);
  ::send(socket.get(), two.data(), sizeof(two), MSG_NOSIGNAL);
  server.Accept();
  HandshakeFds fds;
  EXPECT_EQ(CodeOf(ReceiveWelcome(socket.get(), &fds)), Code::kUnavailable);
  EXPECT_TRUE(server.Silent());
  EXPECT_NE(server.Connect(), nullptr);
}

TEST(ShmHostileClient, SilentConnectionsDoNotKeepOthersOut) {
  TestServer server = ServeShm();
  std::vector<Fd> silent;
  for (int i = 0; i < 300; ++i) {
    silent.push_back(Dial(server));
    server.Accept();
  }
  const auto client = server.Connect();
  EXPECT_TRUE(client->alive());
  // The oldest were dropped to bound what they cost; the newest may still speak.
  char byte;
  EXPECT_EQ(::recv(silent.front().get(), &byte, 1, MSG_DONTWAIT), 0);
  SendHello(silent.back().get(), GoodHello());
  server.Accept();
  HandshakeFds fds;
  EXPECT_TRUE(ReceiveWelcome(silent.back().get(), &fds).has_value());
}

// The oldest says Hello just as newer ones come: it is served, and none of the newer ones is taken
// for it.
TEST(ShmHostileClient, HelloThatCameInTimeIsNotDroppedForNewcomers) {
  TestServer server = ServeShm();
  std::vector<Fd> silent;
  for (int i = 0; i < 64; ++i) {
    silent.push_back(Dial(server));
    server.Accept();
  }
  Fd first = Dial(server);
  Fd second = Dial(server);
  SendHello(silent.front().get(), GoodHello());
  server.Accept();
  for (Fd* socket : {&silent.front(), &first, &second}) {
    SendHello(socket->get(), GoodHello());
    server.Accept();
    HandshakeFds fds;
    EXPECT_TRUE(ReceiveWelcome(socket->get(), &fds).has_value());
  }
}

// More than may be silent at a time, all at the door before the server looks: a client that has
// said Hello is never dropped for a newer one, and one that is slower is not dropped for those.
TEST(ShmHostileClient, AllThatSpeakAreServedHoweverManyCome) {
  TestServer server = ServeShm();
  std::vector<Fd> slow, quick;
  for (int i = 0; i < 40; ++i) slow.push_back(Dial(server));
  for (int i = 0; i < 80; ++i) {
    quick.push_back(Dial(server));
    SendHello(quick.back().get(), GoodHello());
  }
  server.Accept();
  for (const Fd& socket : slow) SendHello(socket.get(), GoodHello());
  server.Accept();
  for (const std::vector<Fd>* sockets : {&quick, &slow}) {
    const auto served = std::ranges::count_if(*sockets, [](const Fd& socket) {
      HandshakeFds fds;
      return ReceiveWelcome(socket.get(), &fds).has_value();
    });
    EXPECT_EQ(static_cast<size_t>(served), sockets->size());
  }
}

TEST(ShmHostileClient, BytesOnTheSocketAfterTheHandshakeAreIgnored) {
  TestServer server = ServeShm();
  const RawClient client = ShakeHands(&server);
  server.Expect(Kind::kOpened);
  for (int i = 0; i < 10; ++i) SendHello(client.socket.get(), GoodHello());
  EXPECT_TRUE(server.Silent());
  ASSERT_TRUE(server.FallAsleep());
  server.port().Disarm();
}

// What a client passes is READ as far as it goes, and takes no memory where the client has written
// none. What it may make the server wait for, or cannot be READ, ends its connection.
TEST(ShmHostileClient, MemoryForValuesIsTheClientsOwn) {
  TestServer server = ServeShm();
  const Fd holes = Must(CreateMemory("plov-test-holes", TestServer::kStagingBytes));
  const Fd small = Must(CreateMemory("plov-test-small", 8));
  const Fd write_only(::open(("/proc/self/fd/" + std::to_string(holes.get())).c_str(), O_WRONLY));
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd pipe(ends[0]), other_end(ends[1]), disk(::open("/proc/self/exe", O_RDONLY));
  const struct {
    int fd;
    Kind kind;
    bool ok;
  } cases[] = {{holes.get(), Kind::kReadDone, true},       {small.get(), Kind::kReadDone, false},
               {write_only.get(), Kind::kReadDone, false}, {pipe.get(), Kind::kClosed, false},
               {disk.get(), Kind::kClosed, false},         {-1, Kind::kClosed, false}};
  for (const auto& [fd, kind, ok] : cases) {
    SCOPED_TRACE(fd);
    const RawClient client = ShakeHands(&server);
    const PeerId peer = server.Expect(Kind::kOpened).peer;
    ASSERT_TRUE(fd < 0 || PassFile(client.socket.get(), fd));
    server.port().Read(peer, {.bytes = 4096, .shared = server.words(), .masks = kNoMasks.data()});
    const Event event = server.Expect(kind);
    EXPECT_EQ(event.ok, ok);
    server.port().Close(peer);
  }
  struct stat status;
  ASSERT_EQ(::fstat(holes.get(), &status), 0);
  EXPECT_EQ(status.st_blocks, 0);
}

TEST(ShmHostileClient, MoreMemoryForValuesThanAllowedIsNotRead) {
  TestServer server = ServeShm();
  const RawClient client = ShakeHands(&server);
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  const Fd large = Must(CreateMemory("plov-test-large", 2 * TestServer::kStagingBytes));
  ASSERT_TRUE(PassFile(client.socket.get(), large.get()));
  server.port().Read(peer, {.offset = TestServer::kStagingBytes,
                            .bytes = 8,
                            .shared = server.words(),
                            .masks = kNoMasks.data()});
  EXPECT_FALSE(server.Expect(Kind::kReadDone).ok);
}

TEST(ShmHostileServer, GoodAnswerMakesAConnection) {
  RawServer server;
  const auto client = Must(server.Answer(RawServer::GoodWelcome(), server.GoodFds()));
  EXPECT_TRUE(client->alive());
}

TEST(ShmHostileServer, GarbageInsteadOfWelcomeIsAProtocolError) {
  const auto bytes = Pattern(1000, 1);
  for (const size_t length : {1u, 31u, 32u, 33u, 1000u}) {
    RawServer server;
    const auto client =
        server.Answer([&](int socket) { ::send(socket, bytes.data(), length, MSG_NOSIGNAL); });
    EXPECT_EQ(CodeOf(client), Code::kProtocol) << length;
  }
}

TEST(ShmHostileServer, WelcomeWithMoreBehindItIsAProtocolError) {
  RawServer server;
  const std::array<Welcome, 2> two = {RawServer::GoodWelcome(), RawServer::GoodWelcome()};
  const auto client =
      server.Answer([&](int socket) { ::send(socket, two.data(), sizeof(two), MSG_NOSIGNAL); });
  ASSERT_EQ(CodeOf(client), Code::kProtocol);
  EXPECT_EQ(client.error().message, "the program that listens on this socket is not a plov server");
}

TEST(ShmHostileServer, TooFewDescriptorsAreAProtocolError) {
  for (size_t count = 0; count < kHandshakeFds; ++count) {
    RawServer server;
    const auto fds = server.GoodFds();
    EXPECT_EQ(CodeOf(server.Answer(RawServer::GoodWelcome(), std::span(fds).first(count))),
              Code::kProtocol);
  }
}

TEST(ShmHostileServer, MemorySmallerThanItSaysIsAProtocolError) {
  for (const int which : {kRegionFd, kLifeFd, kChannelFd}) {
    RawServer server;
    auto fds = server.GoodFds();
    fds[static_cast<size_t>(which)] = server.empty_file();
    EXPECT_EQ(CodeOf(server.Answer(RawServer::GoodWelcome(), fds)), Code::kProtocol) << which;
  }
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{4097}, uint64_t{1} << 63, UINT64_MAX}) {
    RawServer server;
    Welcome welcome = RawServer::GoodWelcome();
    welcome.region_bytes = bytes;
    EXPECT_EQ(CodeOf(server.Answer(welcome, server.GoodFds())), Code::kProtocol) << bytes;
  }
  // Up to sizes at which the length of the whole channel wraps.
  for (const uint64_t bytes : {uint64_t{1} << 63, UINT64_MAX, kStagingBytesMax + 1}) {
    RawServer server;
    Welcome welcome = RawServer::GoodWelcome();
    welcome.staging_bytes = bytes;
    EXPECT_EQ(CodeOf(server.Answer(welcome, server.GoodFds())), Code::kProtocol) << bytes;
  }
}

// A memfd like the server's, but for its seals.
Fd UnsealedMemory(size_t bytes) {
  Fd fd(::memfd_create("plov-test-unsealed", MFD_CLOEXEC));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    throw std::runtime_error("no memory");
  }
  return fd;
}

TEST(ShmHostileServer, MemoryThatCouldBeCutShortIsAProtocolError) {
  for (const int which : {kLifeFd, kChannelFd}) {
    RawServer server;
    const Fd unsealed = UnsealedMemory(Channel::kBytes);
    auto fds = server.GoodFds();
    fds[static_cast<size_t>(which)] = unsealed.get();
    const auto client = server.Answer(RawServer::GoodWelcome(), fds);
    ASSERT_EQ(CodeOf(client), Code::kProtocol) << which;
    EXPECT_NE(client.error().message.find("not sealed"), std::string::npos);
  }
}

// READs one word of the region; the connection must have come about.
Status ReadWord(const std::expected<std::unique_ptr<Connection>, Error>& client, uint64_t* word) {
  std::array<std::byte, sizeof(*word)> bytes{};
  const ReadOp op{.offset = 8, .bytes = bytes.size(), .to = bytes.data(), .tag = 1};
  if (!client || (*client)->Read({&op, 1}) != 1) throw std::runtime_error("no READ");
  std::array<Completion, 1> completions;
  if ((*client)->Poll(completions) != 1) throw std::runtime_error("no completion");
  *word = std::bit_cast<uint64_t>(bytes);
  return completions[0].status;
}

// plovd --warm keeps its memory in a file, which nothing seals. Of our own user's it is mapped.
TEST(ShmHostileServer, FileOfOurOwnUserIsMapped) {
  RawServer server;
  const Fd file = UnsealedMemory(4096);
  auto fds = server.GoodFds();
  fds[kRegionFd] = file.get();
  const auto client = Must(server.Answer(RawServer::GoodWelcome(), fds));
  EXPECT_EQ(client->region().size(), 4096u);
}

TEST(ShmHostileServer, FileOfAnotherUserThatIsCutShortIsAnError) {
  RawServer server;
  if (!server.ListenAs(65534)) GTEST_SKIP() << "only root can pretend to be another user";
  const Fd file = UnsealedMemory(4096);
  const uint64_t stored = 42;
  ASSERT_EQ(::pwrite(file.get(), &stored, sizeof(stored), 8), ssize_t{sizeof(stored)});
  auto fds = server.GoodFds();
  fds[kRegionFd] = file.get();
  const auto client = server.Answer(RawServer::GoodWelcome(), fds);
  ASSERT_TRUE(client.has_value()) << client.error().message;
  EXPECT_TRUE((*client)->region().empty());
  uint64_t word = 0;
  EXPECT_EQ(ReadWord(client, &word), Status::kDone);
  EXPECT_EQ(word, stored);
  ASSERT_EQ(::ftruncate(file.get(), 0), 0);
  EXPECT_EQ(ReadWord(client, &word), Status::kOutOfRange);
  EXPECT_TRUE((*client)->alive());
}

// Its memory is sealed all the same: mapped.
TEST(ShmHostileServer, SealedMemoryOfAnotherUserIsMapped) {
  RawServer server;
  if (!server.ListenAs(65534)) GTEST_SKIP() << "only root can pretend to be another user";
  const auto client = server.Answer(RawServer::GoodWelcome(), server.GoodFds());
  ASSERT_TRUE(client.has_value()) << client.error().message;
  EXPECT_EQ((*client)->region().size(), 4096u);
}

TEST(ShmHostileServer, FileOfAnotherUserThatReadsMayWaitForIsAnError) {
  RawServer server;
  if (!server.ListenAs(65534)) GTEST_SKIP() << "only root can pretend to be another user";
  const Fd on_disk(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  struct statfs system;
  if (::fstatfs(on_disk.get(), &system) != 0 || system.f_type == TMPFS_MAGIC) {
    GTEST_SKIP() << "this program is on no disk";
  }
  auto fds = server.GoodFds();
  fds[kRegionFd] = on_disk.get();
  const auto client = server.Answer(RawServer::GoodWelcome(), fds);
  EXPECT_EQ(CodeOf(client), Code::kProtocol);
}

TEST(ShmHostileServer, ServerThatHangsUpIsUnavailable) {
  RawServer server;
  const auto client = server.Answer([](int socket) { ::shutdown(socket, SHUT_RDWR); });
  EXPECT_EQ(CodeOf(client), Code::kUnavailable);
}

TEST(ShmHostileServer, GarbageInTheReplyRingEndsTheConnection) {
  const std::pair<uint64_t, uint64_t> length_and_tail[] = {{8, 7},
                                                           {8, kRingBytes + 8},
                                                           {8, UINT64_MAX},
                                                           {9, 16},
                                                           {kMessageBytesMax + 1, kRingBytes},
                                                           {UINT64_MAX, kRingBytes}};
  for (const auto& [length, tail] : length_and_tail) {
    RawServer server;
    const auto client = Must(server.Answer(RawServer::GoodWelcome(), server.GoodFds()));
    verify::StoreWord(FirstWord(server.channel().reply_data()), length);
    server.channel().reply_control()->tail.store(tail, std::memory_order_release);
    EXPECT_FALSE(client->Receive().has_value());
    EXPECT_FALSE(client->alive()) << length << " " << tail;
  }
}

TEST(ShmHostileServer, GarbageInTheRequestRingsHeadEndsTheConnection) {
  RawServer server;
  const auto client = Must(server.Answer(RawServer::GoodWelcome(), server.GoodFds()));
  server.channel().request_control()->head.store(8, std::memory_order_release);
  EXPECT_FALSE(client->Send(Pattern(10, 1)));
  EXPECT_FALSE(client->alive());
}

}  // namespace plov::fabric::shm
