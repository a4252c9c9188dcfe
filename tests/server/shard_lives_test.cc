// A shard that is started again with its log: what became of the writes that its clients send once more.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "server/durable_log.h"
#include "tests/log/simulated_disk.h"
#include "tests/server/shard_world.h"

namespace plov::server {
namespace {

using log::CommitMode;
using test::SimulatedDisk;
using verify::Operation;

verify::Request DeleteOf(std::string_view key, uint64_t sequence) {
  auto request = RequestOf(Operation::kDelete, key);
  request.request_id = request.sequence = sequence;
  return request;
}

constexpr uint64_t kSmallSegmentBytes = 64 << 10;

class ShardLives : public testing::TestWithParam<CommitMode> {
 protected:
  using Client = ShardWorld::Client;

  ShardLives() { Begin(std::make_unique<SimulatedDisk>()); }

  void Begin(std::unique_ptr<SimulatedDisk> disk) {
    disk_ = disk.get();
    log_ = std::move(*DurableLog::OpenOn(
        std::move(disk), {.folder = "sim", .mode = GetParam(), .segment_bytes = kSmallSegmentBytes},
        ShardSet::Of(1)));
    StoreOptions options = StoreWorld::SmallOptions();
    options.grows = options.stashes = true;
    world_.emplace(options);
    Shard& shard = world_->shard;
    ASSERT_TRUE(log_->Recover(0, shard.store_to_restore(), shard.sessions_to_restore()));
    ASSERT_TRUE(log_->Begin(0x5eed, {[] {}}));
    shard.LogTo({log_->of_shard(0), GetParam(), log_->feed_of_shard(0)});
  }

  // The power goes: what was not synced is lost.
  void Restart() {
    SimulatedDisk::Random random(7);
    auto disk = disk_->Crash(&random);
    world_.reset();
    log_.reset();
    Begin(std::move(disk));
  }

  Client Connect(std::optional<uid_t> user = 1000) {
    world_->port.user = user;
    return world_->Connect(7);
  }
  void HangUp(const Client& client) { world_->HangUp(client); }
  // More clients come and go than are remembered.
  void Crowd() {
    for (uint64_t i = 0; i <= kIdleSessionsMax; ++i) HangUp(world_->Connect(1000 + i));
  }
  void Send(const Client& client, const std::vector<verify::Request>& requests) {
    world_->port.sent.clear();
    world_->port.Script(ShardWorld::Kind::kMessage, client.peer, client.id,
                        Encode(client.id, requests));
    Turn();
  }
  // The disk does all it was given, again and again.
  void Commit() {
    for (int i = 0; i < 5; ++i) {
      while (log_->of_shard(0)->pending()) {
        log_->of_shard(0)->PassOn();
        log_->of_shard(0)->Step(true);
      }
      Turn();
    }
  }
  std::vector<Replied> Ask(const Client& client, const std::vector<verify::Request>& requests) {
    Send(client, requests);
    Commit();
    return world_->Collect(client);
  }
  void TakeSnapshot() {
    log_->feed_of_shard(0)->Ask();
    for (int i = 0; i < 1000 && log_->feed_of_shard(0)->stats().taken == 0; ++i) {
      Commit();
      log_->snapshots()->Step(true);
    }
    ASSERT_EQ(log_->feed_of_shard(0)->stats().taken, 1u);
  }
  std::string ValueOf(const Client& client, std::string_view key) {
    return Ask(client, {GetOf(key)}).at(0).value;
  }
  uint64_t LastVersion() const { return world_->shard.store().last_version(); }

 private:
  void Turn() {
    for (int i = 0; i < 50; ++i) world_->shard.Turn();
  }

  SimulatedDisk* disk_ = nullptr;
  std::unique_ptr<DurableLog> log_;
  std::optional<ShardWorld> world_;
};

TEST_P(ShardLives, WhatWasAppliedBeforeIsAnsweredAgainAndNotApplied) {
  auto client = Connect();
  const auto before = Ask(client, {PutOf("a", "1", 1), PutOf("b", "2", 2), DeleteOf("b", 3)});
  ASSERT_EQ(before.size(), 3u);
  Ask(Connect(2000), {PutOf("a", "other", 1)});
  Restart();
  client = Connect();
  const auto after = Ask(client, {RetryOf(PutOf("a", "1", 1)), RetryOf(PutOf("b", "2", 2)),
                                  RetryOf(DeleteOf("b", 3))});
  ASSERT_EQ(after.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(after[i].status, Code::kOk);
  EXPECT_EQ(after[0].version, before[0].version);
  EXPECT_EQ(after[1].version, before[1].version);
  EXPECT_EQ(ValueOf(client, "a"), "other");
  EXPECT_EQ(Ask(client, {GetOf("b")}).at(0).status, Code::kNotFound);
}

TEST_P(ShardLives, WhatTheLogHasNotIsApplied) {
  auto client = Connect();
  Ask(client, {PutOf("a", "1", 1)});
  Send(client, {PutOf("a", "2", 2)});  // and the power goes
  Restart();
  client = Connect();
  EXPECT_EQ(ValueOf(client, "a"), "1");
  const auto after = Ask(client, {RetryOf(PutOf("a", "2", 2)), PutOf("c", "3", 3)});
  for (const Replied& reply : after) EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_EQ(ValueOf(client, "a"), "2");
}

TEST_P(ShardLives, TheFirstWriteOfAClientIsAppliedToo) {
  Send(Connect(), {PutOf("a", "1", 1)});
  Restart();
  const auto client = Connect();
  EXPECT_EQ(Ask(client, {RetryOf(PutOf("a", "1", 1))}).at(0).status, Code::kOk);
  EXPECT_EQ(ValueOf(client, "a"), "1");
}

// It was the first to delete: applied now it would take away what came after it.
TEST_P(ShardLives, WhatWasRefusedIsNotTriedAgainAfterALaterWrite) {
  auto client = Connect();
  Ask(client, {DeleteOf("a", 1), PutOf("a", "1", 2)});
  Restart();
  client = Connect();
  const auto after = Ask(client, {RetryOf(DeleteOf("a", 1)), RetryOf(PutOf("a", "1", 2))});
  EXPECT_EQ(after.at(0).status, Code::kUnknown);
  EXPECT_EQ(after.at(1).status, Code::kOk);
  EXPECT_EQ(ValueOf(client, "a"), "1");
}

TEST_P(ShardLives, AnotherUserWithTheSameIdIsAnotherClient) {
  const auto before = Ask(Connect(), {PutOf("a", "1", 1)});
  Restart();
  for (const std::optional<uid_t> user : {std::optional<uid_t>(1001), std::optional<uid_t>()}) {
    const auto after = Ask(Connect(user), {RetryOf(PutOf("a", "2", 1))});
    EXPECT_EQ(after.at(0).status, Code::kOk);
    EXPECT_NE(after.at(0).version, before.at(0).version);
  }
  EXPECT_EQ(Ask(Connect(), {RetryOf(PutOf("a", "1", 1))}).at(0).version, before.at(0).version);
}

TEST_P(ShardLives, AClientThatWroteOnlyBeforeTheSnapshotIsAnsweredToo) {
  auto client = Connect();
  const auto before = Ask(client, {PutOf("a", "1", 1), PutOf("a", "2", 2)});
  Ask(Connect(2000), {PutOf("a", "other", 1)});
  TakeSnapshot();
  for (int life = 0; life < 2; ++life) {
    Restart();
    client = Connect();
    const auto after = Ask(client, {RetryOf(PutOf("a", "1", 1)), RetryOf(PutOf("a", "2", 2))});
    EXPECT_EQ(after.at(0).status, Code::kUnknown) << "only the last is in the snapshot";
    EXPECT_EQ(after.at(1).status, Code::kOk);
    EXPECT_EQ(after.at(1).version, before.at(1).version);
    EXPECT_EQ(ValueOf(client, "a"), "other");
  }
}

TEST_P(ShardLives, WhatWasUnderWaySinceTheSnapshotIsApplied) {
  auto client = Connect();
  Ask(client, {PutOf("a", "1", 1)});
  Connect(2000);
  TakeSnapshot();
  Send(client, {PutOf("a", "2", 2)});  // and the power goes
  Restart();
  client = Connect();
  EXPECT_EQ(Ask(client, {RetryOf(PutOf("a", "2", 2))}).at(0).status, Code::kOk);
  EXPECT_EQ(ValueOf(client, "a"), "2");
  for (const uid_t user : {2000u, 3000u}) {  // who was there and who was not
    EXPECT_EQ(Ask(Connect(user), {RetryOf(PutOf("a", "3", 1))}).at(0).status, Code::kOk);
  }
}

TEST_P(ShardLives, OfAClientWhoseSessionWasDroppedBeforeTheSnapshotNothingIsKnown) {
  auto client = Connect();
  Ask(client, {PutOf("a", "1", 1)});
  HangUp(client);
  Crowd();
  TakeSnapshot();
  Restart();
  client = Connect();
  EXPECT_EQ(Ask(client, {RetryOf(PutOf("a", "1", 1))}).at(0).status, Code::kUnknown);
  EXPECT_EQ(Ask(client, {PutOf("a", "2", 2)}).at(0).status, Code::kOk) << "a new one is";
  EXPECT_EQ(ValueOf(client, "a"), "2");
}

// Nor of a life that has left nothing, where the next one goes on from the same log. More often than not the
// random number that a store begins with is lower than one before.
TEST_P(ShardLives, VersionsThatAreLostAreNotGivenOutAgain) {
  Ask(Connect(), {PutOf("a", "1", 1)});
  uint64_t last = 0;
  for (uint64_t life = 0; life < 20; ++life) {
    ASSERT_GT(LastVersion(), last) << life;
    Send(Connect(), {PutOf("a", "lost", 2)});
    last = LastVersion();
    Restart();
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ShardLives,
                         testing::Values(CommitMode::kStrict, CommitMode::kAcked,
                                         CommitMode::kAsync));

}  // namespace
}  // namespace plov::server
