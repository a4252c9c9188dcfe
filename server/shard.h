// Shard: owns one store and serves its clients: messages in, replies out.
//
// Threads: everything but Wake belongs to the thread that serves the shard
// (server/shard_thread.h). The steady loop allocates nothing per request beyond the record.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fabric/fabric.h"
#include "log/group_commit.h"
#include "server/batch.h"
#include "server/clock.h"
#include "server/command_queue.h"
#include "server/confirmations.h"
#include "server/counter_page.h"
#include "server/sessions.h"
#include "server/shard_snapshot.h"
#include "server/store.h"
#include "server/warnings.h"
#include "verify/message.h"

namespace plov::server {

struct ShardCounters {
  uint64_t messages = 0;
  uint64_t requests = 0;
  uint64_t retries_answered = 0;     // writes that were applied before
  uint64_t protocol_errors = 0;      // clients dropped for garbage
  uint64_t suspicions = 0;           // GETs by message of clients that saw unchanging damage
  uint64_t dropped_unconfirmed = 0;  // clients that kept to a table that was history
  uint64_t sleeps = 0;
  verify::GetReport reported = {};  // by clients
};

// How long the server waits for clients that do not do what is expected of them.
struct ClientTimeouts {
  // A held record is given up after this: a client that was promised it READs it within its
  // deadline or asks again.
  uint64_t hold_us = 10'000'000;
  // A client that has not confirmed a new table is dropped after this, a tenth of it while the old
  // table's memory is wanted, and a fortieth while a write waits for it. It reconnects by itself.
  uint64_t grace_us = 10'000'000;
};

// What a shard does of one message before others have their turn: so many requests, or so many
// bytes copied, sealed or looked at. Some ten microseconds.
struct Slice {
  uint32_t requests = 16;
  uint64_t work_bytes = uint64_t{64} << 10;
};

class Shard {
 public:
  // store: its memory outlives the shard's ports.
  explicit Shard(std::unique_ptr<Store> store, const ClientTimeouts& timeouts = {},
                 const Slice& slice = {});

  // One listener's port for this shard; before the first turn.
  void AddPort(fabric::Port* port) { endpoints_.push_back({port, {}}); }

  // Who counts those that are refused; before the first turn.
  void Show(const fabric::Admission* admission) { admission_ = admission; }
  // What it writes goes to this log, which outlives the last turn; the log's `wake` is Wake. Before the
  // first turn.
  // `feed` takes its snapshots; null: there are none. `tail`: of warm memory, else null.
  void LogTo(log::GroupCommit* log, log::CommitMode mode, log::SnapshotFeed* feed = nullptr,
             WarmTail* tail = nullptr);
  // Who answers commands; before the first turn. Null: they are refused.
  void CommandTo(CommandQueue* commands) { commands_ = commands; }
  // For DurableLog::Recover; before LogTo.
  Store* store_to_restore() { return store_.get(); }
  Sessions* sessions_to_restore() { return &sessions_; }
  // What its counters tell beside the numbers; before the first turn.
  void Describe(std::string_view text) { page_.Describe(text); }
  // Messages of writes that take so long are kept for clients to look at. Any thread.
  void KeepSlow(std::chrono::microseconds threshold) {
    slow_us_.store(static_cast<uint64_t>(threshold.count()), std::memory_order_relaxed);
  }
  // How many shards its thread serves, this one included; before the first turn.
  void ShareThread(size_t shards) { thread_shards_ = shards; }

  // One turn: at most one event per port, or some of the work that waits for nobody. False when
  // there was nothing to do.
  bool Turn();
  // Handles at most one event per port and a slice of one message; false when there was nothing.
  bool Step();

  // To sleep: Arm(), and when it returns true wait until one of the ports' fds is readable, or for
  // SleepMs(), then Disarm().
  std::vector<int> fds() const;
  bool Arm();
  void Disarm();
  // Milliseconds after which time alone makes work; -1: never.
  int SleepMs() const;
  // Whether a client that is awake was last seen on the core that the caller runs on.
  bool OnClientsCore();
  // Ends a sleep. Any thread.
  void Wake();

  // The memory that its items may take, no less than before and no more than the region has
  // addresses. Any thread.
  void RaiseBudget(size_t bytes) {
    budget_wanted_.store(bytes, std::memory_order_relaxed);
    Wake();
  }
  // As its counters tell it now. Any thread.
  uint64_t counter(verify::Counter counter) const { return page_.Get(counter); }

  // To be asked before a client comes that no kernel vouches for.
  fabric::Claims* claims() { return sessions_.claims(); }

  const Store& store() const { return *store_; }
  const Region& region() const { return store_->region(); }

 private:
  // How often what waits for time alone is looked at: held records, clients that confirm nothing.
  static constexpr uint64_t kTickMs = 1000;
  // The same while a write waits for memory.
  static constexpr uint64_t kWaitMs = 20;

  struct Held {
    uint64_t offset;
    uint64_t until_us;
  };
  struct Peer {
    SessionOwner owner;
    uint64_t logged_owner;  // 0: there is no log
    bool may_write;
    Session* session;
    std::unique_ptr<Batch> batch;  // the message that has no reply yet
    std::vector<Held> held;
    uint64_t confirmed_version;  // of the superblock; 0 = none yet
  };
  // A port with its clients. Its place in endpoints_ does not change once there are clients.
  struct Endpoint {
    fabric::Port* port;
    std::unordered_map<fabric::PeerId, Peer> peers;
  };

  // Of a slice of a batch, or of one request.
  enum class Outcome {
    kDone,
    kAgain,   // there is more to do
    kWaits,   // for memory that clients give back
    kLogs,    // goes on when the disk has caught up
    kReads,   // goes on when a value has arrived
    kAsks,    // goes on when the main thread has answered
    kBroken,  // no client of ours sends this
  };
  // Slices of batches are handed out in turn.
  struct Waiting {
    Endpoint* endpoint;
    fabric::PeerId peer;
  };

  bool StepEndpoint(Endpoint* endpoint);
  bool StepBatch();
  void Open(Endpoint* endpoint, const fabric::PortEvent& event);
  void Drop(Endpoint* endpoint, fabric::PeerId id);
  void DropForGarbage(Endpoint* endpoint, fabric::PeerId id);
  void Abandon(Peer* peer);
  void Prefetch(verify::MessageReader requests) const;
  void OnMessage(Endpoint* endpoint, const fabric::PortEvent& event);
  void OnReadDone(Endpoint* endpoint, const fabric::PortEvent& event);

  Outcome Serve(Endpoint* endpoint, fabric::PeerId id, Peer* peer);
  Outcome HandleSome(Endpoint* endpoint, fabric::PeerId id, Peer* peer);
  bool BeginNext(Batch* batch);
  bool IsOurs(std::string_view key) const;
  Outcome Handle(Endpoint* endpoint, fabric::PeerId id, Peer* peer);
  void Finish(Endpoint* endpoint, fabric::PeerId id, Peer* peer);
  void SendReplies(Endpoint* endpoint, fabric::PeerId id, Peer* peer);
  // The log, in server/shard_log.cc: whether it takes the write at hand, and what is due at a turn's end.
  Outcome AskLog(Peer* peer, WriteReply* refusal);
  void AnswerSync(Batch* batch, verify::Reply* reply);
  void AnswerSnapshot(verify::Reply* reply);
  bool StepLog();
  void SendSettled();
  void TellOfLog();
  void AttestLog();
  std::unique_ptr<Batch> TakeBatch();
  void EndBatch(Peer* peer);
  void GoOn(Batch* batch) const;
  static verify::Cause CauseOf(Outcome outcome, const Batch& batch);
  void CountTime(Batch* batch);
  void AddSlow(const Batch& batch);

  // Of the request at hand: its reply.
  Outcome HandleWrite(Endpoint* endpoint, fabric::PeerId id, Peer* peer, verify::Reply* reply);
  Outcome HandleLarge(Endpoint* endpoint, fabric::PeerId id, Peer* peer, WriteReply* write);
  Outcome HandleGet(Peer* peer, size_t room, verify::Reply* reply);
  Outcome HandleCommand(Peer* peer, size_t room, verify::Reply* reply);
  Outcome Verify(Batch* batch);
  void ReplyGet(Peer* peer, const Store::Hit& hit, size_t room, verify::Reply* reply);
  // The session's answer if it has one.
  bool Answered(Peer* peer, const verify::Request& request, WriteReply* reply);
  Outcome Applied(const std::optional<WriteReply>& applied, const Batch& batch,
                  WriteReply* write) const;
  void ReleaseHeld(Peer* peer, uint64_t until_us);
  bool NeedsTicks() const {
    return holds_ > 0 || store_->growth().draining() || (log_ != nullptr && unattested_);
  }
  void Tick();
  void ReleaseTables(uint64_t now_us);
  void Confirm(Peer* peer, uint64_t version);
  void TakeReport(std::string_view report);
  void ReleaseConfirmed();
  void DropUnconfirmed();
  // The counters, in server/shard_stats.cc.
  void Publish();
  void PublishStore();
  void PublishClients();
  void PublishLog();

  std::unique_ptr<Store> store_;
  ClientTimeouts timeouts_;
  Slice slice_;
  std::vector<Endpoint> endpoints_;
  std::unordered_map<SessionOwner, std::pair<Endpoint*, fabric::PeerId>, SessionOwnerHash>
      connected_;
  Confirmations confirmations_;  // of the peers of all gates
  const fabric::Admission* admission_ = nullptr;
  CommandQueue* commands_ = nullptr;
  std::atomic<size_t> budget_wanted_ = 0;  // relaxed; 0: as it is
  Sessions sessions_;
  ShardCounters counters_;
  CounterPage page_;
  bool is_unpublished_ = true;  // something has moved since
  uint64_t published_at_us_ = 0;
  uint64_t cpu_at_us_ = 0;
  uint64_t published_commits_us_ = UINT64_MAX;
  std::atomic<uint64_t> slow_us_ = UINT64_MAX;  // relaxed
  uint64_t slow_writes_ = 0;
  log::GroupCommit* log_ = nullptr;
  log::CommitMode commit_mode_ = log::CommitMode::kStrict;
  std::optional<ShardSnapshot> snapshot_;
  std::deque<Waiting> unsettled_;  // whose replies wait until the log is durable
  uint64_t appended_batch_ = 0;    // the last that this shard knows of
  bool unattested_ = false;        // nothing in the log says yet that it is durable
  uint64_t log_failures_ = 0;      // told
  bool log_fails_ = false;
  size_t thread_shards_ = 1;
  uint64_t holds_ = 0;
  uint64_t ticked_at_us_ = 0;
  uint64_t drained_version_ = 0;  // what Drain waits for, since drain_since_us_
  uint64_t drain_since_us_ = 0;
  Warnings warnings_;
  std::string value_;            // of the reply at hand
  std::deque<Waiting> waiting_;  // whose batch waits for its next slice
  bool writes_wait_ = false;     // for memory that clients give back, some of these
  std::vector<std::unique_ptr<Batch>> idle_batches_;

 public:
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
};

}  // namespace plov::server
