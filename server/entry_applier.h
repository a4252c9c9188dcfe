// EntryApplier: makes what the entries of a shard's stream hold (server/replicated_log.h) true in its store and sessions.
//
// A replica that joins has all entries from some time on, and what was before comes among them, item by item, and then
// the sessions. An item is no newer than an operation that came before it, so the newest version counts, also of what is
// not there any more.
//
// Threads: one, the shard's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "cluster/stream.h"
#include "server/sessions.h"
#include "server/store.h"

namespace plov::server {

class EntryApplier {
 public:
  // Both outlive it.
  EntryApplier(Store* store, Sessions* sessions) : store_(store), sessions_(sessions) {}

  // What was before comes among the entries that follow.
  void CatchUp() { catches_up_ = true; }
  bool catches_up() const { return catches_up_; }

  // False: the entry makes no sense, or cannot be stored.
  bool Apply(const cluster::Entry& entry, uint64_t now_us);

  // An entry that this server wrote, and that was never applied: it is not known to sessions any more.
  void Forget(const cluster::Entry& entry);

  // Whether memory was too small for some entry.
  bool is_too_small() const { return is_too_small_; }
  // Whether of a client that is not among the sessions nothing was ever applied.
  bool knows_all_sessions() const { return knows_all_sessions_; }
  void SetKnowsAllSessions(bool knows) { knows_all_sessions_ = knows; }

 private:
  bool ApplyOne(const verify::Logged& operation);
  bool ApplyOperations(std::span<const std::byte> operations);
  bool ApplyItems(std::span<const std::byte> items);
  bool ApplySessions(std::span<const std::byte> sessions, bool are_all);
  bool IsOlder(const verify::Logged& item) const;

  Store* store_;
  Sessions* sessions_;
  uint64_t now_us_ = 0;
  bool catches_up_ = false;
  bool is_too_small_ = false;
  bool knows_all_sessions_ = true;
  // While it catches up: what was deleted, or may expire, with the versions of that.
  std::unordered_map<std::string, uint64_t> gone_;
};

}  // namespace plov::server
