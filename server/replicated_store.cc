#include "server/replicated_store.h"

#include <spdlog/spdlog.h>

#include <optional>
#include <utility>

namespace plov::server {

using cluster::Entry;
using verify::Logged;

namespace {

// What waits must fit into memory that is full, where others have as much: Store::kExcessPercentMax.
constexpr size_t kWaitingPartMax = 16;
// Replicas of the same items take more and less memory: by so much a full one exceeds its own before it stops its primary,
// and then gives back.
constexpr size_t kFullPercent = 12, kNotFullPercent = 6;
static_assert(kFullPercent + 100 / kWaitingPartMax < Store::kExcessPercentMax);

}  // namespace

ReplicatedStore::ReplicatedStore(Store* store, Sessions* sessions, Owner* owner,
                                 const ShardReplica::Server& server, ShardReplica::Options options,
                                 uint64_t now_us)
    : store_(store),
      sessions_(sessions),
      owner_(owner),
      shard_(options.shard),
      waiting_bytes_max_(
          std::min(options.waiting_bytes_max, store->region().budget_bytes() / kWaitingPartMax)),
      now_us_(now_us),
      knows_all_sessions_(!options.memory || options.memory->tail.end() == cluster::Position{}),
      replica_(server, this, std::move(options), now_us) {}

bool ReplicatedStore::HasRoom(size_t bytes) const {
  const size_t waiting = waiting_bytes_ + log_.open_bytes();
  return waiting == 0 || waiting + bytes <= waiting_bytes_max_;
}

// What was written in this turn is passed on before anything comes that may end the reign.
bool ReplicatedStore::Step(uint64_t now_us) {
  now_us_ = now_us;
  bool did = PassOn(now_us);
  did |= replica_.Step(now_us);
  if (!logs_ && replica().serves()) BeginToLog();
  if (std::exchange(has_caught_up_, false)) replica_.CaughtUp();
  LookAtMemory();
  // Writes do it elsewhere; here are none.
  if (is_full_) did |= store_->SweepSome(now_us);
  return SendToJoining() || did;
}

// One that joins would stop all writes as soon as it is a member.
void ReplicatedStore::LookAtMemory() {
  is_full_ = store_->excess_percent() > (is_full_ ? kNotFullPercent : kFullPercent);
  replica_.SetFull(is_full_);
  if (is_full_ && !replica().is_member()) {
    is_too_small_ = true;
    return replica_.GiveUp("its memory is too small");
  }
  const std::string* full = logs_ ? replica().full_member() : nullptr;
  if (std::exchange(other_is_full_, full != nullptr) || full == nullptr) return;
  spdlog::warn("shard {}: its replica on {} is full, so PUTs fail: raise --memory there", shard_,
               *full);
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
  sessions_->EndRestore(knows_all_sessions_);
  store_->LogTo(&log_, log::CommitMode::kStrict);
}

bool ReplicatedStore::Publish(const Entry& entry) {
  if (logs_) {
    log_.SetDurable(entry.at.number);
    waiting_bytes_ -= entry.data->size();
    store_->PublishDurable(SIZE_MAX);
    return true;
  }
  auto rest = std::as_bytes(std::span(*entry.data));
  if (rest.size() < verify::kWordBytes) return false;
  const EntryHolds holds{std::to_integer<uint8_t>(rest.front())};
  rest = rest.subspan(verify::kWordBytes);
  if (holds == EntryHolds::kOperations) return ApplyOperations(rest);
  if (!catches_up_) return true;  // it is for another one
  if (holds == EntryHolds::kItems) return ApplyItems(rest);
  return ApplySessions(rest, holds == EntryHolds::kAllSessions);
}

bool ReplicatedStore::Apply(const Logged& operation) {
  const Code status = store_->Apply(operation, now_us_);
  is_too_small_ |= status == Code::kNoSpace;
  return status == Code::kOk;
}

bool ReplicatedStore::ApplyOperations(std::span<const std::byte> operations) {
  while (!operations.empty()) {
    const auto operation = verify::TakeLogged(&operations);
    if (!operation || operation->kind == Logged::Kind::kSuperseded) return false;
    if (!Apply(*operation)) return false;
    sessions_->Restore(*operation);
    const bool may_go = operation->kind == Logged::Kind::kDelete || operation->expiry != 0;
    if (catches_up_ && may_go) gone_[std::string(operation->key)] = operation->version;
  }
  return true;
}

bool ReplicatedStore::ApplyItems(std::span<const std::byte> items) {
  while (!items.empty()) {
    const auto item = verify::TakeLogged(&items);
    if (!item || item->kind != Logged::Kind::kPut) return false;
    if (!IsOlder(*item) && !Apply(*item)) return false;
  }
  return true;
}

bool ReplicatedStore::IsOlder(const Logged& item) const {
  const auto gone = gone_.find(std::string(item.key));
  return (gone != gone_.end() && gone->second > item.version) || store_->HasNewer(item);
}

// They come last.
bool ReplicatedStore::ApplySessions(std::span<const std::byte> sessions, bool are_all) {
  knows_all_sessions_ = are_all;
  while (!sessions.empty()) {
    const auto session = verify::TakeLoggedSession(&sessions);
    if (!session) return false;
    sessions_->Restore(*session);
  }
  catches_up_ = false;
  has_caught_up_ = true;
  gone_.clear();
  return true;
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
  if (joining_ == nullptr) joining_ = std::make_unique<Joining>(store_, sessions_, &log_, *whom);
  if (joining_->is_sent) return false;
  log::SnapshotFeed& feed = joining_->feed;
  const bool did = joining_->snapshot.Step();
  if (!HasRoom(log::SnapshotBlock::kBytes)) return did;
  if (auto block = feed.TakeFull()) {
    PassOn(now_us_);
    log_.AppendItems(block->content().subspan(verify::kSnapshotBlockHeadBytes));
    feed.Free(std::move(*block));
    return PassOn(now_us_);
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
  catches_up_ = since != cluster::Position{};
  has_caught_up_ = !catches_up_;
}

// What was not published, and what sessions say of it, may be so yet: if this replica stays a member, then with its own
// tail, which it publishes as the next primary; who is taken over from is none.
void ReplicatedStore::Deposed() {
  owner_->CloseClients();
  sessions_->Follow();
  store_->EndLog();
  joining_.reset();
  waiting_bytes_ = 0;
  logs_ = false;
}

}  // namespace plov::server
