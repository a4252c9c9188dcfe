// ConfigurationAgent: what its thread reads and proposes arrives at the shard that asked, once, whatever the coordinator
// loses.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include "cluster/configuration_agent.h"
#include "tests/cluster/one_at_a_time.h"
#include "tests/cluster/sim_coordinator.h"
#include "tests/cluster/values.h"

namespace plov::test {
namespace {

using cluster::ConfigurationAgent;
using cluster::ConfigurationRegister;
using cluster::Held;
using cluster::Shard;
using cluster::Verdict;

constexpr std::chrono::seconds kWaitMax{30};
constexpr uint32_t kNumber = 7;

// A server of the cluster, as its shard's thread sees it.
class Agent {
 public:
  Agent(SimEnsemble* ensemble, std::mutex* mutex) : Agent(ensemble->Connect(), mutex) {}
  Agent(std::unique_ptr<cluster::Coordinator> coordinator, std::mutex* mutex)
      : coordinator_(std::move(coordinator), mutex),
        agent_(*ConfigurationAgent::Create(&coordinator_, kClusterId, [](uint32_t) {})) {}

  ConfigurationAgent* operator->() { return agent_.get(); }

  // What it has read, once it is of this epoch or a later one.
  std::optional<Held> AwaitEpoch(uint64_t epoch) {
    return Await<Held>([&] { return NewsOfEpoch(epoch); });
  }
  // The same where reads fail, or return what is old.
  std::optional<Held> ReadEpoch(uint64_t epoch) {
    return Await<Held>([&] {
      agent_->Read(kNumber);
      return NewsOfEpoch(epoch);
    });
  }
  std::optional<ConfigurationAgent::News> AwaitOutcome() {
    return Await<ConfigurationAgent::News>([&] {
      std::optional<ConfigurationAgent::News> news = agent_->Take(kNumber);
      if (!news->outcome) news.reset();
      return news;
    });
  }

  template <typename T, typename Take>
  static std::optional<T> Await(const Take& take) {
    const auto deadline = std::chrono::steady_clock::now() + kWaitMax;
    while (std::chrono::steady_clock::now() < deadline) {
      if (std::optional<T> taken = take()) return taken;
      std::this_thread::yield();
    }
    return std::nullopt;
  }

 private:
  std::optional<Held> NewsOfEpoch(uint64_t epoch) {
    auto held = agent_->Take(kNumber).held;
    if (held && held->shard.epoch < epoch) held.reset();
    return held;
  }

  OneAtATime coordinator_;
  std::unique_ptr<ConfigurationAgent> agent_;
};

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto coordinator = ensemble_.Connect();
    ASSERT_TRUE(ConfigurationRegister(coordinator.get(), kNumber, kClusterId).Create(WholeShard()));
  }
  static Shard WithPrimary(const Held& held, const std::string& primary) {
    Shard shard = held.shard;
    shard.primary = primary;
    return shard;
  }

  std::mutex mutex_;
  SimEnsemble ensemble_{1};
};

TEST_F(AgentTest, WhatIsHeldIsReadAndReadAgainWhenItChanges) {
  Agent one(&ensemble_, &mutex_), other(&ensemble_, &mutex_);
  one->Read(kNumber);
  other->Read(kNumber);
  const auto held = one.AwaitEpoch(1);
  ASSERT_TRUE(held);
  ASSERT_TRUE(other.AwaitEpoch(1));
  one->Propose(kNumber, 5, *held, WithPrimary(*held, "a1"));
  const auto news = one.AwaitOutcome();
  ASSERT_TRUE(news);
  EXPECT_EQ(news->outcome->verdict, Verdict::kAccepted);
  EXPECT_EQ(news->proposer, 5u);
  const auto seen = other.AwaitEpoch(2);
  ASSERT_TRUE(seen) << "by the hint alone";
  EXPECT_EQ(seen->shard.primary, "a1");
}

TEST_F(AgentTest, ProposalsOfOneShardAreMadeOneAfterTheOther) {
  Agent agent(&ensemble_, &mutex_);
  agent->Read(kNumber);
  const auto held = agent.AwaitEpoch(1);
  ASSERT_TRUE(held);
  agent->Propose(kNumber, 5, *held, WithPrimary(*held, "a1"));
  agent->Propose(kNumber, 6, *held, WithPrimary(*held, "b1"));
  const auto first = agent.AwaitOutcome(), second = agent.AwaitOutcome();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->proposer, 5u);
  EXPECT_EQ(first->outcome->verdict, Verdict::kAccepted);
  EXPECT_EQ(second->proposer, 6u);
  EXPECT_EQ(second->outcome->verdict, Verdict::kRefused) << "on what is not held any more";
}

// No reply comes through, so nobody knows what became of it.
TEST_F(AgentTest, ProposalStaysOpenUntilItIsSettled) {
  auto connected = std::make_unique<SimCoordinator>(&ensemble_);
  const SimCoordinator* const coordinator = connected.get();
  Agent agent(std::move(connected), &mutex_);
  agent->Read(kNumber);
  const auto held = agent.AwaitEpoch(1);
  ASSERT_TRUE(held);
  const auto set_faults = [this](const SimFaults& faults) {
    const std::lock_guard lock(mutex_);
    ensemble_.faults = faults;
  };
  set_faults({.lost_done = 1000});
  agent->Propose(kNumber, 5, *held, WithPrimary(*held, "a1"));
  ASSERT_TRUE(agent.Await<bool>([&] {
    const std::lock_guard lock(mutex_);
    return coordinator->sent().size() >= 4 ? std::optional(true) : std::nullopt;
  }));
  EXPECT_FALSE(agent->Take(kNumber).outcome);
  set_faults({});
  const auto news = agent.AwaitOutcome();
  ASSERT_TRUE(news);
  EXPECT_EQ(news->outcome->verdict, Verdict::kAccepted);
  EXPECT_EQ(news->outcome->held->shard.primary, "a1");
}

// Each proposal has one outcome, and the epochs are those that were accepted.
TEST_F(AgentTest, LostRepliesAreSettled) {
  ensemble_.faults = {.old_read = 100, .lost_done = 150, .lost_never = 150, .lost_late = 150};
  Agent one(&ensemble_, &mutex_), other(&ensemble_, &mutex_);
  uint64_t epoch = 1;
  for (int round = 0; round < 100; ++round) {
    Agent& agent = round % 2 == 0 ? one : other;
    const auto held = agent.ReadEpoch(epoch);
    ASSERT_TRUE(held) << round;
    agent->Propose(kNumber, 5, *held, WithPrimary(*held, round % 3 == 0 ? "a1" : "b1"));
    const auto news = agent.AwaitOutcome();
    ASSERT_TRUE(news) << round;
    if (news->outcome->verdict == Verdict::kAccepted) ++epoch;
    ASSERT_NE(news->outcome->verdict, Verdict::kPassed);
  }
  EXPECT_GT(epoch, 30u);
  {
    const std::lock_guard lock(mutex_);
    ensemble_.faults = {};
  }
  const auto held = one.ReadEpoch(epoch);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->shard.epoch, epoch);
}

}  // namespace
}  // namespace plov::test
