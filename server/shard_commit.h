// ShardCommit: what a shard's writes go through, and which replies wait for it: its log (server/shard_log.h), or its other
// replicas (server/shard_replication.h).
//
// Threads: the shard's.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/batch.h"
#include "server/counter_page.h"
#include "server/endpoint.h"
#include "server/sessions.h"
#include "verify/message.h"

namespace plov::server {

class ShardCommit {
 public:
  virtual ~ShardCommit() = default;

  // Whether clients are served, but for those that only READ or administer.
  virtual bool serves() const { return true; }
  // Under which number their writes are kept.
  virtual uint64_t LoggedOwnerOf(const SessionOwner& owner) const = 0;

  // kDone: it takes the write now, or `refusal` says why not. kLogs: later.
  virtual Batch::Outcome Ask(const verify::Request& request, WriteReply* refusal) const = 0;
  // The same of all writes of a COMMIT, and of what it has read; who cannot take several at once refuses it.
  virtual Batch::Outcome AskTogether(const Store::Together& /*all*/, WriteReply* refusal) const {
    *refusal = {Code::kInvalidArgument, 0};
    return Batch::Outcome::kDone;
  }
  // The batch that the reply to the last write waits for; 0: for none.
  virtual uint64_t rests_on() const = 0;
  virtual void AnswerSync(Batch* batch, verify::Reply* reply) = 0;
  virtual void AnswerSnapshot(verify::Reply* reply) { reply->status = Code::kInvalidArgument; }

  // Whether a message's replies wait, and whether some do.
  virtual bool Holds(const Batch& batch) const { return batch.rests_on != 0; }
  virtual bool awaits() const = 0;
  // A message is handled whose replies wait; NextSettled says when they may be sent.
  virtual void Wait(const Waiting& waiting) = 0;
  // Each once, as soon as what its replies say is so for good; nullopt: none now.
  virtual std::optional<Waiting> NextSettled() = 0;

  // What is due at a turn's end, before NextSettled and StepSnapshot. False when there was nothing to do.
  virtual bool Step() = 0;
  virtual bool StepSnapshot() { return false; }
  // Before the shard sleeps. False: there is something to do.
  virtual bool Arm() = 0;
  // readable: those of fds() that ended the sleep.
  virtual void Disarm(std::span<const int> /*readable*/) {}
  // What wakes the shard beside its clients' ports.
  virtual std::vector<int> fds() const { return {}; }
  // Milliseconds after which time alone makes work for Step; -1: never.
  virtual int SleepMs() const { return -1; }
  // What it counts.
  virtual void PublishTo(CounterPage*) {}
  // Whether there is something for Tick, once a second.
  virtual bool needs_ticks() const { return false; }
  virtual void Tick() {}
};

}  // namespace plov::server
