// ShardLog: a shard's side of its log: whether a write is taken, which replies wait until what they say
// is durable (rule D4), and the snapshots.
//
// Threads: the shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "log/group_commit.h"
#include "server/endpoint.h"
#include "server/shard_snapshot.h"
#include "server/store.h"
#include "verify/message.h"

namespace plov::server {

class ShardLog {
 public:
  // All outlive it.
  struct Options {
    log::GroupCommit* log;
    log::CommitMode mode;
    log::SnapshotFeed* feed = nullptr;  // of its snapshots; null: there are none
    WarmTail* tail = nullptr;           // of warm memory
  };
  ShardLog(Store* store, const Sessions* sessions, const Options& options);

  const log::GroupCommit& log() const { return *log_; }
  log::CommitMode mode() const { return mode_; }
  const log::SnapshotFeed* feed() const { return snapshot_ ? &snapshot_->feed() : nullptr; }

  // kDone: it takes the write now, or `refusal` says why not. kLogs: later.
  Batch::Outcome Ask(const verify::Request& request, WriteReply* refusal) const;
  // Whether the reply to a write waits until it is durable.
  bool holds_replies() const { return mode_ != log::CommitMode::kAsync; }
  void AnswerSync(Batch* batch, verify::Reply* reply);
  void AnswerSnapshot(verify::Reply* reply);

  // Whether replies may wait for the disk.
  bool awaits_disk() const { return holds_replies() && log_->pending(); }

  // A message that rests on a batch is handled; NextSettled says when its replies may be sent.
  void Wait(const Waiting& waiting) { unsettled_.push_back(waiting); }
  // Each once, as soon as what its replies say is durable; nullopt: none now.
  std::optional<Waiting> NextSettled();

  // What is due at a turn's end, before NextSettled and StepSnapshot. False when there was nothing to do.
  bool Step();
  // Before the shard sleeps.
  void PassOn() { log_->PassOn(); }
  bool StepSnapshot() { return snapshot_ && snapshot_->Step(); }
  // Whether nothing in the log says yet that its last batch is durable.
  bool unattested() const { return unattested_; }
  void Attest();

 private:
  void TellOfFailures();

  Store* store_;
  log::GroupCommit* log_;
  log::CommitMode mode_;
  std::optional<ShardSnapshot> snapshot_;
  std::deque<Waiting> unsettled_;  // whose replies wait until the log is durable
  uint64_t appended_batch_;        // the last that this shard knows of
  bool unattested_ = false;
  uint64_t turns_ = 0;
  uint64_t told_failures_ = 0;
  bool fails_ = false;
};

}  // namespace plov::server
