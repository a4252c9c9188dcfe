// ReplicatedStore: a shard's items and sessions, as one of its replicas has them.
//
// The primary's store publishes as with --commit strict: a write is settled and staged, becomes an entry of the stream,
// and is in the table when all replicas hold it (rule S3). The others apply the entries that are published, items and
// sessions alike (server/entry_applier.h), so that each is what the primary was, and can go on from there.
//
// For a replica that joins the primary takes a snapshot (server/shard_snapshot.h) and sends its items, and then its
// sessions, as entries. With a log all that a replica holds is kept there, and it holds what is durable there.
//
// Threads: one, the shard's, but for Wake.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "log/snapshot_feed.h"
#include "server/entry_applier.h"
#include "server/log_failures.h"
#include "server/replica_log.h"
#include "server/replicated_log.h"
#include "server/sessions.h"
#include "server/shard_replica.h"
#include "server/shard_snapshot.h"
#include "server/store.h"

namespace plov::server {

class ReplicatedStore final : private ReplicaOwner {
 public:
  // Whose shard it is. None of it calls the ReplicatedStore.
  class Owner {
   public:
    virtual ~Owner() = default;

    // The connections of all clients end: what they wrote may not be done by this server, and nothing that is stored
    // from now on is READ as good on them.
    virtual void CloseClients() = 0;
    // The memory is of no use any more: this is to go, and another one is to come, with a new store. is_too_small: not at
    // once, as it would not hold what the others do either.
    virtual void StartAnew(const char* why, bool is_too_small) = 0;
  };

  // What it has from a life before, or where it begins anew: all of the store's items, and what they came by.
  struct Kept {
    EntryApplier applier;
    std::unique_ptr<ReplicaLog> log = {};  // null: what it holds is only in its memory
  };
  // All outlive it. The store is empty, or as options.memory says, and writes to no log itself.
  ReplicatedStore(Store* store, Sessions* sessions, Owner* owner,
                  const ShardReplica::Server& server, ShardReplica::Options options, Kept kept,
                  uint64_t now_us);

  // Whether clients are served, and whether the store takes writes: until the Step that follows.
  bool serves() const { return logs_ && replica().serves(); }
  // Writes wait for the snapshot that a replica that joins is sent, or that goes to disk.
  bool is_behind() const {
    return (joining_ != nullptr && joining_->snapshot.is_behind()) ||
           (snapshot_ && snapshot_->is_behind());
  }
  bool takes_writes() const { return logs_ && replica().takes_writes(); }
  // Of one more write; of any when nothing waits. bytes: verify::LoggedBytes.
  bool HasRoom(size_t bytes) const;
  // Of another replica: it takes no more, but, where it is its memory, what gives some back.
  cluster::Full other_full() const { return other_full_; }
  // The batches that replies to writes wait for.
  const log::CommitLog& log() const { return log_; }
  // On disk; null: there is none.
  const ReplicaLog* disk_log() const { return kept_.log.get(); }
  // Why writes are refused: the log cannot be written.
  Code failure() const { return kept_.log ? kept_.log->commit()->failure() : Code::kOk; }

  // Passes on what was written, takes what has come, and publishes. False when there was nothing to do.
  bool Step(uint64_t now_us);
  // A slice of a snapshot for the disk.
  bool StepSnapshot();

  // As of cluster::Replica. Ask is of what was found since the last Step, and before the next, in which what was written is
  // sent.
  cluster::Replica::Question Ask() const { return replica().Ask(log_.last_batch()); }
  void Press(const cluster::Replica::Question& question) { replica_.Press(question, now_us_); }
  bool MayAnswer(const cluster::Replica::Question& question) const {
    return replica().MayAnswer(question, now_us_);
  }
  void HandOverTo(uint64_t incarnation) {
    PassOn(now_us_);
    replica_.HandOverTo(incarnation);
  }
  // As of ShardReplica.
  void Prefer(uint64_t incarnation) { replica_.Prefer(incarnation); }
  void Leave(bool for_good) { replica_.Leave(for_good); }
  bool has_left() const { return replica_.has_left(); }
  void AddPort(fabric::Port* port) { replica_.AddPort(port); }
  std::vector<int> fds() const { return replica_.fds(); }
  bool Arm();
  void Disarm(std::span<const int> readable) { replica_.Disarm(readable); }
  uint64_t next_tick_us() const { return replica_.next_tick_us(); }
  void Wake() { replica_.Wake(); }
  const cluster::Replica& replica() const { return replica_.replica(); }

 private:
  void ShowSafeTime(uint64_t us) override { store_->ShowSafeTime(us); }
  void Keep(const cluster::Append& held) override {
    if (kept_.log) kept_.log->Keep(held);
  }
  bool Publish(const cluster::Entry& entry) override;
  void CatchUp(const cluster::Member& primary, const cluster::Position& since) override;
  void CloseReaders() override { owner_->CloseClients(); }
  void Deposed() override;
  void Dropped(const std::vector<cluster::Entry>& entries) override {
    for (const cluster::Entry& entry : entries) kept_.applier.Forget(entry);
    if (!entries.empty()) sessions_->ForgetRefusals();
  }
  void StartAnew(const char* why) override { owner_->StartAnew(why, is_too_small_); }

  // What a primary sends to a replica that joins.
  struct Joining {
    Joining(Store* store, const Sessions* sessions, ReplicatedLog* log, uint64_t replica);

    uint64_t replica;
    log::SnapshotFeed feed;
    ShardSnapshot snapshot;
    bool is_sent = false;
  };

  bool PassOn(uint64_t now_us);
  // Tells of what is durable.
  bool LookAtLog();
  // Tells of this replica's memory and disk, and hears of the others'.
  void LookAtMemory();
  void BeginToLog();
  bool SendToJoining();
  void SendSessions(const verify::SnapshotFooter& total);

  Store* store_;
  Sessions* sessions_;
  Owner* owner_;
  uint32_t shard_;
  size_t waiting_bytes_max_;
  uint64_t now_us_;
  bool logs_ = false;  // as the primary
  ReplicatedLog log_;
  size_t waiting_bytes_ = 0;  // of entries that were passed on, and are not published
  Kept kept_;
  uint64_t told_kept_ = 0;  // so much of what the log was given is durable
  LogFailures failures_;
  std::optional<ShardSnapshot> snapshot_;  // for the disk
  std::unique_ptr<Joining> joining_;
  bool has_caught_up_ = false;
  bool is_full_ = false;       // its memory
  bool is_too_small_ = false;  // likewise, for what the others hold
  cluster::Full other_full_ = cluster::Full::kNot;
  ShardReplica replica_;
};

}  // namespace plov::server
