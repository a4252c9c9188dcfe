#include "cluster/followers.h"

#include <algorithm>
#include <utility>

namespace plov::cluster {

void Followers::Set(const std::vector<Member>& members, const std::string& primary,
                    uint64_t now_us) {
  std::vector<Follower> next;
  for (const Member& member : members) {
    if (member.server == primary) continue;
    const Follower* known = Find(member.incarnation);
    next.push_back(known != nullptr ? *known : Follower{.replica = member});
    next.back().is_joining = false;
    Remove(member.incarnation);
  }
  if (joining() != nullptr) next.push_back(*joining());
  // Of the epoch before no acknowledgement counts here, nor its silence.
  for (Follower& one : next) {
    one.sent_us = 0;
    one.heard_us = now_us;
  }
  all_ = std::move(next);
}

void Followers::Add(const Member& replica, const Position& has, uint64_t now_us) {
  const Follower* other = joining();
  if (other != nullptr && other->replica.server == replica.server &&
      other->replica.incarnation != replica.incarnation) {
    Remove(other->replica.incarnation);
  }
  if (joining() != nullptr) return;
  all_.push_back({.replica = replica, .has = has, .is_joining = true, .heard_us = now_us});
}

void Followers::Remove(uint64_t incarnation) {
  std::erase_if(all_, [&](const Follower& one) { return one.replica.incarnation == incarnation; });
}

void Followers::Postpone(uint64_t incarnation) { Find(incarnation)->has_caught_up = false; }

void Followers::HeardAll(uint64_t now_us) {
  for (Follower& one : all_) one.heard_us = now_us;
}

void Followers::Heard(const std::string& server, uint64_t now_us) {
  for (Follower& one : all_) {
    if (one.replica.server == server) one.heard_us = now_us;
  }
}

void Followers::Lost(const std::string& server) { Heard(server, 0); }

Follower* Followers::Find(uint64_t incarnation) {
  const auto found = std::ranges::find(all_, incarnation,
                                       [](const Follower& one) { return one.replica.incarnation; });
  return found == all_.end() ? nullptr : &*found;
}

const Follower* Followers::joining() const {
  const auto found = std::ranges::find(all_, true, &Follower::is_joining);
  return found == all_.end() ? nullptr : &*found;
}

uint64_t Followers::HeldByAll(uint64_t end) const {
  for (const Follower& one : all_) {
    if (!one.is_joining || one.has_caught_up) end = std::min(end, one.held);
  }
  return end;
}

bool Followers::AllHeardSince(uint64_t since_us) const {
  return std::ranges::all_of(
      all_, [&](const Follower& one) { return one.is_joining || one.sent_us > since_us; });
}

}  // namespace plov::cluster
