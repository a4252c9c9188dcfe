// ReplicatedStore: a shard's items and sessions, as one of its replicas has them.
//
// The primary's store publishes as with --commit strict: a write is settled and staged, becomes an entry of the stream,
// and is in the table when all replicas hold it (rule S3). The others apply the entries that are published, items and
// sessions alike, so that each is what the primary was, and can go on from there.
//
// Threads: one, the shard's, but for Wake.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "server/replicated_log.h"
#include "server/sessions.h"
#include "server/shard_replica.h"
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
    // A new replica: the items that the primary has, by Take; then EndCatchUp. (Sessions come as an entry.)
    virtual void CatchUp(const cluster::Member& primary) = 0;
    // The memory is of no use any more: this is to go, and another one is to come, with a new store.
    virtual void StartAnew(const char* why) = 0;
  };

  // All outlive it. The store is empty, or as options.memory says. It has no log.
  ReplicatedStore(Store* store, Sessions* sessions, Owner* owner,
                  const ShardReplica::Server& server, ShardReplica::Options options,
                  uint64_t now_us);

  // Whether clients are served, and whether the store takes writes: until the Step that follows.
  bool serves() const { return logs_ && replica().serves(); }
  bool takes_writes() const { return logs_ && replica().takes_writes(); }
  // Of one more write; of any when nothing waits. bytes: verify::LoggedBytes.
  bool HasRoom(size_t bytes) const;
  // The batches that replies to writes wait for.
  const log::CommitLog& log() const { return log_; }

  // Passes on what was written, takes what has come, and publishes. False when there was nothing to do.
  bool Step(uint64_t now_us);

  // Of Owner::CatchUp: what entries did since, and while it was taken, is done after it. False: it cannot be stored.
  bool Take(const verify::Logged& item, uint64_t now_us);
  // All items that the primary had when it was asked.
  void EndCatchUp() { has_items_ = true; }

  // As of cluster::Replica. Ask is of what was found since the last Step.
  cluster::Replica::Question Ask() { return replica_.Ask(now_us_, log_.last_batch()); }
  bool MayAnswer(const cluster::Replica::Question& question) const {
    return replica().MayAnswer(question, now_us_);
  }
  void HandOverTo(uint64_t incarnation) {
    PassOn(now_us_);
    replica_.HandOverTo(incarnation);
  }
  // As of ShardReplica.
  void AddPort(fabric::Port* port) { replica_.AddPort(port); }
  std::vector<int> fds() const { return replica_.fds(); }
  bool Arm() { return replica_.Arm(); }
  void Disarm() { replica_.Disarm(); }
  bool has_waiting() const { return replica_.has_waiting(); }
  uint64_t next_tick_us() const { return replica_.next_tick_us(); }
  void Wake() { replica_.Wake(); }
  const cluster::Replica& replica() const { return replica_.replica(); }

 private:
  bool Publish(const cluster::Entry& entry) override;
  void CatchUp(const cluster::Member& primary, const cluster::Position& since) override;
  void CloseReaders() override { owner_->CloseClients(); }
  void Deposed() override;
  void StartAnew(const char* why) override { owner_->StartAnew(why); }

  bool PassOn(uint64_t now_us);
  bool Apply(std::string_view entry, uint64_t now_us);
  bool ApplySessions(std::span<const std::byte> sessions, bool are_all);
  bool ApplyAwaiting(uint64_t now_us);
  void BeginToLog();
  bool SendSessions(uint64_t now_us);

  Store* store_;
  Sessions* sessions_;
  Owner* owner_;
  size_t waiting_bytes_max_;
  uint64_t now_us_;
  bool logs_ = false;  // as the primary
  ReplicatedLog log_;
  size_t waiting_bytes_ = 0;  // of entries that were passed on, and are not published
  bool knows_all_sessions_;
  std::optional<uint64_t> joining_;  // whom sessions are sent
  std::optional<Sessions::Pass> pass_;
  bool catches_up_ = false;
  bool has_items_ = false, has_sessions_ = false;
  std::deque<cluster::Entry> awaiting_;  // published, while it catches up
  ShardReplica replica_;
};

}  // namespace plov::server
