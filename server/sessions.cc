#include "server/sessions.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "verify/number.h"

namespace plov::server {

uint64_t LoggedOwner(const SessionOwner& owner, const verify::LogId& log) {
  const uint64_t words[] = {owner.client_id, owner.user ? uint64_t{*owner.user} + 1 : 0, log.high};
  return XXH3_64bits_withSeed(words, sizeof(words), log.low);
}

Session::State Session::Find(uint64_t sequence, bool retry, WriteReply* reply) const {
  const size_t index = sequence % kSessionWindow;
  const Entry& entry = entries_[index];
  if (entry.sequence == sequence) {
    *reply = {entry.status, entry.version};
    if (numbers_ && numbers_->are_known[index]) reply->number = numbers_->of_entries[index];
    return State::kDone;
  }
  if (entry.sequence > sequence) return State::kForgotten;
  // A retry is new only to a session that was there when it was sent first.
  const bool was_there = first_sequence_ == 0 ? returned_ : sequence >= first_sequence_;
  if (retry && !was_there) return State::kForgotten;
  return State::kNew;
}

void Session::Remember(uint64_t sequence, const WriteReply& reply) {
  if (first_sequence_ == 0) first_sequence_ = sequence;
  const size_t index = sequence % kSessionWindow;
  entries_[index] = {sequence, reply.status, reply.version};
  if (numbers_ || reply.number) RememberNumber(index, reply.number);
  if (reply.status != Code::kOk || sequence < last_sequence_) return;
  last_sequence_ = sequence;
  last_version_ = reply.version;
}

void Session::RememberNumber(size_t index, std::optional<int64_t> number) {
  if (!numbers_) numbers_ = std::make_unique<Numbers>();
  numbers_->are_known[index] = number.has_value();
  numbers_->of_entries[index] = number.value_or(0);
}

void Session::Restore(uint64_t sequence, const WriteReply& reply) {
  Remember(sequence, reply);
  first_sequence_ = std::max(first_sequence_, sequence + 1);
}

void Session::Restore(const verify::LoggedSession& session) {
  if (session.version != 0) return Restore(session.sequence, {Code::kOk, session.version});
  first_sequence_ = std::max(first_sequence_, session.sequence + 1);
}

// What was in its place before it the client has a reply of.
void Session::Forget(uint64_t sequence, uint64_t version) {
  Entry& forgotten = entries_[sequence % kSessionWindow];
  const bool is_it = forgotten.sequence == sequence && forgotten.status == Code::kOk &&
                     forgotten.version == version;
  if (!is_it) return;
  forgotten = {};
  if (sequence != last_sequence_) return;
  last_sequence_ = last_version_ = 0;
  for (const Entry& entry : entries_) {
    if (entry.status != Code::kOk || entry.sequence <= last_sequence_) continue;
    last_sequence_ = entry.sequence;
    last_version_ = entry.version;
  }
}

void Session::ForgetRefusals() {
  for (Entry& entry : entries_) {
    if (entry.status != Code::kOk) entry = {};
  }
}

std::optional<verify::LoggedSession> Session::known() const {
  if (last_sequence_ != 0) {
    return verify::LoggedSession{.sequence = last_sequence_, .version = last_version_};
  }
  if (first_sequence_ != 0) return verify::LoggedSession{.sequence = first_sequence_ - 1};
  return returned_ ? std::optional(verify::LoggedSession{}) : std::nullopt;
}

void Sessions::Restore(const verify::LoggedSession& session) {
  RestoredOf(session.client_id)->Restore(session);
}

void Sessions::Restore(const verify::Logged& write) {
  if (write.sequence == 0) return;  // no client's
  RestoredOf(write.client_id)
      ->Restore(write.sequence, {Code::kOk, write.version, verify::NumberOf(write.value)});
}

// It is the last one then.
Session* Sessions::RestoredOf(uint64_t logged_owner) {
  const auto [found, fresh] = restored_by_owner_.try_emplace(logged_owner, restored_.end());
  if (fresh) {
    restored_.push_back({logged_owner});
    found->second = std::prev(restored_.end());
  }
  restored_.splice(restored_.end(), restored_, found->second);
  Session* session = found->second->session.get();
  if (restored_.size() <= kIdleSessionsMax) return session;
  restored_by_owner_.erase(restored_.front().owner);
  restored_.pop_front();
  dropped_ = true;
  evicted_ = true;
  return session;
}

void Sessions::EndRestore(bool is_whole) {
  knows_all_ = is_whole;
  evicted_ = dropped_ || !is_whole;
}

void Sessions::Follow() {
  for (const SessionOwner& owner : idle_) {
    Registration& registration = sessions_.at(owner);
    *RestoredOf(registration.logged_owner) = std::move(*registration.session);
  }
  idle_.clear();
  sessions_.clear();
  claims_.ForgetAll();
  dropped_ = evicted_;
}

void Sessions::ForgetRefusals() {
  for (const Restored& restored : restored_) restored.session->ForgetRefusals();
}

void Sessions::Forget(const verify::Logged& write) {
  const auto found = restored_by_owner_.find(write.client_id);
  if (found != restored_by_owner_.end()) {
    found->second->session->Forget(write.sequence, write.version);
  }
}

// Null: there is none.
std::unique_ptr<Session> Sessions::TakeRestored(uint64_t logged_owner) {
  const auto found = restored_by_owner_.find(logged_owner);
  if (found == restored_by_owner_.end()) return nullptr;
  auto session = std::move(found->second->session);
  restored_.erase(found->second);
  restored_by_owner_.erase(found);
  return session;
}

Session* Sessions::Enter(const SessionOwner& owner, uint64_t logged_owner) {
  auto [it, fresh] = sessions_.try_emplace(owner);
  Registration& registration = it->second;
  if (fresh) {
    registration.logged_owner = logged_owner;
    registration.first = !evicted_;
    if (auto restored = TakeRestored(logged_owner)) {
      registration.session = std::move(restored);
    } else if (knows_all_ && !evicted_) {
      registration.session->Return();
    }
  }
  // Else this session may be the second of a client whose writes the first one saw.
  if (!fresh && registration.first) registration.session->Return();
  if (!fresh && registration.connections == 0) idle_.erase(registration.idle);
  ++registration.connections;
  return registration.session.get();
}

void Sessions::Leave(const SessionOwner& owner) {
  const auto it = sessions_.find(owner);
  if (it == sessions_.end() || --it->second.connections > 0) return;
  it->second.idle = idle_.insert(idle_.end(), owner);
  if (idle_.size() > kIdleSessionsMax) {
    if (!idle_.front().user) claims_.Forget(idle_.front().client_id);
    sessions_.erase(idle_.front());
    idle_.pop_front();
    evicted_ = true;
  }
}

// A restored session moves to the others when its client comes, and never back: those first, and none is missed.
void Sessions::Pass::Begin() {
  buckets_ = sessions_->sessions_.bucket_count();
  next_ = 0;
  idle_.clear();
  connected_.clear();
  for (const Restored& restored : sessions_->restored_) {
    auto known = restored.session->known();
    if (!known) continue;
    known->client_id = restored.owner;
    idle_.push_back(*known);
  }
}

// Where the others were put into more buckets, all begins anew.
bool Sessions::Pass::Step() {
  const auto& sessions = sessions_->sessions_;
  if (buckets_ != sessions.bucket_count()) Begin();
  const size_t end = std::min(next_ + kBucketsPerStep, buckets_);
  for (; next_ < end; ++next_) {
    for (auto it = sessions.begin(next_); it != sessions.end(next_); ++it) {
      const Registration& registration = it->second;
      auto known = registration.session->known();
      if (!known && registration.first) known.emplace();
      if (!known || registration.logged_owner == 0) continue;
      known->client_id = registration.logged_owner;
      (registration.connections > 0 ? connected_ : idle_).push_back(*known);
    }
  }
  return next_ < buckets_;
}

std::vector<verify::LoggedSession> Sessions::Pass::Take() {
  idle_.insert(idle_.end(), connected_.begin(), connected_.end());
  return std::move(idle_);
}

}  // namespace plov::server
