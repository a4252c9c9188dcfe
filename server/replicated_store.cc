#include "server/replicated_store.h"

#include <utility>

namespace plov::server {

using cluster::Entry;
using verify::Logged;

namespace {

// Of what was published while a replica caught up, what is applied in one turn.
constexpr int kAppliedPerStep = 64;

}  // namespace

ReplicatedStore::ReplicatedStore(Store* store, Sessions* sessions, Owner* owner,
                                 const ShardReplica::Server& server, ShardReplica::Options options,
                                 uint64_t now_us)
    : store_(store),
      sessions_(sessions),
      owner_(owner),
      waiting_bytes_max_(options.waiting_bytes_max),
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
  did |= SendSessions(now_us);
  return ApplyAwaiting(now_us) || did;
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
  if (!catches_up_) return Apply(*entry.data, now_us_);
  awaiting_.push_back(entry);
  return true;
}

bool ReplicatedStore::Apply(std::string_view entry, uint64_t now_us) {
  auto rest = std::as_bytes(std::span(entry));
  if (rest.size() < verify::kWordBytes) return false;
  const EntryHolds holds{std::to_integer<uint8_t>(rest.front())};
  rest = rest.subspan(verify::kWordBytes);
  if (holds != EntryHolds::kOperations) {
    return ApplySessions(rest, holds == EntryHolds::kAllSessions);
  }
  while (!rest.empty()) {
    const auto operation = verify::TakeLogged(&rest);
    if (!operation || operation->kind == Logged::Kind::kSuperseded) return false;
    if (store_->Apply(*operation, now_us) != Code::kOk) return false;
    sessions_->Restore(*operation);
  }
  return true;
}

// Of no use to who has them.
bool ReplicatedStore::ApplySessions(std::span<const std::byte> sessions, bool are_all) {
  if (!catches_up_) return true;
  has_sessions_ = true;
  knows_all_sessions_ = are_all;
  while (!sessions.empty()) {
    const auto session = verify::TakeLoggedSession(&sessions);
    if (!session) return false;
    sessions_->Restore(*session);
  }
  return true;
}

// Each session as it is at some time before the entry: its later writes are entries, too.
bool ReplicatedStore::SendSessions(uint64_t now_us) {
  const auto joining = logs_ ? replica().joining() : std::nullopt;
  if (joining != joining_) {
    joining_ = joining;
    pass_.reset();
    if (joining) pass_.emplace(sessions_);
  }
  if (!pass_ || !replica().takes_entries()) return false;
  if (pass_->Step()) return true;
  PassOn(now_us);
  log_.AppendSessions(pass_->Take(), pass_->are_all());
  pass_.reset();
  return PassOn(now_us);
}

void ReplicatedStore::CatchUp(const cluster::Member& primary, const cluster::Position& since) {
  catches_up_ = true;
  has_items_ = has_sessions_ = since == cluster::Position{};  // there is nothing
  if (!has_items_) owner_->CatchUp(primary);
}

bool ReplicatedStore::Take(const Logged& item, uint64_t now_us) {
  return store_->Apply(item, now_us) == Code::kOk;
}

bool ReplicatedStore::ApplyAwaiting(uint64_t now_us) {
  if (!catches_up_ || !has_items_) return false;
  bool did = false;
  for (int i = 0; i < kAppliedPerStep && !awaiting_.empty(); ++i) {
    const Entry entry = std::move(awaiting_.front());
    awaiting_.pop_front();
    did = true;
    if (!Apply(*entry.data, now_us)) {
      replica_.GiveUp("it cannot store what is published");
      return true;
    }
  }
  if (!awaiting_.empty() || !has_sessions_) return did;
  catches_up_ = false;
  replica_.CaughtUp();
  return true;
}

// What was not published, and what sessions say of it, may be so yet: if this replica stays a member, then with its own
// tail, which it publishes as the next primary; who is taken over from is none.
void ReplicatedStore::Deposed() {
  owner_->CloseClients();
  sessions_->Follow();
  store_->EndLog();
  pass_.reset();
  waiting_bytes_ = 0;
  logs_ = false;
}

}  // namespace plov::server
