// Clients that are killed, stopped, or sit idle while the table grows: what the server holds for
// them comes back within a second of their end, those that stand still delay nobody and find their
// way when they go on.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "fabric/fabric.h"
#include "tests/support/child.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "verify/message.h"
#include "verify/superblock.h"

namespace plov {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Child;
using test::Eventually;
using test::Plovd;
using test::SharedMemory;
using test::StatOf;

// What a dead client held is free again within this.
const milliseconds kFreedWithin = seconds(1) * test::Slowness();
// The server's wait_max with a client that does not confirm a table (server/shard.h), and as much
// again for a slow machine.
constexpr seconds kDroppedWithin{20};

struct Stage {
  std::atomic<int> at;    // what the child has reached
  std::atomic<bool> go;   // the child goes on
  std::atomic<int> puts;  // that it made
};

class ClientDeath : public ::testing::Test {
 protected:
  void Reach(int stage) {
    ASSERT_TRUE(Eventually([&] { return stage_->at >= stage; }, seconds(30)));
  }
  uint64_t Stat(const std::string& name) { return StatOf(&client_, name); }

  // Kills and waits for the end; from here on the server's second runs.
  static void Kill(Child* child) {
    child->Signal(SIGKILL);
    ASSERT_EQ(child->Wait(), -SIGKILL);
  }

  // New items until the table has grown so often.
  void Grow(uint64_t times) {
    const uint64_t goal = Stat("growths") + times;
    while (Stat("growths") < goal) {
      std::vector<std::string> keys;
      for (int i = 0; i < 2000; ++i) keys.push_back("grow" + std::to_string(grown_++));
      std::vector<PutItem> items;
      for (const std::string& key : keys) items.push_back({key, "v"});
      client_.PutMany(items, [](size_t, Client::PutResult result) { ASSERT_TRUE(result); });
    }
    ASSERT_TRUE(Eventually([this] { return Stat("growing") == 0; }, seconds(30)));
    ASSERT_TRUE(client_.Get("grow0")->has_value()) << "confirms the table as well";
  }
  uint64_t CurrentTableBytes() { return Stat("buckets") * Stat("bucket_bytes"); }

  Plovd server_{{"--memory", "256M"}};
  Client client_ = server_.Connect({.timeout = seconds(20)});
  SharedMemory<Stage> stage_;
  uint64_t grown_ = 0;
  std::deque<std::string> keys_;
};

TEST_F(ClientDeath, WhileItConnects) {
  for (int round = 0; round < 30; ++round) {
    Child child = Child::Fork([this] {
      while (true) {
        const auto fresh = Client::Connect(server_.uri());
        ++stage_->at;
      }
      return 0;
    });
    Reach(1);
    std::this_thread::sleep_for(std::chrono::microseconds(round * 137));
    Kill(&child);
    EXPECT_TRUE(Eventually([this] { return Stat("clients") == 1; }, kFreedWithin)) << round;
    stage_->at = 0;
  }
}

TEST_F(ClientDeath, WhileItIsIdle) {
  std::vector<Child> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(Child::Fork([this] {
      Client client = server_.Connect();
      ++stage_->at;
      ::pause();
      return 0;
    }));
  }
  Reach(8);
  EXPECT_EQ(Stat("clients"), 9);
  for (Child& child : children) Kill(&child);
  EXPECT_TRUE(Eventually([this] { return Stat("clients") == 1; }, kFreedWithin));
}

TEST_F(ClientDeath, InTheMiddleOfALargePut) {
  const uint64_t records_before = Stat("records_bytes");
  const std::string large(size_t{16} << 20, 'x');
  for (int round = 0; round < 25; ++round) {
    Child child = Child::Fork([this, &large] {
      Client client = server_.Connect({.timeout = seconds(20)});
      while (client.Put("big", large) && client.Delete("big")) ++stage_->at;
      return 1;
    });
    Reach(1);
    std::this_thread::sleep_for(milliseconds(round * 2));
    Kill(&child);
    EXPECT_TRUE(Eventually([this] { return Stat("clients") == 1; }, kFreedWithin)) << round;
    ASSERT_TRUE(client_.Delete("big"));
    EXPECT_EQ(Stat("records_bytes"), records_before) << round;
    stage_->at = 0;
  }
}

// Asks for a large value by message, as a client does that met torn records only, and never READs
// the record that the server keeps for it.
int AskAndRest(const std::string& uri, Stage* stage) {
  constexpr uint64_t kClientId = 77;
  auto connection =
      fabric::Connection::Connect(uri, {.shard = 0,
                                        .format_version = verify::kFormatVersion,
                                        .client_id = kClientId,
                                        .deadline = fabric::Clock::now() + seconds(20)});
  if (!connection) return 1;
  std::vector<std::byte> buffer((*connection)->limits().message_bytes_max);
  verify::MessageWriter message(buffer, kClientId);
  verify::Request request;
  request.operation = verify::Operation::kGet;
  request.request_id = 1;
  request.key = "big";
  message.Add(request);
  if (!(*connection)->Send(message.Finish())) return 1;
  fabric::Wait(connection->get(), fabric::Clock::now() + seconds(20));
  const auto bytes = (*connection)->Receive();
  if (!bytes) return 2;
  auto replies =
      verify::MessageReader::Open(*bytes, kClientId, verify::MessageReader::Holds::kReplies);
  const auto reply = replies->NextReply();
  if (!reply || !reply->held) return 3;
  ++stage->at;
  ::pause();
  return 0;
}

TEST_F(ClientDeath, WhileARecordIsHeldForIt) {
  const std::string large(size_t{1} << 20, 'x');
  ASSERT_TRUE(client_.Put("big", large));
  const uint64_t one_record = Stat("records_bytes");
  Child child = Child::Fork([this] { return AskAndRest(server_.uri(), stage_.get()); });
  Reach(1);
  ASSERT_TRUE(client_.Put("big", large));
  EXPECT_EQ(Stat("records_bytes"), 2 * one_record) << "the old value is held";
  Kill(&child);
  EXPECT_TRUE(Eventually([&] { return Stat("records_bytes") == one_record; }, kFreedWithin));
}

TEST_F(ClientDeath, BeforeItHasConfirmedATable) {
  Child child = Child::Fork([this] {
    Client client = server_.Connect();
    if (!client.Put("theirs", "v")) return 1;
    ++stage_->at;
    ::pause();
    return 0;
  });
  Reach(1);
  Grow(3);
  EXPECT_GT(Stat("table_bytes"), CurrentTableBytes()) << "the child may read the old tables";
  const uint64_t used_bytes = Stat("memory_used_bytes");
  Kill(&child);
  EXPECT_TRUE(
      Eventually([this] { return Stat("table_bytes") == CurrentTableBytes(); }, kFreedWithin));
  EXPECT_LT(Stat("memory_used_bytes"), used_bytes);
}

// A client that only writes reads no bucket that would tell it: the replies do.
TEST_F(ClientDeath, OneThatOnlyWritesFollowsTheTable) {
  Client writer = server_.Connect({.timeout = std::chrono::seconds(60)});
  for (int i = 0; i < 100'000; ++i) {
    writer.StartPut(keys_.emplace_back("w" + std::to_string(i)), "v", {},
                    [](Client::PutResult result) { ASSERT_TRUE(result); });
    if (i % 10'000 != 0) continue;
    while (writer.Poll() > 0) std::this_thread::yield();
    // The other client, idle all the while, would be dropped where this takes its time.
    ASSERT_FALSE(client_.Get("absent")->has_value());
  }
  while (writer.Poll() > 0) std::this_thread::yield();
  EXPECT_TRUE(Eventually(
      [&] {
        return writer.Put("more", "v") && Stat("growing") == 0 &&
               Stat("table_bytes") == CurrentTableBytes();
      },
      seconds(5)));
  EXPECT_GT(Stat("growths"), 3);
  EXPECT_EQ(Stat("clients_dropped_unconfirmed"), 0);
}

// One of each: idle, and stopped in the middle of its work. Both know a table of three generations
// ago when they go on.
TEST_F(ClientDeath, IdleAndStoppedOnesAreDroppedAndComeBackByThemselves) {
  const auto come_back = [this](Client* client) {
    while (!stage_->go) std::this_thread::sleep_for(milliseconds(1));
    const auto hit = client->Get("grow0");
    const bool good = hit && *hit && client->Put("mine", "w") && client->Get("mine")->has_value();
    return good && client->Get("absent") && client->stats().reconnects == 1 ? 0 : 1;
  };
  Child idle = Child::Fork([&] {
    Client client = server_.Connect({.timeout = seconds(20)});
    if (!client.Put("theirs", "v")) return 2;
    ++stage_->at;
    return come_back(&client);
  });
  Child stopped = Child::Fork([&] {
    Client client = server_.Connect({.timeout = seconds(20)});
    ++stage_->at;
    while (!stage_->go) {
      if (!client.Put("theirs", "x")) return 2;
    }
    return come_back(&client);
  });
  Reach(2);
  stopped.Signal(SIGSTOP);
  Grow(3);
  EXPECT_TRUE(
      Eventually([this] { return Stat("clients_dropped_unconfirmed") == 2; }, kDroppedWithin));
  EXPECT_EQ(Stat("table_bytes"), CurrentTableBytes());
  EXPECT_EQ(Stat("clients"), 1);
  stage_->go = true;
  stopped.Signal(SIGCONT);
  EXPECT_EQ(idle.Wait(), 0);
  EXPECT_EQ(stopped.Wait(), 0);
}

// In 16 MiB the last growth waits for memory that an idle client holds up: the server has a tenth
// of its wait_max then.
TEST(ClientIdle, MemoryThatIsWantedComesBackEarlier) {
  const Plovd server({"--memory", "16M"});
  Client client = server.Connect({.timeout = seconds(20)});
  SharedMemory<Stage> stage;
  Child idle = Child::Fork([&] {
    const Client own = server.Connect();
    ++stage->at;
    ::pause();
    return 0;
  });
  ASSERT_TRUE(Eventually([&] { return stage->at == 1; }, seconds(30)));
  bool full = false;
  for (uint64_t first = 0; !full; first += 1000) {
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < 1000; ++i) keys.push_back("k" + std::to_string(first + i));
    std::vector<PutItem> items;
    for (const std::string& key : keys) items.push_back({key, "v"});
    client.PutMany(items, [&](size_t, Client::PutResult result) { full = full || !result; });
  }
  const auto began = std::chrono::steady_clock::now();
  // Each PUT is one more wish for memory.
  EXPECT_TRUE(Eventually(
      [&] {
        const auto ignored = client.Put("more", "v");
        return StatOf(&client, "clients_dropped_unconfirmed") > 0;
      },
      seconds(8)));
  const auto spent = std::chrono::steady_clock::now() - began;
  std::printf("the idle client was dropped after %.1f s\n",
              std::chrono::duration<double>(spent).count());
}

TEST_F(ClientDeath, AStoppedOneDelaysNobody) {
  std::array<Child, 2> children = {Child::Fork([this] {
                                     Client client = server_.Connect();
                                     while (client.Put("theirs", "x")) ++stage_->at;
                                     return 1;
                                   }),
                                   Child::Fork([this] {
                                     Client client = server_.Connect({.timeout = seconds(20)});
                                     const std::string large(size_t{16} << 20, 'x');
                                     while (client.Put("big", large)) ++stage_->puts;
                                     return 1;
                                   })};
  Reach(1);
  ASSERT_TRUE(Eventually([&] { return stage_->puts > 0; }, seconds(30)));
  for (const Child& child : children) child.Signal(SIGSTOP);
  Client client = server_.Connect();  // whose calls end within their second
  const int puts = 10'000 / test::Slowness();
  for (int i = 0; i < puts; ++i) ASSERT_TRUE(client.Put("mine", std::to_string(i))) << i;
  EXPECT_TRUE(client.Get("theirs")->has_value());
}

}  // namespace
}  // namespace plov
