// Which thread serves which shard, as their load comes and goes.

#include "server/shard_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "tests/server/store_world.h"

namespace plov::server {
namespace {

using std::chrono::milliseconds;

// A port with work as long as the test says, which notices when two threads serve it.
class BusyPort final : public fabric::Port {
 public:
  BusyPort() : bell_(fabric::CreateEventFd().value()) {}

  std::optional<fabric::PortEvent> Poll() override {
    EXPECT_FALSE(is_served_.exchange(true)) << "by two threads";
    ++polls;
    is_served_ = false;
    if (!is_busy) return std::nullopt;
    return fabric::PortEvent{.kind = fabric::PortEvent::Kind::kProgress};
  }
  void Send(fabric::PeerId, std::span<const std::byte>) override {}
  void Read(fabric::PeerId, const fabric::PeerRead&) override {}
  void Close(fabric::PeerId) override {}
  int fd() const override { return bell_.get(); }
  bool Arm() override { return !is_busy; }
  void Disarm() override { fabric::ClearEvent(bell_.get()); }
  void Wake() override { fabric::Ring(bell_.get()); }

  std::atomic<bool> is_busy = false;
  std::atomic<uint64_t> polls = 0;

 private:
  fabric::Fd bell_;
  std::atomic<bool> is_served_ = false;
};

class ShardThreadsTest : public ::testing::Test {
 protected:
  static constexpr size_t kShards = 6, kThreads = 3;

  ShardThreadsTest() {
    for (size_t i = 0; i < kShards; ++i) {
      shards_.push_back(std::make_unique<Shard>(Store::Create(StoreWorld::SmallOptions()).value()));
      shards_.back()->AddPort(&ports_[i]);
    }
    threads_ = ShardThreads::Create(kThreads).value();
    for (const auto& shard : shards_) EXPECT_TRUE(threads_->Add(shard.get()));
    threads_->SetSpin(50);
    threads_->Start();
  }

  void SetBusy(bool is_busy) {
    for (BusyPort& port : ports_) {
      port.is_busy = is_busy;
      port.Wake();
    }
  }
  // Of those threads that have any.
  size_t ThreadsInUse() const {
    const auto counts = threads_->shard_counts();
    return counts.size() - static_cast<size_t>(std::ranges::count(counts, 0U));
  }

  // Wakes all shards again and again until it is so.
  template <typename Condition>
  void Await(const Condition& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      for (BusyPort& port : ports_) port.Wake();
      std::this_thread::sleep_for(milliseconds(1));
    }
  }

  std::array<BusyPort, kShards> ports_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<ShardThreads> threads_;
};

TEST_F(ShardThreadsTest, ShardsSpreadWithTheirLoadAndComeTogetherAfterIt) {
  for (int round = 0; round < 3; ++round) {
    SetBusy(true);
    Await([&] { return ThreadsInUse() == kThreads; });
    SetBusy(false);
    Await([&] { return ThreadsInUse() == 1; });
    EXPECT_EQ(threads_->shard_counts().front(), kShards);
    for (BusyPort& port : ports_) {  // none is left behind asleep
      const uint64_t polls = port.polls;
      Await([&] { return port.polls > polls; });
    }
  }
}

TEST_F(ShardThreadsTest, WorkThatComesOneAfterTheOtherStaysTogether) {
  ports_[1].is_busy = true;
  ports_[1].Wake();
  Await([&] { return ports_[1].polls > 300'000; });
  EXPECT_EQ(threads_->shard_counts().front(), kShards);
}

TEST_F(ShardThreadsTest, AreAliveInAnyCase) {
  SetBusy(true);
  Await([&] { return ThreadsInUse() == kThreads; });
  Await([&] { return threads_->IsAlive(); });
  SetBusy(false);
  Await([&] { return ThreadsInUse() == 1 && threads_->IsAlive(); });
}

TEST(ThreadLoad, CountsTimeWithoutWorkAndWorkAtOnce) {
  const fabric::Clock::time_point begin(std::chrono::hours(1));
  ThreadLoad load(begin);
  EXPECT_FALSE(load.HasEnded(begin + milliseconds(1)));
  load.CountIdle(begin + milliseconds(1));
  load.CountIdle(begin + milliseconds(2));  // one without
  load.CountWork(3);
  load.CountIdle(begin + milliseconds(3));
  load.CountWork(2);
  ASSERT_TRUE(load.HasEnded(begin + milliseconds(4)));
  const ThreadLoad::Window window = load.End(begin + milliseconds(4));
  EXPECT_DOUBLE_EQ(window.busy, 0.75);
  EXPECT_DOUBLE_EQ(window.shards_at_once, 2.5);
  EXPECT_FALSE(load.HasEnded(begin + milliseconds(5)));
}

TEST(ThreadLoad, AWaitGoesOnIntoTheNextWindow) {
  const fabric::Clock::time_point begin(std::chrono::hours(1));
  ThreadLoad load(begin);
  load.CountIdle(begin);
  load.CountIdle(begin + milliseconds(4));
  EXPECT_DOUBLE_EQ(load.End(begin + milliseconds(4)).busy, 0);
  load.CountIdle(begin + milliseconds(8));
  const ThreadLoad::Window window = load.End(begin + milliseconds(8));
  EXPECT_DOUBLE_EQ(window.busy, 0);
  EXPECT_DOUBLE_EQ(window.shards_at_once, 0);
}

TEST_F(ShardThreadsTest, RemovedShardHasNoTurnsUntilItIsAddedAgain) {
  SetBusy(true);
  Await([&] { return ThreadsInUse() > 1; });
  for (size_t i = 0; i < kShards; ++i) {
    threads_->Remove(shards_[i].get());
    const uint64_t polls = ports_[i].polls;
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_EQ(ports_[i].polls, polls) << i;
    ASSERT_TRUE(threads_->Add(shards_[i].get()));
    Await([&] { return ports_[i].polls > polls; });
  }
  SetBusy(false);
}

}  // namespace
}  // namespace plov::server
