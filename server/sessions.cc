#include "server/sessions.h"

namespace plov::server {

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

Session* Sessions::Enter(const SessionOwner& owner) {
  auto [it, fresh] = sessions_.try_emplace(owner);
  Registration& registration = it->second;
  if (fresh) registration.first = !evicted_;
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
