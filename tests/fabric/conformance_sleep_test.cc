// Conformance: sleeping and waking. A lost wake-up is a poll() that outlasts kWaitMax; the sides
// dawdle for random moments between their last look and their sleep, where wake-ups get lost.

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/fabric/conformance.h"
#include "verify/seal.h"
#include "verify/words.h"

namespace plov::fabric {

namespace {

using Kind = PortEvent::Kind;

void Dawdle(uint64_t step) {
  const uint64_t loops = verify::Mix(step) % 400;
  std::atomic<uint64_t> count = 0;
  while (count.load(std::memory_order_relaxed) < loops) {
    count.fetch_add(1, std::memory_order_relaxed);
  }
}

// Answers `count` messages, asleep in between; false when a wake-up or the connection was lost, or nobody ever slept.
// A fabric's own timers wake a side that hears nothing again and again: each message has a deadline.
bool Answer(Port* port, size_t count) {
  size_t sleeps = 0;
  Deadline deadline = WaitDeadline();
  for (size_t answered = 0; answered < count;) {
    if (const auto event = port->Poll()) {
      if (event->kind == Kind::kClosed) return false;
      if (event->kind != Kind::kMessage) continue;
      const std::vector<std::byte> message(event->message.begin(), event->message.end());
      port->Send(event->peer, message);
      ++answered;
      deadline = WaitDeadline();
      continue;
    }
    if (Clock::now() > deadline) return false;
    Dawdle(answered);
    if (!port->Arm()) continue;
    ++sleeps;
    if (!WaitReadable(port->fd())) return false;
    port->Disarm();
  }
  return sleeps > 0;
}

// Sends `count` messages, each after the reply to the last, asleep in between.
bool Ask(Connection* client, size_t count, uint64_t seed) {
  size_t sleeps = 0;
  for (size_t asked = 0; asked < count; ++asked) {
    const auto message = Pattern(1 + asked % 64, seed + asked);
    Dawdle(seed + asked / 2);
    if (!client->Send(message)) return false;
    const Deadline deadline = WaitDeadline();
    while (true) {
      if (const auto reply = client->Receive()) {
        if (!Same(*reply, message)) return false;
        break;
      }
      if (!client->alive() || Clock::now() > deadline) return false;
      Dawdle(seed + asked);
      if (!client->Arm()) continue;
      ++sleeps;
      if (!WaitReadable(client->fd())) return false;
    }
  }
  return sleeps > 0;
}

// Between so many clients and a port; false when a connection was lost, which is no wake-up: an emulated device on a
// host that has no time for it loses some.
bool AreWoken(TestServer server, size_t count, size_t rounds) {
  std::vector<std::unique_ptr<Connection>> clients;
  for (uint64_t id = 0; id < count; ++id) clients.push_back(server.Connect(0, id));
  std::atomic<size_t> satisfied = 0;
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      if (Ask(clients[i].get(), rounds, i * 1'000'000)) satisfied.fetch_add(1);
    });
  }
  const bool answered = Answer(&server.port(), count * rounds);
  threads.clear();
  const bool are_connected = std::ranges::all_of(clients, [](auto& one) { return one->alive(); });
  if (!are_connected) return false;
  EXPECT_TRUE(answered);
  EXPECT_EQ(satisfied.load(), count);
  return true;
}

constexpr int kTries = 3;

}  // namespace

TEST_P(FabricConformance, NoWakeUpIsLostBetweenTwoSleepers) {
  const auto rounds = static_cast<size_t>(Rounds(20'000));
  int tries = 0;
  while (!AreWoken(Serve(), 1, rounds)) ASSERT_LT(++tries, kTries) << "connections are lost";
}

TEST_P(FabricConformance, NoWakeUpIsLostAmongManySleepers) {
  const auto rounds = static_cast<size_t>(Rounds(3000));
  int tries = 0;
  while (!AreWoken(Serve(), 4, rounds)) ASSERT_LT(++tries, kTries) << "connections are lost";
}

TEST_P(FabricConformance, PortWithNothingToDoIsNotReadable) {
  TestServer server = Serve();
  const auto client = server.Connect();
  server.Expect(Kind::kOpened);
  ASSERT_TRUE(server.FallAsleep());
  server.port().Disarm();
  ASSERT_TRUE(server.FallAsleep());
  server.port().Disarm();
}

TEST_P(FabricConformance, ConnectionWithNothingToDoIsNotReadable) {
  TestServer server = Serve();
  const auto client = server.Connect();
  ASSERT_TRUE(Eventually([&] {
    client->Receive();
    return client->Arm() && !IsReadable(client->fd());
  }));
}

TEST_P(FabricConformance, PortThatHasAMessageDoesNotSleep) {
  TestServer server = Serve();
  const auto client = server.Connect();
  server.Expect(Kind::kOpened);
  ASSERT_TRUE(client->Send(Pattern(10, 1)));
  if (server.port().Arm()) {
    EXPECT_TRUE(WaitReadable(server.port().fd()));
    server.port().Disarm();
  }
  server.Expect(Kind::kMessage);
}

// Else a server that waits for something before it replies would burn a core.
TEST_P(FabricConformance, PortSleepsWhileThePeerItOwesAReplySendsMore) {
  TestServer server = Serve();
  const auto client = server.Connect();
  const PeerId peer = server.Expect(Kind::kOpened).peer;
  ASSERT_TRUE(client->Send(Pattern(10, 1)));
  server.Expect(Kind::kMessage);
  ASSERT_TRUE(client->Send(Pattern(20, 2)));
  EXPECT_TRUE(server.Silent());
  EXPECT_TRUE(server.FallAsleep());
  server.port().Disarm();
  server.port().Send(peer, Pattern(1, 1));
  EXPECT_EQ(server.Expect(Kind::kMessage).message.size(), 20u);
}

TEST_P(FabricConformance, ArmedConnectionWakesForAReadThatCompletes) {
  TestServer server = Serve();
  verify::StoreWord(server.words(), 5);
  const auto client = server.Connect();
  for (int round = 0; round < 1000; ++round) {
    std::array<std::byte, 8> to{};
    const ReadOp op{.bytes = 8, .to = to.data()};
    ASSERT_EQ(client->Read({&op, 1}), 1u);
    Completion completion{};
    while (client->Poll({&completion, 1}) == 0) {
      if (!client->Arm()) continue;
      ASSERT_TRUE(WaitReadable(client->fd()));
      client->Receive();
    }
    ASSERT_EQ(to[0], std::byte{5});
  }
}

// A READ of more bytes than a fabric has on their way at once: nobody polls for the rest.
TEST_P(FabricConformance, SleeperCollectsALargeRead) {
  constexpr uint32_t kBytes = 2 << 20;
  TestServer server = Serve(1, kBytes);
  const auto content = Pattern(kBytes, 8);
  server.Fill(content);
  const auto client = server.Connect();
  std::vector<std::byte> to(kBytes);
  const ReadOp op{.bytes = kBytes, .to = to.data()};
  ASSERT_EQ(client->Read({&op, 1}), 1u);
  Completion completion{};
  while (client->Poll({&completion, 1}) == 0) {
    // Time for all that is on its way to arrive before the client falls asleep.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!client->Arm()) continue;
    ASSERT_TRUE(WaitReadable(client->fd()));
    EXPECT_FALSE(client->Receive().has_value());
  }
  EXPECT_EQ(completion.status, Status::kDone);
  EXPECT_TRUE(Same(to, content));
}

TEST_P(FabricConformance, NewClientWakesASleepingPort) {
  TestServer server = Serve();
  ASSERT_TRUE(server.FallAsleep());
  const auto client = server.Connect();
  EXPECT_TRUE(WaitReadable(server.port().fd()));
  server.port().Disarm();
  server.Expect(Kind::kOpened);
}

TEST_P(FabricConformance, WakeFromAnotherThreadEndsTheSleep) {
  constexpr uint64_t kRounds = 3000;
  TestServer server = Serve();
  std::atomic<uint64_t> asked = 0;
  std::atomic<uint64_t> seen = 0;
  std::thread port([&] {
    while (seen.load() < kRounds) {
      if (asked.load() > seen.load()) {
        seen.fetch_add(1);
        continue;
      }
      server.port().Poll();
      Dawdle(seen.load());
      if (!server.port().Arm()) continue;
      if (!WaitReadable(server.port().fd())) return;
      server.port().Disarm();
    }
  });
  for (uint64_t round = 1; round <= kRounds; ++round) {
    asked.store(round);
    server.port().Wake();
    if (!Eventually([&] { return seen.load() >= round; })) {
      ADD_FAILURE() << "wake-up " << round << " was lost";
      asked.store(kRounds);  // lets the port's thread end
      break;
    }
  }
  port.join();
}

// A thread that is told to stop may be in the middle of its polls: the wake-up waits for its sleep.
TEST_P(FabricConformance, WakeOutlivesPolls) {
  TestServer server = Serve();
  server.port().Wake();
  EXPECT_TRUE(server.Silent());
  if (server.port().Arm()) {
    EXPECT_TRUE(IsReadable(server.port().fd()));
  }
  server.port().Disarm();
}

TEST_P(FabricConformance, WaitReturnsAtItsDeadline) {
  TestServer server = Serve();
  const auto client = server.Connect();
  client->Receive();
  Wait(client.get(), Clock::now() - std::chrono::seconds(1));
  Wait(client.get(), Clock::now() + std::chrono::milliseconds(5));
  EXPECT_TRUE(client->alive());
}

}  // namespace plov::fabric
