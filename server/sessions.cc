#include "server/sessions.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace plov::server {

uint64_t LoggedOwner(const SessionOwner& owner, const verify::LogId& log) {
  const uint64_t words[] = {owner.client_id, owner.user ? uint64_t{*owner.user} + 1 : 0, log.high};
  return XXH3_64bits_withSeed(words, sizeof(words), log.low);
}

Session::State Session::Find(uint64_t sequence, bool retry, WriteReply* reply) const {
  const Entry& entry = entries_[sequence % kSessionWindow];
  if (entry.sequence == sequence) {
    *reply = entry.reply;
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
  entries_[sequence % kSessionWindow] = {sequence, reply};
}

void Session::Restore(uint64_t sequence, const WriteReply& reply) {
  entries_[sequence % kSessionWindow] = {sequence, reply};
  first_sequence_ = std::max(first_sequence_, sequence + 1);
}

void Sessions::Restore(const verify::Logged& write) {
  if (write.sequence == 0) return;  // no client's
  const auto [found, fresh] = restored_by_owner_.try_emplace(write.client_id, restored_.end());
  if (fresh) {
    restored_.push_back({write.client_id});
    found->second = std::prev(restored_.end());
  }
  restored_.splice(restored_.end(), restored_, found->second);
  found->second->session->Restore(write.sequence, {Code::kOk, write.version});
  if (restored_.size() <= kIdleSessionsMax) return;
  restored_by_owner_.erase(restored_.front().owner);
  restored_.pop_front();
  dropped_ = true;
  evicted_ = true;
}

void Sessions::EndRestore(bool is_whole) {
  knows_all_ = is_whole;
  evicted_ = dropped_ || !is_whole;
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

}  // namespace plov::server
