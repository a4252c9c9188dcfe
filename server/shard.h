// Shard: owns one store and serves its clients: messages in, replies out.
//
// Threads: everything but Wake belongs to the thread that serves the shard at the time
// (server/shard_thread.h). The steady loop allocates nothing per request beyond the record.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "server/clock.h"
#include "server/command_queue.h"
#include "server/confirmations.h"
#include "server/counter_page.h"
#include "server/counter_publisher.h"
#include "server/endpoint.h"
#include "server/flush.h"
#include "server/get_handler.h"
#include "server/sessions.h"
#include "server/shard_counters.h"
#include "server/shard_log.h"
#include "server/siblings.h"
#include "server/slice.h"
#include "server/slow_log.h"
#include "server/store.h"
#include "server/turn_lock.h"
#include "server/warnings.h"
#include "server/write_handler.h"
#include "verify/message.h"

namespace plov::server {

// How long the server waits for clients that do not do what is expected of them.
struct ClientTimeouts {
  // A held record is given up after this: a client that was promised it READs it within its
  // deadline or asks again.
  uint64_t hold_us = 10'000'000;
  // A client that has not confirmed a new table is dropped after this, a tenth of it while the old
  // table's memory is wanted, and a fortieth while a write waits for it. It reconnects by itself.
  uint64_t grace_us = 10'000'000;
};

class Shard {
 public:
  // store: its memory outlives the shard's ports.
  explicit Shard(std::unique_ptr<Store> store, const ClientTimeouts& timeouts = {},
                 const Slices& slices = {});

  // One listener's port for this shard; before the first turn.
  void AddPort(fabric::Port* port) { endpoints_.push_back({port, {}}); }

  // Who counts those that are refused; before the first turn.
  void Show(const fabric::Admission* admission) { admission_ = admission; }
  // What it writes goes to this log, which outlives the last turn; the log's `wake` is Wake. Before the
  // first turn.
  void LogTo(const ShardLog::Options& options) {
    CommitBy(std::make_unique<ShardLog>(store_.get(), &sessions_, options));
  }
  // Its replicas, instead of a log; before the first turn.
  void CommitBy(std::unique_ptr<ShardCommit> commit) {
    commit_ = std::move(commit);
    writes_.CommitBy(commit_.get());
    flush_.CommitBy(commit_.get());
  }
  // COMMITs write its siblings' stores, too, and theirs this one's; before the first turn. They outlive the last.
  void Join(const Siblings* siblings) {
    siblings_ = siblings;
    writes_.Join(siblings);
  }
  Siblings::Sibling AsSibling();
  // All connections end; what was not answered is not.
  void CloseClients();
  // Who answers commands; before the first turn. Null: they are refused.
  void CommandTo(CommandQueue* commands) { commands_ = commands; }
  // For who recovers them or commits them.
  Store* store_to_restore() { return store_.get(); }
  Sessions* sessions_to_restore() { return &sessions_; }
  // What its counters tell beside the numbers; before the first turn.
  void Describe(std::string_view text) { page_.Describe(text); }
  // Messages of writes that take so long are kept for clients to look at. Any thread.
  void KeepSlow(std::chrono::microseconds threshold) { slow_log_.Keep(threshold); }

  // One turn: at most one event per port, or some of the work that waits for nobody. False when
  // there was nothing to do.
  bool Turn();
  // Handles at most one event per port and a slice of one message; false when there was nothing.
  bool Step();

  // To sleep: Arm(), and when it returns true wait until some of fds() are readable, or for SleepMs(), then Disarm()
  // with those, perhaps among others.
  std::vector<int> fds() const;
  bool Arm();
  void Disarm(std::span<const int> readable);
  // Milliseconds after which time alone makes work; -1: never.
  int SleepMs() const;
  // Whether a client that is awake was last seen on the core that the caller runs on.
  bool OnClientsCore();
  // Whether replies may wait for the disk, or for other servers.
  bool Awaits() const { return commit_ != nullptr && commit_->awaits(); }
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

  using Outcome = Batch::Outcome;

  std::unique_lock<TurnLock> TakeTurn() const {
    return siblings_ == nullptr ? std::unique_lock<TurnLock>() : std::unique_lock(turn_);
  }
  bool TurnAlone();
  bool StepTogether();
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
  Outcome Handle(Endpoint* endpoint, fabric::PeerId id, Peer* peer);
  void Finish(Endpoint* endpoint, fabric::PeerId id, Peer* peer);
  void SendReplies(Endpoint* endpoint, fabric::PeerId id, Peer* peer);
  bool StepCommit();
  std::unique_ptr<Batch> TakeBatch();
  void EndBatch(Peer* peer);

  Outcome HandleCommand(Peer* peer, size_t room, verify::Reply* reply);
  bool NeedsTicks() const {
    return gets_.holds_any() || store_->growth().draining() || store_->sweeps_when_idle() ||
           (commit_ != nullptr && commit_->needs_ticks());
  }
  void Tick();
  void ReleaseTables(uint64_t now_us);
  void Confirm(Peer* peer, uint64_t version);
  void TakeReport(std::string_view report);
  void TakeHits(std::string_view hits);
  void ReleaseConfirmed();
  void DropUnconfirmed();
  void Publish();

  std::unique_ptr<Store> store_;
  ClientTimeouts timeouts_;
  Slices slices_;
  std::vector<Endpoint> endpoints_;
  std::unordered_map<SessionOwner, std::pair<Endpoint*, fabric::PeerId>, SessionOwnerHash>
      connected_;
  Confirmations confirmations_;  // of the peers of all gates
  const fabric::Admission* admission_ = nullptr;
  CommandQueue* commands_ = nullptr;
  std::atomic<size_t> budget_wanted_ = 0;  // relaxed; 0: as it is
  Sessions sessions_;
  ShardCounters counters_;
  GetHandler gets_;
  WriteHandler writes_;
  Flush flush_;
  CounterPage page_;
  CounterPublisher publisher_;
  SlowLog slow_log_;
  std::unique_ptr<ShardCommit> commit_;  // null: a write is done when it is in the table
  uint64_t ticked_at_us_ = 0;
  uint64_t drained_version_ = 0;  // what Drain waits for, since drain_since_us_
  uint64_t drain_since_us_ = 0;
  Warnings warnings_;
  const Siblings* siblings_ = nullptr;
  mutable TurnLock turn_;             // for the store; where there are siblings
  bool sleeps_ = false;               // or is about to
  std::deque<Waiting> waiting_;       // whose batch waits for its next slice
  std::deque<Waiting> awaits_turns_;  // whose COMMIT is of several shards
  std::deque<Transaction> given_up_;  // such COMMITs of peers that are gone
  bool writes_wait_ = false;          // for memory that clients give back, some of these
  std::vector<std::unique_ptr<Batch>> idle_batches_;

 public:
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
};

}  // namespace plov::server
