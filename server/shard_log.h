// ShardLog: a shard's side of its log: replies wait until what they say is durable (rule D4); and the snapshots.
//
// Threads: the shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "log/group_commit.h"
#include "server/log_counters.h"
#include "server/log_failures.h"
#include "server/shard_commit.h"
#include "server/shard_snapshot.h"
#include "server/store.h"
#include "verify/message.h"

namespace plov::server {

class ShardLog final : public ShardCommit {
 public:
  // All outlive it.
  struct Options {
    log::GroupCommit* log;
    log::CommitMode mode;
    log::SnapshotFeed* feed = nullptr;  // of its snapshots; null: there are none
    WarmTail* tail = nullptr;           // of warm memory
  };
  ShardLog(Store* store, const Sessions* sessions, const Options& options);

  uint64_t LoggedOwnerOf(const SessionOwner& owner) const override {
    return LoggedOwner(owner, log_->id());
  }
  Batch::Outcome Ask(const verify::Request& request, WriteReply* refusal) const override;
  Batch::Outcome AskTogether(const Store::Together& all, WriteReply* refusal) const override;
  uint64_t rests_on() const override { return holds_replies() ? log_->last_batch() : 0; }
  void AnswerSync(Batch* batch, verify::Reply* reply) override;
  void AnswerSnapshot(verify::Reply* reply) override;

  bool awaits() const override { return holds_replies() && log_->pending(); }
  void Wait(const Waiting& waiting) override { unsettled_.push_back(waiting); }
  std::optional<Waiting> NextSettled() override;

  bool Step() override;
  bool StepSnapshot() override { return snapshot_ && snapshot_->Step(); }
  bool Arm() override {
    log_->PassOn();
    return true;
  }
  // Where nothing in the log says yet that its last batch is durable.
  bool needs_ticks() const override { return unattested_; }
  void Tick() override;
  void PublishTo(CounterPage* page) override;

 private:
  Batch::Outcome AskForRoom(size_t logged_bytes, WriteReply* refusal) const;
  bool holds_replies() const { return mode_ != log::CommitMode::kAsync; }

  Store* store_;
  log::GroupCommit* log_;
  log::CommitMode mode_;
  std::optional<ShardSnapshot> snapshot_;
  std::deque<Waiting> unsettled_;  // whose replies wait until the log is durable
  uint64_t appended_batch_;        // the last that this shard knows of
  bool unattested_ = false;
  uint64_t turns_ = 0;
  LogFailures failures_;
  LogCounters counted_;
};

}  // namespace plov::server
