// Whom a port of the shared-memory fabric looks at: many silent peers cost nothing, and none of
// them is overheard.

#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "fabric/shm/port.h"
#include "tests/fabric/shm_tools.h"
#include "verify/seal.h"

namespace plov::fabric::shm {

namespace {

using Kind = PortEvent::Kind;

// More than a port keeps hot whatever they do, and more messages than it remembers who sent none.
constexpr size_t kMany = 1000;
constexpr size_t kLong = 1500;

// The client's end of a peer, made by hand.
class Writer {
 public:
  explicit Writer(ShmPort* port, uint64_t client_id) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
      throw std::runtime_error("no socket pair");
    }
    socket_ = Fd(sockets[0]);
    const Fd memory = Must(CreateMemory("plov-test-channel", Channel::kBytes));
    NewPeer peer{Fd(sockets[1]), {}, client_id};
    peer.channel.mapping = Must(Map(memory.get(), Channel::kBytes));
    channel_.mapping = Must(Map(memory.get(), Channel::kBytes));
    requests_ = RingWriter(channel_.request_control(), channel_.request_data());
    replies_ = RingReader(channel_.reply_control(), channel_.reply_data());
    port->Adopt(std::move(peer));
  }

  void Send() {
    requests_.Write(Pattern(8, 1));
    if (requests_.TakeSleeper()) WakePeer(socket_.get());
  }
  bool TakeReply() {
    size_t bytes = 0;
    return replies_.Read(reply_, &bytes) == RingReader::Result::kMessage;
  }
  void HangUp() { socket_ = Fd(); }
  void Sleep() { replies_.Sleep(); }
  // Waits on this core.
  void ShowCore(uint32_t core) {
    replies_.StayAwake();
    replies_.ShowCore(core);
  }
  bool PortIsOn(uint32_t core) const { return requests_.ConsumerIsOn(core); }

 private:
  static std::expected<Mapping, Error> Map(int fd, size_t bytes) {
    return Mapping::Map(fd, bytes, PROT_READ | PROT_WRITE);
  }

  Fd socket_;
  Channel channel_;
  RingWriter requests_;
  RingReader replies_;
  std::array<std::byte, 64> reply_;
};

class ShmPortTest : public testing::Test {
 protected:
  Writer& Add() {
    writers_.push_back(std::make_unique<Writer>(port_.get(), writers_.size()));
    return *writers_.back();
  }
  void AddMany() {
    for (size_t i = 0; i < kMany; ++i) Add();
  }
  // Answers what comes until `done`; how many messages that were, or nullopt without wait_max.
  template <typename Done>
  std::optional<size_t> ServeUntil(Done done) {
    size_t messages = 0;
    const bool all = Eventually([&] {
      const auto event = port_->Poll();
      if (event && event->kind == Kind::kClosed) ++closed_;
      if (event && event->kind == Kind::kMessage) {
        port_->Send(event->peer, Pattern(8, 2));
        ++messages;
      }
      return done(event.has_value());
    });
    return all ? std::optional(messages) : std::nullopt;
  }
  bool ServeAll() {
    return ServeUntil([](bool any) { return !any; }).has_value();
  }
  bool Talk(Writer* writer, size_t messages) {
    for (size_t i = 0; i < messages; ++i) {
      writer->Send();
      if (!ServeUntil([&](bool) { return writer->TakeReply(); })) return false;
    }
    return true;
  }
  // As long as it takes for the port to forget the others.
  bool TalkLong(Writer* writer) { return Talk(writer, kLong); }

  std::unique_ptr<ShmPort> port_ = Must(ShmPort::Create());
  std::vector<std::unique_ptr<Writer>> writers_;
  size_t closed_ = 0;
};

TEST_F(ShmPortTest, OnlyWhoSendsIsLookedAt) {
  AddMany();
  Writer& talker = Add();
  ASSERT_TRUE(ServeAll());
  ASSERT_TRUE(TalkLong(&talker));
  EXPECT_EQ(port_->hot_count(), 1u);
}

TEST_F(ShmPortTest, NewcomersThatSayNothingAreNotAllLookedAt) {
  AddMany();
  ASSERT_TRUE(ServeAll());
  ASSERT_TRUE(ServeAll());
  EXPECT_LE(port_->hot_count(), 256u);
}

// Nor does an idle port keep them: it sleeps and wakes for one.
TEST_F(ShmPortTest, SleepsForgetTheSilent) {
  for (int i = 0; i < 100; ++i) Add();
  Writer& talker = Add();
  ASSERT_TRUE(ServeAll());
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(port_->Arm());
    talker.Send();
    ASSERT_TRUE(WaitReadable(port_->fd()));
    port_->Disarm();
    ASSERT_TRUE(ServeUntil([&](bool) { return talker.TakeReply(); }));
    ASSERT_TRUE(ServeAll());
  }
  EXPECT_EQ(port_->hot_count(), 1u);
}

TEST_F(ShmPortTest, EveryColdPeerIsHeardWhileOthersTalk) {
  AddMany();
  Writer& talker = Add();
  ASSERT_TRUE(ServeAll());
  ASSERT_TRUE(TalkLong(&talker));
  for (const auto& writer : writers_) writer->Send();
  size_t answered = 0;
  EXPECT_TRUE(ServeUntil([&](bool) {
    if (talker.TakeReply()) talker.Send();
    for (size_t i = 0; i < kMany; ++i) answered += writers_[i]->TakeReply();
    return answered == kMany;
  }));
}

TEST_F(ShmPortTest, ColdPeerWakesASleepingPort) {
  Writer& silent = Add();
  Writer& talker = Add();
  ASSERT_TRUE(TalkLong(&talker));
  ASSERT_EQ(port_->hot_count(), 1u);
  port_->Disarm();  // the newcomers' bell
  ASSERT_TRUE(port_->Arm());
  ASSERT_FALSE(IsReadable(port_->fd()));
  silent.Send();
  EXPECT_TRUE(WaitReadable(port_->fd()));
  port_->Disarm();
  EXPECT_TRUE(ServeUntil([&](bool) { return silent.TakeReply(); }));
}

// One sends each time when it is about to get cold, while another talks.
TEST_F(ShmPortTest, NoMessageIsLostWhileItsPeerGetsCold) {
  constexpr size_t kRounds = 100;
  Writer& talker = Add();
  Writer& other = Add();
  std::atomic<size_t> talked = 0;
  std::atomic<size_t> heard = 0;
  std::atomic<bool> stop = false;
  std::thread sending([&] {
    // Without a yield, which costs a slice of everybody else's on a busy machine.
    const auto wait = [&](auto done) {
      while (!done() && !stop.load()) continue;
    };
    for (size_t round = 0; round < kRounds; ++round) {
      const size_t until = talked.load() + 1020 + verify::Mix(round) % 10;
      wait([&] { return talked.load() >= until; });
      other.Send();
      wait([&] { return other.TakeReply(); });
      heard.fetch_add(1);
    }
  });
  talker.Send();
  // A busy machine comes to fewer rounds; what counts is that none is the last.
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  size_t heard_when_late = kRounds;
  const auto served = ServeUntil([&](bool) {
    if (talker.TakeReply()) {
      talked.fetch_add(1);
      talker.Send();
    }
    if (heard_when_late == kRounds && std::chrono::steady_clock::now() > late) {
      heard_when_late = heard.load();
    }
    return heard.load() == kRounds || heard.load() > heard_when_late;
  });
  EXPECT_TRUE(served.has_value()) << heard.load();
  stop.store(true);
  sending.join();
}

TEST_F(ShmPortTest, KnowsWhoWaitsOnItsCore) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  const uint32_t here = ThisCore();
  Writer& writer = Add();
  ASSERT_TRUE(Talk(&writer, 1));
  EXPECT_FALSE(port_->OnPeersCore()) << "nobody knows where it is";
  writer.ShowCore(here + 1);
  EXPECT_FALSE(port_->OnPeersCore());
  writer.ShowCore(here);
  EXPECT_TRUE(port_->OnPeersCore());
  EXPECT_TRUE(writer.PortIsOn(here) && !writer.PortIsOn(here + 1) && !writer.PortIsOn(0));
  writer.Sleep();
  EXPECT_FALSE(port_->OnPeersCore()) << "it sleeps";
  writer.ShowCore(here);
  EXPECT_TRUE(port_->OnPeersCore());
  ASSERT_TRUE(Talk(&Add(), 100));
  EXPECT_FALSE(port_->OnPeersCore()) << "it has said nothing since";
  ASSERT_EQ(::sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST_F(ShmPortTest, ManyThatDieAtOnceAreAllNoticedAndNobodyWaitsForThat) {
  AddMany();
  Writer& talker = Add();
  ASSERT_TRUE(ServeAll());
  ASSERT_TRUE(TalkLong(&talker));
  for (size_t i = 0; i < kMany; ++i) writers_[i]->HangUp();
  ASSERT_TRUE(ServeUntil([&](bool) { return closed_ > 0; }));
  for (int i = 0; i < 100; ++i) {
    talker.Send();
    ASSERT_TRUE(ServeUntil([&](bool) { return talker.TakeReply(); }));
  }
  EXPECT_LT(closed_, kMany / 2) << "the talker had to wait";
  EXPECT_TRUE(ServeUntil([&](bool) { return closed_ == kMany; }));
  EXPECT_EQ(port_->connection_bytes(), Channel::kBytes) << "the talker's";
}

}  // namespace

}  // namespace plov::fabric::shm
