// Followers: what a primary knows of the other replicas of its shard.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/safe_time.h"
#include "cluster/stream.h"

namespace plov::cluster {

struct Follower {
  Member replica;
  Position has = {};        // of one that joins, when it asked to
  bool is_joining = false;  // it is in no configuration yet
  bool follows = false;     // it has this primary's entries in the place of its own
  bool has_caught_up = false;
  bool leaves = false;     // it has asked to be dropped
  Full full = Full::kNot;  // it has said so last
  uint64_t sent = 0;       // it was sent all up to this number
  uint64_t held = 0;       // it holds all up to this number
  uint64_t heard_us = 0;   // when it was heard of last
  uint64_t sent_us = 0;    // it has acknowledged, in this epoch, what was sent then
  SafeTime safe_time = {};
};

class Followers {
 public:
  // The members of a configuration but the primary, and who is joining. Of those that are known already what they
  // hold stays known.
  void Set(const std::vector<Member>& members, const std::string& primary, uint64_t now_us);
  // One that is not in the configuration, if there is no other, or that is of a former life of its server.
  void Add(const Member& replica, const Position& has, uint64_t now_us);
  void Remove(uint64_t incarnation);
  // One that joins is not waited for until it says again that it has caught up.
  void Postpone(uint64_t incarnation);

  // None of them is silent: the primary itself has not asked.
  void HeardAll(uint64_t now_us);
  // Those of this server are not.
  void Heard(const std::string& server, uint64_t now_us);
  // They are as silent as one that was waited for.
  void Lost(const std::string& server);

  const std::vector<Follower>& all() const { return all_; }
  std::vector<Follower>& all() { return all_; }
  Follower* Find(uint64_t incarnation);
  // nullptr: there is none.
  const Follower* joining() const;

  // What each member holds, and who has caught up; `end` when there is none.
  uint64_t HeldByAll(uint64_t end) const;
  // Each has acknowledged something that was sent after `since_us`.
  bool AllHeardSince(uint64_t since_us) const;

 private:
  std::vector<Follower> all_;
};

}  // namespace plov::cluster
