// Replicas of a shard on servers of this process, over shared memory and with a coordinator in memory: one thread has
// its turns at all of them. Which orders of events are right is for tests/cluster; here it is shown that everything is
// connected: what is written is published by all, and whoever dies, stops or comes is noticed.
#include "server/shard_replica.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/random.h"
#include "server/clock.h"
#include "tests/cluster/one_at_a_time.h"
#include "tests/cluster/sim_coordinator.h"
#include "tests/cluster/values.h"
#include "tests/server/stream_listener.h"
#include "tests/support/folder.h"

namespace plov::server {
namespace {

using cluster::Member;
using cluster::Replica;
using cluster::Tail;
using test::kClusterId;

constexpr uint32_t kShard = 7;
constexpr std::chrono::seconds kWaitMax{60};

cluster::Config TestConfig() {
  cluster::Config config = test::WholeConfig();
  config.lease = std::chrono::milliseconds(20);
  return config;
}

// All servers' time. It goes on with theirs, and stands still while they have no turns: whoever had none is not silent.
class Clock {
 public:
  uint64_t now_us() const { return now_us_; }
  void Tick() {
    const uint64_t real_us = MonotonicUs();
    now_us_ += std::min(real_us - real_us_, kTurnUsMax);
    real_us_ = real_us;
  }

 private:
  static constexpr uint64_t kTurnUsMax = 2000;
  uint64_t real_us_ = MonotonicUs();
  uint64_t now_us_ = 1'000'000;
};

class TestServer : public ReplicaOwner {
 public:
  TestServer(std::string name, const std::string& folder, const Clock* clock,
             test::SimEnsemble* ensemble, std::mutex* mutex)
      : clock_(clock),
        name_(std::move(name)),
        uri_("shm:" + folder + "/" + name_),
        coordinator_(ensemble->Connect(), mutex),
        oaths_(*ClusterRegion::Create(kClusterId, 1)),
        agent_(*cluster::ConfigurationAgent::Create(&coordinator_, kClusterId, [this](uint32_t) {
          const std::lock_guard lock(wake_mutex_);
          if (replica_) replica_->Wake();
        })) {}

  const std::string& name() const { return name_; }
  const std::string& uri() const { return uri_; }
  Dialers* dialers() { return &dialers_; }
  Member member() const { return {name_, incarnation_}; }

  // Its process begins; without memory it has another incarnation.
  void Start(std::optional<Replica::Memory> memory) {
    if (!memory) {
      incarnation_ = fabric::RandomId();
      published.clear();
    }
    listener_.emplace(uri_);
    const ShardReplica::Server server{&coordinator_, agent_.get(), oaths_.get(), &dialers_};
    const std::lock_guard lock(wake_mutex_);
    replica_.emplace(
        server, this,
        ShardReplica::Options{
            .config = TestConfig(), .shard = kShard, .self = member(), .memory = std::move(memory)},
        clock_->now_us());
    replica_->AddPort(listener_->Expose(kShard));
  }
  // And ends. What is left: its memory, if it was a member.
  std::optional<Replica::Memory> Kill() {
    std::optional<Replica::Memory> left;
    const std::lock_guard lock(wake_mutex_);
    if (replica_->replica().is_member()) {
      left = Replica::Memory{replica_->replica().tail(), *replica_->replica().held()};
    }
    replica_.reset();
    listener_.reset();
    oaths_->ClearOath(kShard);
    return left;
  }

  void Step() {
    if (!replica_ || is_stopped) return;
    (*listener_)->HandleEvents();
    replica_->Step(clock_->now_us());
    if (caught_up_) {
      caught_up_ = false;
      replica_->CaughtUp();
    }
    if (starts_anew_) {
      starts_anew_ = false;
      ++lives_begun_anew;
      Kill();
      Start(std::nullopt);
    }
  }

  bool is_up() const { return replica_.has_value(); }
  ShardReplica& replica() { return *replica_; }
  bool serves() const { return is_up() && !is_stopped && replica_->replica().serves(); }
  void Write(const std::string& data) { replica_->Write(data, clock_->now_us()); }
  // As a client READs it.
  bool ShowsOath(uint64_t epoch) const {
    const uint64_t* oath = verify::WordsAt(oaths_->region().data(), verify::OathOffset(kShard));
    return verify::LoadWord(oath) == verify::Oath(kClusterId, kShard, epoch, incarnation_);
  }

  bool is_stopped = false;
  std::vector<std::string> published;
  int lives_begun_anew = 0;
  // What a new replica READs from the primary.
  std::function<std::vector<std::string>(const Member& primary, uint64_t count)> read;

 private:
  void Publish(const cluster::Entry& entry) override { published.push_back(*entry.data); }
  void CatchUp(const Member& primary, const cluster::Position& since) override {
    published = read(primary, since.number);
    caught_up_ = true;
  }
  void CloseReaders() override {}
  void Deposed() override {}
  void StartAnew(const char*) override { starts_anew_ = true; }

  const Clock* clock_;
  std::string name_;
  std::string uri_;
  test::OneAtATime coordinator_;
  std::unique_ptr<ClusterRegion> oaths_;
  Dialers dialers_{[] {}};
  uint64_t incarnation_ = fabric::RandomId();
  bool caught_up_ = false, starts_anew_ = false;
  std::optional<StreamListener> listener_;
  std::mutex wake_mutex_;
  std::optional<ShardReplica> replica_;
  std::unique_ptr<cluster::ConfigurationAgent> agent_;  // the last, so that it ends first
};

class ShardReplicaTest : public ::testing::Test {
 protected:
  // a1 is the primary, b1 has joined it; c1 is not there yet.
  void SetUp() override {
    for (const char* name : {"a1", "b1", "c1"}) {
      servers_.push_back(
          std::make_unique<TestServer>(name, folder_.path(), &clock_, &ensemble_, &mutex_));
      servers_.back()->read = [this](const Member& primary, uint64_t count) {
        const auto& entries = ServerOf(primary.server).published;
        return std::vector<std::string>(entries.begin(),
                                        entries.begin() + static_cast<ptrdiff_t>(count));
      };
    }
    for (const auto& one : servers_) {
      for (const auto& other : servers_) one->dialers()->Set(other->name(), {other->uri()});
    }
    test::OneAtATime coordinator(ensemble_.Connect(), &mutex_);
    cluster::ConfigurationRegister shard(&coordinator, kShard, kClusterId);
    const auto held = shard.Create(test::ShardOf("a1", {a().member()}));
    ASSERT_TRUE(held);
    a().Start(Replica::Memory{Tail({}), *held});
    ASSERT_TRUE(Await([&] { return a().serves(); }));
    b().Start(std::nullopt);
    ASSERT_TRUE(
        Await([&] { return a().serves() && MembersAt(&a()) == 2 && MembersAt(&b()) == 2; }));
  }
  TestServer& a() { return *servers_[0]; }
  TestServer& b() { return *servers_[1]; }
  TestServer& c() { return *servers_[2]; }
  TestServer& ServerOf(const std::string& name) {
    return **std::ranges::find(servers_, name, &TestServer::name);
  }

  bool Await(const std::function<bool()>& condition) {
    const auto deadline = fabric::Clock::now() + kWaitMax;
    while (!condition()) {
      if (fabric::Clock::now() > deadline) return false;
      clock_.Tick();
      for (const auto& server : servers_) server->Step();
    }
    return true;
  }
  // Numbers that no entry had before.
  void Write(TestServer* server, int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(Await([&] { return server->replica().replica().takes_writes(); }));
      written_.push_back(std::to_string(written_.size()));
      server->Write(written_.back());
    }
  }
  bool AwaitAllAt(TestServer* server) {
    return Await([&] { return server->published == written_; });
  }
  size_t MembersAt(TestServer* server) {
    return server->is_up() && server->replica().replica().held()
               ? server->replica().replica().held()->shard.in_sync.size()
               : 0;
  }

  test::TemporaryFolder folder_;
  Clock clock_;
  std::mutex mutex_;
  test::SimEnsemble ensemble_{1};
  std::vector<std::unique_ptr<TestServer>> servers_;
  std::vector<std::string> written_;
};

TEST_F(ShardReplicaTest, WhatIsWrittenIsPublishedByAll) {
  Write(&a(), 500);
  EXPECT_TRUE(AwaitAllAt(&a()));
  EXPECT_TRUE(AwaitAllAt(&b())) << "with the beat that follows at the latest";
  EXPECT_TRUE(a().ShowsOath(a().replica().replica().epoch()));
}

TEST_F(ShardReplicaTest, PrimaryThatDiesIsReplaced) {
  Write(&a(), 50);
  ASSERT_TRUE(AwaitAllAt(&a()));
  a().Kill();
  ASSERT_TRUE(Await([&] { return b().serves(); }));
  EXPECT_EQ(b().published, written_);
  EXPECT_TRUE(b().ShowsOath(b().replica().replica().epoch()));
  Write(&b(), 10);
  EXPECT_TRUE(AwaitAllAt(&b()));
}

TEST_F(ShardReplicaTest, PrimaryThatIsStoppedIsReplacedAndComesBack) {
  Write(&a(), 50);
  ASSERT_TRUE(AwaitAllAt(&a()));
  const uint64_t epoch = a().replica().replica().epoch();
  a().is_stopped = true;
  ASSERT_TRUE(Await([&] { return b().serves(); }));
  Write(&b(), 10);
  ASSERT_TRUE(AwaitAllAt(&b()));
  EXPECT_TRUE(a().ShowsOath(epoch)) << "its memory goes on answering READs";
  EXPECT_FALSE(b().ShowsOath(epoch)) << "beside which a reader looks at this one";
  EXPECT_NE(a().published, written_);
  a().is_stopped = false;
  ASSERT_TRUE(Await([&] { return a().lives_begun_anew > 0 && MembersAt(&a()) == 2; }));
  EXPECT_TRUE(AwaitAllAt(&a()));
  EXPECT_TRUE(b().serves());
}

TEST_F(ShardReplicaTest, MemberThatDiesIsDroppedAndWritesGoOn) {
  Write(&a(), 50);
  b().Kill();
  Write(&a(), 50);
  EXPECT_TRUE(AwaitAllAt(&a()));
  EXPECT_EQ(MembersAt(&a()), 1u);
}

TEST_F(ShardReplicaTest, NewReplicaJoinsAndTakesOver) {
  Write(&a(), 50);
  ASSERT_TRUE(AwaitAllAt(&a()));
  c().Start(std::nullopt);
  ASSERT_TRUE(Await([&] { return MembersAt(&a()) == 3 && MembersAt(&c()) == 3; }));
  Write(&a(), 10);
  ASSERT_TRUE(AwaitAllAt(&c()));
  a().Kill();
  b().Kill();
  ASSERT_TRUE(Await([&] { return c().serves(); }));
  EXPECT_EQ(c().published, written_);
}

TEST_F(ShardReplicaTest, ShardIsHandedOver) {
  Write(&a(), 50);
  a().replica().HandOverTo(b().member().incarnation);
  ASSERT_TRUE(Await([&] { return b().serves(); }));
  Write(&b(), 50);
  EXPECT_TRUE(AwaitAllAt(&a()));
  EXPECT_EQ(MembersAt(&b()), 2u) << "who hands over stays a member";
  EXPECT_EQ(a().lives_begun_anew, 0);
}

TEST_F(ShardReplicaTest, MemoryThatComesBackIsAMemberAgain) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(Await([&] { return a().serves() || b().serves(); }));
    TestServer& primary = a().serves() ? a() : b();
    TestServer& other = a().serves() ? b() : a();
    Write(&primary, 20);
    ASSERT_TRUE(AwaitAllAt(&primary));
    auto left = primary.Kill();
    ASSERT_TRUE(Await([&] { return other.serves(); })) << round;
    ASSERT_EQ(other.published, written_) << round;
    primary.Start(std::move(left));
    ASSERT_TRUE(Await([&] { return MembersAt(&primary) == 2 && MembersAt(&other) == 2; })) << round;
    ASSERT_TRUE(AwaitAllAt(&primary)) << round;
  }
}

}  // namespace
}  // namespace plov::server
