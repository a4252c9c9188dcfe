// Replicas of a shard on servers of this process, over shared memory and with a coordinator in memory: one thread has
// its turns at all of them. Which orders of events are right is for tests/cluster; here it is shown that everything is
// connected: what is written is in all tables, whoever dies, stops or comes is noticed, and no write is lost or done
// twice whoever decides on it.
#include "server/shard_replication.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "tests/server/replicated_server.h"
#include "tests/support/environment.h"
#include "tests/support/folder.h"

namespace plov::server {
namespace {

using cluster::Member;
using cluster::Replica;
using cluster::Tail;
using verify::Operation;

constexpr std::chrono::seconds kWaitMax{60};
constexpr uint64_t kOtherClient = 9;

// A client with keys of its own, so that it knows what each of its writes has to answer.
class Writer {
 public:
  explicit Writer(uint64_t id) : id_(id) {}

  uint64_t id() const { return id_; }
  bool waits() const { return request_.has_value(); }
  const std::map<std::string, std::string>& stored() const { return stored_; }
  uint64_t done() const { return done_; }

  void Begin(Operation operation, const std::string& key, const std::string& value) {
    key_ = key;
    value_ = value;
    request_.emplace();
    request_->operation = operation;
    request_->sequence = ++sequence_;
    request_->key = key_;
    request_->value = value_;
    request_->value_bytes = static_cast<uint32_t>(value_.size());
  }
  void BeginSome(std::mt19937_64* random) {
    static constexpr Operation kOperations[] = {Operation::kAdd, Operation::kAdd, Operation::kPut,
                                                Operation::kReplace, Operation::kDelete};
    const std::string key = std::to_string(id_) + "/" + std::to_string((*random)() % 60);
    const size_t bytes = (*random)() % 8 == 0 ? 3000 : 20;
    Begin(kOperations[(*random)() % 5], key, std::to_string((*random)()) + std::string(bytes, 'v'));
  }
  // At whoever takes writes.
  void Go(ReplicatedServer* server) {
    const auto reply = server->Send(id_, *request_);
    if (sent_to_ != server) request_->retry = sent_to_ != nullptr;
    sent_to_ = server;
    if (!reply) return;
    const bool is_there = stored_.contains(key_);
    const Operation operation = request_->operation;
    Code expected = Code::kOk;
    if (operation == Operation::kAdd && is_there) expected = Code::kExists;
    const bool needs = operation == Operation::kReplace || operation == Operation::kDelete;
    if (needs && !is_there) expected = Code::kNotFound;
    EXPECT_EQ(reply->status, expected) << "client " << id_ << ", write " << sequence_;
    if (operation == Operation::kDelete) {
      stored_.erase(key_);
    } else if (expected == Code::kOk) {
      stored_[key_] = value_;
    }
    request_.reset();
    sent_to_ = nullptr;
    ++done_;
  }

 private:
  uint64_t id_;
  uint64_t sequence_ = 0;
  std::string key_, value_;
  std::optional<verify::Request> request_;
  ReplicatedServer* sent_to_ = nullptr;
  std::map<std::string, std::string> stored_;
  uint64_t done_ = 0;
};

class ShardReplicationTest : public ::testing::Test {
 protected:
  // a1 is the primary, b1 has joined it; c1 is not there yet.
  void SetUp() override {
    for (const char* name : {"a1", "b1", "c1"}) {
      servers_.push_back(
          std::make_unique<ReplicatedServer>(name, folder_.path(), &ensemble_, &mutex_));
    }
    for (const auto& one : servers_) {
      for (const auto& other : servers_) one->dialers()->Set(other->name(), {other->uri()});
    }
    test::OneAtATime coordinator(ensemble_.Connect(), &mutex_);
    cluster::ConfigurationRegister shard(&coordinator, kReplicatedShard, test::kClusterId);
    const auto held = shard.Create(test::ShardOf("a1", {a().member()}));
    ASSERT_TRUE(held);
    a().Start(Replica::Memory{Tail({}), *held});
    ASSERT_TRUE(Await([&] { return a().serves(); }));
    b().Start(std::nullopt);
    ASSERT_TRUE(
        Await([&] { return a().serves() && MembersAt(&a()) == 2 && MembersAt(&b()) == 2; }));
  }
  ReplicatedServer& a() { return *servers_[0]; }
  ReplicatedServer& b() { return *servers_[1]; }
  ReplicatedServer& c() { return *servers_[2]; }

  void Turn() {
    TurnClock::Tick();
    for (const auto& server : servers_) server->Step();
  }
  bool Await(const std::function<bool()>& condition) {
    const auto deadline = fabric::Clock::now() + kWaitMax;
    while (!condition()) {
      if (fabric::Clock::now() > deadline) return false;
      Turn();
    }
    return true;
  }
  ReplicatedServer* Primary() {
    for (const auto& server : servers_) {
      if (server->takes_writes()) return server.get();
    }
    return nullptr;
  }
  // What a write of a client of its own says.
  Code Done(Operation operation, const std::string& key, const std::string& value) {
    verify::Request request;
    request.operation = operation;
    request.sequence = ++sequence_;
    request.key = key;
    request.value = value;
    request.value_bytes = static_cast<uint32_t>(value.size());
    request.ttl_seconds = ttl_seconds_;
    std::optional<Replied> reply;
    EXPECT_TRUE(Await([&] { return (reply = a().Send(kOtherClient, request)).has_value(); }));
    return reply ? reply->status : Code::kTimeout;
  }
  // What a() refuses waits for nobody, as it tells of no item.
  void ExpectRefusedAtOnce() {
    b().is_stopped = c().is_stopped = true;
    verify::Request request;
    request.operation = Operation::kPut;
    request.sequence = ++sequence_;
    request.key = "one more";
    a().Send(kOtherClient, request);
    Turn();
    const auto reply = a().Reply(kOtherClient);
    EXPECT_TRUE(reply && reply->status == Code::kNoSpace);
    b().is_stopped = c().is_stopped = false;
  }
  // So many writes more of each client are done, at whoever takes them.
  void Write(uint64_t count) {
    for (Writer& writer : writers_) {
      const uint64_t goal = writer.done() + count;
      ASSERT_TRUE(Await([&] {
        GoOn();
        return writer.done() >= goal;
      }));
    }
  }
  void GoOn() {
    ReplicatedServer* primary = Primary();
    if (primary == nullptr) return;
    for (Writer& writer : writers_) {
      if (!writer.waits()) writer.BeginSome(&random_);
      writer.Go(primary);
    }
  }
  // What waits is done, and nothing else begun.
  void Finish() {
    ASSERT_TRUE(Await([&] {
      ReplicatedServer* primary = Primary();
      bool all_done = true;
      for (Writer& writer : writers_) {
        if (writer.waits() && primary != nullptr) writer.Go(primary);
        all_done = all_done && !writer.waits();
      }
      return all_done;
    }));
  }
  // All that are up have the same, and it is what the clients were told.
  void ExpectAllHaveAll() {
    Finish();
    ASSERT_TRUE(Await([&] {
      const ReplicatedServer* primary = Primary();
      return primary != nullptr && std::ranges::all_of(servers_, [&](const auto& server) {
               return !server->is_up() || server->is_stopped ||
                      (server->replica().is_member() &&
                       server->entries_published() == primary->entries_published());
             });
    }));
    const auto items = Primary()->items();
    size_t stored = 0;
    for (const Writer& writer : writers_) {
      stored += writer.stored().size();
      for (const auto& [key, value] : writer.stored()) {
        const auto found = items.find(key);
        ASSERT_NE(found, items.end()) << key << " is lost";
        EXPECT_EQ(found->second.first, value) << key;
      }
    }
    EXPECT_EQ(items.size(), stored);
    for (const auto& server : servers_) {
      if (server->is_up() && !server->is_stopped) {
        EXPECT_EQ(server->items(), items) << server->name();
      }
    }
  }
  size_t MembersAt(ReplicatedServer* server) {
    return server->is_up() && server->replica().held()
               ? server->replica().held()->shard.in_sync.size()
               : 0;
  }

  test::TemporaryFolder folder_;
  std::mutex mutex_;
  test::SimEnsemble ensemble_{1};
  std::vector<std::unique_ptr<ReplicatedServer>> servers_;
  std::vector<Writer> writers_{Writer(1), Writer(2), Writer(3), Writer(4)};
  uint64_t sequence_ = 0;  // of kOtherClient, as the next
  uint32_t ttl_seconds_ = 0;
  std::mt19937_64 random_{test::NumberFrom("PLOV_SEED", 1)};
};

TEST_F(ShardReplicationTest, WhatIsWrittenIsInAllTables) {
  Write(200);
  ExpectAllHaveAll();
  EXPECT_TRUE(a().ShowsOath(a().replica().epoch()));
}

TEST_F(ShardReplicationTest, NothingIsInTheTableBeforeAllHoldIt) {
  b().is_stopped = true;
  Writer& writer = writers_[0];
  writer.Begin(Operation::kPut, "key", "value");
  const uint64_t published = a().entries_published();
  for (int i = 0; i < 20; ++i) {
    writer.Go(&a());
    Turn();
  }
  if (a().entries_published() == published) {  // b1 was not dropped yet
    EXPECT_TRUE(writer.waits());
    EXPECT_TRUE(a().items().empty());
  }
  Finish();
  EXPECT_EQ(a().items().size(), 1u);
}

TEST_F(ShardReplicationTest, PrimaryThatDiesIsReplaced) {
  Write(50);
  GoOn();
  a().Kill();
  ASSERT_TRUE(Await([&] { return b().serves(); }));
  EXPECT_TRUE(b().ShowsOath(b().replica().epoch()));
  Write(20);
  ExpectAllHaveAll();
}

TEST_F(ShardReplicationTest, PrimaryThatIsStoppedIsReplacedAndComesBack) {
  Write(50);
  GoOn();
  const uint64_t epoch = a().replica().epoch();
  a().is_stopped = true;
  ASSERT_TRUE(Await([&] { return b().serves(); }));
  Write(20);
  Finish();
  EXPECT_TRUE(a().ShowsOath(epoch)) << "its memory goes on answering READs";
  EXPECT_FALSE(b().ShowsOath(epoch)) << "beside which a reader looks at this one";
  EXPECT_NE(a().items(), b().items());
  const Member former = a().replica().self();
  a().is_stopped = false;
  ASSERT_TRUE(Await(
      [&] { return a().is_up() && a().replica().is_member() && a().replica().self() != former; }));
  EXPECT_EQ(a().lives_begun_anew, 0) << "it comes back with what it has";
  ExpectAllHaveAll();
  EXPECT_TRUE(b().serves());
}

// Where the others are silent there may be another primary (rule S8). Their leases have ended.
TEST_F(ShardReplicationTest, WhatIsReadIsNotAnsweredWhileOthersAreSilent) {
  b().is_stopped = true;
  const uint64_t silent_from = TurnClock::now_us() + 30'000;
  ASSERT_TRUE(Await([&] { return TurnClock::now_us() >= silent_from; }));
  verify::Request get;
  get.operation = Operation::kGet;
  get.key = "key";
  get.sequence = 1;
  for (int i = 0; i < 3; ++i) {
    const auto reply = a().Send(77, get);
    EXPECT_FALSE(reply && MembersAt(&a()) == 2);
    Turn();
  }
  EXPECT_TRUE(Await([&] { return a().Send(77, get).has_value(); })) << "b1 is dropped";
}

// What a primary answers without a READ of the client's is a READ of its own (rule S8).
TEST_F(ShardReplicationTest, FormerPrimaryAnswersNothing) {
  Writer& writer = writers_[0];
  writer.Begin(Operation::kPut, "key", "old");
  Finish();
  verify::Request get;
  get.operation = Operation::kGet;
  get.key = "key";
  get.sequence = 1;
  std::optional<Replied> reply;
  ASSERT_TRUE(Await([&] { return (reply = a().Send(77, get)).has_value(); }));
  EXPECT_EQ(reply->value, "old");
  a().is_stopped = true;
  ASSERT_TRUE(Await([&] { return b().serves(); }));
  writer.Begin(Operation::kPut, "key", "new");
  Finish();
  get.sequence = 2;
  EXPECT_FALSE(a().Send(77, get));
  const Member former = a().replica().self();
  a().is_stopped = false;
  ASSERT_TRUE(Await([&] {
    EXPECT_FALSE(a().Reply(77));
    return a().replica().is_member() && a().replica().self() != former;
  }));
  EXPECT_EQ(a().lives_begun_anew, 0);
  ASSERT_TRUE(Await([&] { return (reply = b().Send(77, get)).has_value(); }));
  EXPECT_EQ(reply->value, "new");
}

// Of a replica's clients only those are let in, and they get no item, not even when it is the primary by then.
TEST_F(ShardReplicationTest, WhoAdministersIsLetInEverywhere) {
  b().port()->administers = true;
  uint64_t sequence = 0;
  const auto answer = [&](Operation operation) {
    verify::Request request;
    request.operation = operation;
    request.sequence = ++sequence;
    request.key = "key";
    std::optional<Replied> reply;
    EXPECT_TRUE(Await([&] { return (reply = b().Send(kOtherClient, request)).has_value(); }));
    return reply ? reply->status : Code::kTimeout;
  };
  for (const bool is_primary : {false, true}) {
    EXPECT_EQ(answer(Operation::kStats), Code::kOk);
    for (const Operation of_items : {Operation::kGet, Operation::kPut, Operation::kSync}) {
      EXPECT_EQ(answer(of_items), Code::kUnavailable);
    }
    if (!is_primary) a().Kill();
    ASSERT_TRUE(Await([&] { return b().takes_writes(); }));
  }
  ExpectAllHaveAll();
}

// And GETs by message of what this replica has, whoever its primary is.
TEST_F(ShardReplicationTest, WhoNeverWritesIsServedEverywhere) {
  ASSERT_EQ(Done(Operation::kPut, "key", "value"), Code::kOk);
  ASSERT_TRUE(Await([&] { return b().items().size() == 1; }));
  b().port()->never_writes = true;
  verify::Request request;
  request.operation = Operation::kGet;
  request.key = "key";
  const auto answer = [&] {
    ++request.sequence;
    std::optional<Replied> reply;
    EXPECT_TRUE(Await([&] { return (reply = b().Send(kOtherClient, request)).has_value(); }));
    return reply ? reply->status : Code::kTimeout;
  };
  EXPECT_EQ(answer(), Code::kOk);
  a().is_stopped = true;
  EXPECT_EQ(answer(), Code::kOk);
  a().is_stopped = false;
  for (const Operation write : {Operation::kPut, Operation::kDelete, Operation::kSync}) {
    request.operation = write;
    EXPECT_EQ(answer(), Code::kUnavailable);
  }
}

TEST_F(ShardReplicationTest, MemberThatDiesIsDroppedAndWritesGoOn) {
  Write(50);
  b().Kill();
  Write(50);
  ExpectAllHaveAll();
  EXPECT_EQ(MembersAt(&a()), 1u);
}

TEST_F(ShardReplicationTest, NewReplicaJoinsWhileItIsWrittenAndTakesOver) {
  Write(200);
  c().Start(std::nullopt);
  ASSERT_TRUE(Await([&] {
    GoOn();
    return MembersAt(&a()) == 3 && MembersAt(&c()) == 3;
  }));
  ExpectAllHaveAll();
  GoOn();
  a().Kill();
  b().Kill();
  ASSERT_TRUE(Await([&] { return c().serves(); }));
  Write(20);
  ExpectAllHaveAll();
}

// The primary still has its former life among those that join.
TEST_F(ShardReplicationTest, WhoEndsWhileItJoinsJoinsAgain) {
  for (int i = 0; i < 3; ++i) {
    c().Start(std::nullopt);
    ASSERT_TRUE(Await([&] {
      GoOn();
      return a().replica().joining().has_value();
    }));
    c().Kill();
  }
  c().Start(std::nullopt);
  ASSERT_TRUE(Await([&] {
    GoOn();
    return MembersAt(&a()) == 3 && MembersAt(&c()) == 3;
  }));
  ExpectAllHaveAll();
}

TEST_F(ShardReplicationTest, ShardIsHandedOverAndBack) {
  for (int round = 0; round < 4; ++round) {
    Write(20);
    GoOn();
    ReplicatedServer& from = round % 2 == 0 ? a() : b();
    ReplicatedServer& to = round % 2 == 0 ? b() : a();
    ASSERT_TRUE(Await([&] {
      if (from.serves()) from.HandOverTo(to.member().incarnation);
      return to.serves();
    }));
    ExpectAllHaveAll();
    EXPECT_EQ(MembersAt(&to), 2u) << "who hands over stays a member";
  }
  EXPECT_EQ(a().lives_begun_anew + b().lives_begun_anew, 0);
}

TEST_F(ShardReplicationTest, MemoryThatComesBackIsAMemberAgain) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(Await([&] { return a().serves() || b().serves(); }));
    ReplicatedServer& primary = a().serves() ? a() : b();
    ReplicatedServer& other = a().serves() ? b() : a();
    Write(20);
    ExpectAllHaveAll();  // nothing is sent again: sessions are lost with the process
    auto left = primary.Kill();
    ASSERT_TRUE(Await([&] { return other.serves(); })) << round;
    primary.Start(std::move(left));
    ASSERT_TRUE(Await([&] { return MembersAt(&primary) == 2 && MembersAt(&other) == 2; })) << round;
    ExpectAllHaveAll();
  }
}

// One of three has half of the others' memory.
TEST_F(ShardReplicationTest, WhoIsFullStopsWritesAndStays) {
  c().memory_bytes = size_t{16} << 20;
  c().Start(std::nullopt);
  ASSERT_TRUE(Await([&] { return MembersAt(&c()) == 3 && a().takes_writes(); }));
  for (const size_t bytes : {size_t{300}, size_t{24'000}}) {
    const std::string value(bytes, 'v');
    int stored = 0;
    const auto key = [&](int i) { return std::to_string(bytes) + "/" + std::to_string(i); };
    while (Done(Operation::kPut, key(stored), value) == Code::kOk) ++stored;
    EXPECT_EQ(Done(Operation::kPut, key(stored), value), Code::kNoSpace);
    EXPECT_GT(static_cast<size_t>(stored) * bytes, c().memory_bytes / 2);
    ExpectRefusedAtOnce();
    for (int i = 0; i < stored; ++i) ASSERT_EQ(Done(Operation::kDelete, key(i), ""), Code::kOk);
    EXPECT_TRUE(Await([&] { return Done(Operation::kPut, key(0), value) == Code::kOk; }));
    EXPECT_EQ(Done(Operation::kDelete, key(0), ""), Code::kOk);
  }
  EXPECT_EQ(MembersAt(&a()), 3u);
  EXPECT_EQ(c().lives_begun_anew, 0);
  ExpectAllHaveAll();
}

TEST_F(ShardReplicationTest, WhoIsFullOfWhatHasExpiredTakesMore) {
  c().memory_bytes = size_t{16} << 20;
  c().Start(std::nullopt);
  ASSERT_TRUE(Await([&] { return MembersAt(&c()) == 3 && a().takes_writes(); }));
  ttl_seconds_ = 1;
  const std::string value(24'000, 'v');
  int stored = 0;
  while (Done(Operation::kPut, std::to_string(stored), value) == Code::kOk) ++stored;
  EXPECT_TRUE(Await([&] { return Done(Operation::kPut, "one more", value) == Code::kOk; }));
  EXPECT_EQ(c().lives_begun_anew, 0);
}

TEST_F(ShardReplicationTest, WhoIsTooSmallForTheOthersJoinsThemNot) {
  const std::string value(24'000, 'v');
  for (int i = 0; i < 790; ++i) {  // more than it may have, and less than it can
    ASSERT_EQ(Done(Operation::kPut, std::to_string(i), value), Code::kOk);
  }
  c().memory_bytes = size_t{16} << 20;
  c().Start(std::nullopt);
  EXPECT_TRUE(Await([&] { return c().lives_too_small >= 2; }));
  EXPECT_EQ(c().lives_too_small, c().lives_begun_anew);
  EXPECT_EQ(MembersAt(&a()), 2u);
  EXPECT_EQ(Done(Operation::kPut, "one more", value), Code::kOk);
}

// Whatever happens, every write is done once, and what it answered is so.
TEST_F(ShardReplicationTest, NoWriteIsLostOrDoneTwice) {
  c().Start(std::nullopt);
  const uint64_t faults = test::NumberFrom("PLOV_FAULTS", 12);
  for (uint64_t fault = 0; fault < faults; ++fault) {
    ASSERT_TRUE(Await([&] {
      GoOn();
      ReplicatedServer* primary = Primary();
      return primary != nullptr && MembersAt(primary) == 3;
    })) << fault;
    ReplicatedServer* primary = Primary();
    ReplicatedServer* one = servers_[random_() % 3].get();
    switch (random_() % 4) {
      case 0:
        one->Kill();
        one->Start(std::nullopt);
        break;
      case 1:
        primary->Kill();
        primary->Start(std::nullopt);
        break;
      case 2:
        one->is_stopped = true;
        Write(20);
        one->is_stopped = false;
        break;
      default:
        primary->HandOverTo(one->member().incarnation);
    }
    Write(20);
    if (HasFailure()) break;
  }
  ASSERT_TRUE(Await([&] { return Primary() != nullptr && MembersAt(Primary()) == 3; }));
  ExpectAllHaveAll();
}

}  // namespace
}  // namespace plov::server
