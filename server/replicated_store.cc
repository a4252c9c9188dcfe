#include "server/replicated_store.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace plov::server {

using cluster::Entry;
using cluster::Full;

namespace {

// What waits must fit into memory that is full, where others have as much: Store::kExcessPercentMax.
constexpr size_t kWaitingPartMax = 16;
// What it keeps of the past, beside its memory and by that; and while a replica is away.
constexpr size_t kPastPart = 256, kPastPartMax = 16;
// Replicas of the same items take more and less memory: by so much a full one exceeds its own before it stops its primary,
// and then gives back.
constexpr size_t kFullPercent = 12, kNotFullPercent = 6;
static_assert(kFullPercent + 100 / kWaitingPartMax < Store::kExcessPercentMax);

// Of the items that one that joins is sent: so many bytes of them at a time, as others of its shards are not to wait.
constexpr size_t kItemsBytes = size_t{64} << 10;

std::span<const std::byte> TakeItems(std::span<const std::byte>* items) {
  std::span<const std::byte> rest = *items;
  while (items->size() - rest.size() < kItemsBytes && verify::TakeLogged(&rest)) {
  }
  if (rest.size() == items->size()) rest = {};  // one that is damaged is told by who takes it
  const auto taken = items->first(items->size() - rest.size());
  *items = rest;
  return taken;
}

ShardReplica::Options WithPast(ShardReplica::Options options, const Store& store) {
  options.past_bytes = store.region().budget_bytes() / kPastPart;
  options.past_bytes_max = store.region().budget_bytes() / kPastPartMax;
  return options;
}

}  // namespace

ReplicatedStore::ReplicatedStore(Store* store, Sessions* sessions, Owner* owner,
                                 const ShardReplica::Server& server, ShardReplica::Options options,
                                 Kept kept, uint64_t now_us)
    : store_(store),
      sessions_(sessions),
      owner_(owner),
      shard_(options.shard),
      waiting_bytes_max_(
          std::min(options.waiting_bytes_max, store->region().budget_bytes() / kWaitingPartMax)),
      now_us_(now_us),
      kept_(std::move(kept)),
      replica_(server, this, WithPast(std::move(options), *store), now_us) {
  if (!kept_.log) return;
  kept_.log->SetSource([this] { return replica().Everything(); });
  snapshot_.emplace(store_, sessions_, kept_.log.get(), kept_.log->feed());
}

bool ReplicatedStore::HasRoom(size_t bytes) const {
  const size_t waiting = waiting_bytes_ + log_.open_bytes();
  return waiting == 0 || waiting + bytes <= waiting_bytes_max_;
}

// What was written in this turn is passed on before anything comes that may end the reign.
bool ReplicatedStore::Step(uint64_t now_us) {
  now_us_ = now_us;
  bool did = PassOn(now_us);
  did |= replica_.Step(now_us);
  did |= LookAtLog();
  if (!logs_ && replica().serves()) BeginToLog();
  if (std::exchange(has_caught_up_, false)) replica_.CaughtUp();
  LookAtMemory();
  // Writes do it elsewhere; here are none.
  if (is_full_) did |= store_->SweepSome(now_us);
  return SendToJoining() || did;
}

// What was given to the log in this turn is passed on with it.
bool ReplicatedStore::LookAtLog() {
  if (!kept_.log) return false;
  kept_.log->PassOn();
  failures_.Look(shard_, *kept_.log->commit());
  // A disk that is full may have room again; one that fails is nothing to wait for, where others hold all.
  const bool is_broken = failure() == Code::kSystem;
  const auto& held = replica().held();
  if (is_broken && logs_) replica_.Leave(true);
  if (is_broken && !logs_ && held && held->shard.in_sync.size() > 1) {
    replica_.GiveUp("its log cannot be written");
  }
  const uint64_t kept = kept_.log->kept();
  if (std::exchange(told_kept_, kept) == kept) return false;
  replica_.HasKept(kept);
  return true;
}

bool ReplicatedStore::Arm() {
  if (!replica_.Arm()) return false;
  if (!kept_.log) return true;
  kept_.log->PassOn();
  return kept_.log->kept() == told_kept_;
}

// Two of them do not read the store at once. Of one that catches up the log has all that there is.
bool ReplicatedStore::StepSnapshot() {
  if (!snapshot_ || kept_.applier.catches_up() || !replica().is_member()) return false;
  if (!snapshot_->reads() && joining_ != nullptr && joining_->snapshot.reads()) return false;
  return snapshot_->Step();
}

// One that joins would stop all writes as soon as it is a member.
void ReplicatedStore::LookAtMemory() {
  is_full_ = store_->excess_percent() > (is_full_ ? kNotFullPercent : kFullPercent);
  const Full of_log = failure() == Code::kNoSpace ? Full::kLog : Full::kNot;
  replica_.SetFull(is_full_ ? Full::kMemory : of_log);
  if (is_full_ && !replica().is_member()) {
    is_too_small_ = true;
    return replica_.GiveUp("its memory is too small");
  }
  const cluster::Follower* full = logs_ ? replica().full_member() : nullptr;
  const Full before = std::exchange(other_full_, full != nullptr ? full->full : Full::kNot);
  if (other_full_ == before || full == nullptr) return;
  spdlog::warn("shard {}: its replica on {} is full, so {}", shard_, full->replica.server,
               other_full_ == Full::kMemory ? "PUTs fail: raise --memory there"
                                            : "writes fail: make room on the disk of --log there");
}

bool ReplicatedStore::PassOn(uint64_t now_us) {
  std::string entry = log_.TakeEntry();
  if (entry.empty()) return false;
  waiting_bytes_ += entry.size();
  replica_.Write(std::move(entry), now_us);
  return true;
}

// No other server's oath stands, and all entries are published: clients write here from now on.
void ReplicatedStore::BeginToLog() {
  logs_ = true;
  log_.Begin(replica().tail().end().number);
  sessions_->EndRestore(kept_.applier.knows_all_sessions());
  store_->LogTo(&log_, log::CommitMode::kStrict);
}

bool ReplicatedStore::Publish(const Entry& entry) {
  if (logs_) {
    log_.SetDurable(entry.at.number);
    waiting_bytes_ -= entry.data->size();
    store_->PublishDurable(SIZE_MAX);
    return true;
  }
  const bool caught_up = !kept_.applier.catches_up();
  const bool applied = kept_.applier.Apply(entry, now_us_);
  is_too_small_ |= kept_.applier.is_too_small();
  has_caught_up_ |= !caught_up && !kept_.applier.catches_up();
  return applied;
}

ReplicatedStore::Joining::Joining(Store* store, const Sessions* sessions, ReplicatedLog* log,
                                  uint64_t whom)
    : replica(whom), feed([] {}, [] {}), snapshot(store, sessions, log, &feed) {
  feed.Ask();
  feed.Want();
}

// What is in the snapshot is as it is after it was asked for, and so after the replica had the stream: later writes are
// entries, too.
bool ReplicatedStore::SendToJoining() {
  const auto whom = logs_ ? replica().joining() : std::nullopt;
  if (!whom || (joining_ != nullptr && joining_->replica != *whom)) joining_.reset();
  if (!whom || !replica().takes_entries()) return false;
  if (joining_ == nullptr && snapshot_ && snapshot_->reads()) return false;
  if (joining_ == nullptr) joining_ = std::make_unique<Joining>(store_, sessions_, &log_, *whom);
  if (joining_->is_sent) return false;
  log::SnapshotFeed& feed = joining_->feed;
  const bool did = joining_->snapshot.Step();
  if (!HasRoom(log::SnapshotBlock::kBytes)) return did;
  if (auto block = feed.TakeFull()) {
    PassOn(now_us_);
    auto items = std::as_const(*block).content().subspan(verify::kSnapshotBlockHeadBytes);
    for (std::span<const std::byte> rest = items; !rest.empty(); PassOn(now_us_)) {
      log_.AppendItems(TakeItems(&rest));
    }
    feed.Free(std::move(*block));
    return true;
  }
  if (feed.state() != log::SnapshotFeed::State::kOver) return did;
  joining_->is_sent = true;
  if (const auto total = feed.total()) {
    SendSessions(*total);
  } else {
    spdlog::error("a replica cannot join: an item of its shard is damaged; plov doctor says more");
  }
  return true;
}

void ReplicatedStore::SendSessions(const verify::SnapshotFooter& total) {
  PassOn(now_us_);
  log_.AppendSessions(joining_->feed.TakeSessions(), total.sessions_are_all);
  PassOn(now_us_);
}

// Who joins a stream that is empty has all.
void ReplicatedStore::CatchUp(const cluster::Member&, const cluster::Position& since) {
  has_caught_up_ = since == cluster::Position{};
  if (!has_caught_up_) kept_.applier.CatchUp();
}

// What was not published, and what sessions say of it, may be so yet: if this replica stays a member, then with its own
// tail, which it publishes as the next primary; who is taken over from is none, and is told what was Dropped.
void ReplicatedStore::Deposed() {
  owner_->CloseClients();
  sessions_->Follow();
  store_->EndLog();
  joining_.reset();
  waiting_bytes_ = 0;
  logs_ = false;
}

}  // namespace plov::server
