// ShardReplication: a shard's side of its replicas: who is not the primary serves no clients, a write's reply waits until
// all replicas hold it, and what was read here until it is certain that this was still the primary (rules S3, S8).
//
// Threads: the shard's.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "server/clock.h"
#include "server/log_counters.h"
#include "server/replicated_store.h"
#include "server/shard_commit.h"

namespace plov::server {

class ShardReplication final : public ShardCommit, private ReplicatedStore::Owner {
 public:
  struct Options {
    ShardReplica::Server server;
    ShardReplica::Options replica;
    verify::LogId sessions;  // of the cluster; clients do not know it
    // As of ReplicatedStore::Owner.
    std::function<void(const char* why, bool is_too_small)> start_anew;
    std::function<void()> close_clients;
    uint64_t (*now_us)() = MonotonicUs;
    std::optional<ReplicatedStore::Kept> kept = {};  // nullopt: nothing, and there is no log
  };
  ShardReplication(Store* store, Sessions* sessions, Options options);

  ReplicatedStore& replicated() { return replicated_; }
  const ReplicatedStore& replicated() const { return replicated_; }

  bool serves() const override { return replicated_.serves(); }
  uint64_t LoggedOwnerOf(const SessionOwner& owner) const override {
    return LoggedOwner(owner, options_.sessions);
  }
  Batch::Outcome Ask(const verify::Request& request, WriteReply* refusal) const override;
  uint64_t rests_on() const override { return replicated_.log().last_batch(); }
  // When a reply is sent, all that was written before is held by all.
  void AnswerSync(Batch*, verify::Reply*) override {}
  void AnswerSnapshot(verify::Reply* reply) override;

  bool Holds(const Batch& batch) const override { return batch.tells_of_items; }
  bool awaits() const override { return !unasked_.empty() || !unsettled_.empty(); }
  void Wait(const Waiting& waiting) override { unasked_.push_back(waiting); }
  std::optional<Waiting> NextSettled() override;

  bool Step() override;
  bool StepSnapshot() override { return replicated_.StepSnapshot(); }
  bool Arm() override { return unasked_.empty() && replicated_.Arm(); }
  void Disarm(std::span<const int> readable) override { replicated_.Disarm(readable); }
  std::vector<int> fds() const override { return replicated_.fds(); }
  int SleepMs() const override;
  void PublishTo(CounterPage* page) override;

 private:
  struct Unsettled {
    Waiting waiting;
    cluster::Replica::Question question;
  };

  void CloseClients() override { options_.close_clients(); }
  void StartAnew(const char* why, bool is_too_small) override {
    options_.start_anew(why, is_too_small);
  }

  Store* store_;
  Options options_;
  std::vector<Waiting> unasked_;  // of this turn
  std::deque<Unsettled> unsettled_;
  bool has_served_ = false;  // in the last Step
  uint64_t promotions_ = 0;
  LogCounters counted_;
  ReplicatedStore replicated_;
};

}  // namespace plov::server
