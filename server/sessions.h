// Sessions: what makes a retried write apply at most once.
//
// A client numbers its writes to a shard (sequence) and keeps at most kSessionWindow of them
// unanswered. The shard keeps the replies of the last kSessionWindow per client; a sequence that
// it finds there is answered again, not applied again. Sessions of clients that left are kept for
// their return, the kIdleSessionsMax most recent; whose a session is that has no user is known as
// long as the session is (fabric/claim.h). What a log and its snapshots have of them goes on after a
// restart. Source: at-most-once by client id and sequence, after RIFL, SOSP 2015.
#pragma once

#include <sys/types.h>

#include <array>
#include <bitset>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fabric/claim.h"
#include "verify/error.h"
#include "verify/log.h"

namespace plov::server {

// Who owns a session. Another user who learns a client's id gets nothing by it.
struct SessionOwner {
  SessionOwner(uint64_t id, std::optional<uid_t> of = {}) : client_id(id), user(of) {}
  bool operator==(const SessionOwner&) const = default;

  uint64_t client_id;
  std::optional<uid_t> user;
};

// An owner as a log names it: under its id, which clients do not know, so that no user can take the
// number of another one's by choosing ids.
uint64_t LoggedOwner(const SessionOwner& owner, const verify::LogId& log);

struct SessionOwnerHash {
  size_t operator()(const SessionOwner& owner) const { return owner.client_id; }
};

inline constexpr uint64_t kSessionWindow = 256;
inline constexpr size_t kIdleSessionsMax = 1024;

struct WriteReply {
  Code status = Code::kOk;
  uint64_t version = 0;
  std::optional<int64_t> number = {};  // of an INCREMENT

  bool operator==(const WriteReply&) const = default;
};

class Session {
 public:
  enum class State {
    kNew,       // apply it, then Remember
    kDone,      // applied before: the reply is given; of a restored one perhaps without its number
    kForgotten  // older than the window, or a retry of what this session never saw: outcome not
                // known
  };

  State Find(uint64_t sequence, bool retry, WriteReply* reply) const;
  void Remember(uint64_t sequence, const WriteReply& reply);
  // A write that the log has, in the log's order. What the client sent before and the log has not
  // was refused, nobody knows why, or came after later ones: it is not tried again.
  void Restore(uint64_t sequence, const WriteReply& reply);
  // What a snapshot has, as known() gave it.
  void Restore(const verify::LoggedSession& session);
  // A write that it remembers, and that was never applied after all.
  void Forget(uint64_t sequence, uint64_t version);
  // Why a write was refused may not be so any more.
  void ForgetRefusals();
  // For a snapshot: the last write that was applied, with the version of its reply; where none was, the last
  // before those that this session saw, which may have been. Later ones were refused at most: who restores this
  // decides them anew, and puts none behind a later write by it. nullopt: nothing is known.
  std::optional<verify::LoggedSession> known() const;
  // The client came back to this session, its first: what it holds no reply of was never applied.
  void Return() { returned_ = true; }

 private:
  struct Entry {
    uint64_t sequence = 0;  // 0 = none; sequences start at 1
    Code status = Code::kOk;
    uint64_t version = 0;
  };
  // Of a client that has INCREMENTs, or had values restored that are numbers.
  struct Numbers {
    std::array<int64_t, kSessionWindow> of_entries;
    std::bitset<kSessionWindow> are_known;
  };

  void RememberNumber(size_t index, std::optional<int64_t> number);

  std::array<Entry, kSessionWindow> entries_{};
  std::unique_ptr<Numbers> numbers_;  // null: none is known
  uint64_t first_sequence_ = 0;       // the first that this session saw
  uint64_t last_sequence_ = 0;        // the greatest that was applied; 0: none is known
  uint64_t last_version_ = 0;         // of its reply
  bool returned_ = false;
};

// Threads: the shard's.
class Sessions {
 public:
  // warm: the shard's memory is of a former server, whose sessions are gone: what its clients send
  // again may have been applied.
  explicit Sessions(bool warm = false) : evicted_(warm) {}

  // Before any Enter: of a former server's clients first what its snapshot has, then each write of the log from
  // there on, in its order. Only the kIdleSessionsMax that came last are kept.
  void Restore(const verify::LoggedSession& session);
  void Restore(const verify::Logged& write);
  // is_whole: of a client that was not among these nothing was ever applied; with warm memory
  // those that follow belong to them, which the log has not.
  void EndRestore(bool is_whole);

  // Another server decides from now on what is applied, and Restore tells of it; until EndRestore. All clients have left.
  void Follow();
  // Then: a write that this server had decided was never applied; and so what it had refused may not be refused now.
  void Forget(const verify::Logged& write);
  void ForgetRefusals();

  // The session of a client that connects; new, the one it left, or what was restored of the one it
  // had with a former server. logged_owner: its LoggedOwner; 0: there is no log.
  Session* Enter(const SessionOwner& owner, uint64_t logged_owner = 0);
  // The client's connection ended.
  void Leave(const SessionOwner& owner);

  // For a snapshot: takes all sessions, some at each step, each as it is then. One of a client that comes
  // meanwhile may be left out. The sessions outlive it.
  class Pass {
   public:
    explicit Pass(const Sessions* sessions) : sessions_(sessions) {}

    // False: there are no more.
    bool Step();
    // Of a client that is not among those taken nothing was applied before the pass.
    bool are_all() const { return !sessions_->evicted_; }
    // Those of connected clients are last: who restores too many drops the first.
    std::vector<verify::LoggedSession> Take();

   private:
    // Some 10 us: each may be out of the cache.
    static constexpr size_t kBucketsPerStep = 128;

    void Begin();

    const Sessions* sessions_;
    size_t buckets_ = 0;
    size_t next_ = 0;  // of them
    std::vector<verify::LoggedSession> idle_;
    std::vector<verify::LoggedSession> connected_;
  };

  // To the ids of owners without a user.
  fabric::Claims* claims() { return &claims_; }

  size_t size() const { return sessions_.size() + restored_.size(); }
  size_t bytes() const { return size() * sizeof(Session); }

 private:
  struct Registration {
    std::unique_ptr<Session> session = std::make_unique<Session>();
    bool first = true;  // the client had no session before this one
    uint64_t logged_owner = 0;
    int connections = 0;
    std::list<SessionOwner>::iterator idle;  // valid while connections == 0
  };
  struct Restored {
    uint64_t owner;
    std::unique_ptr<Session> session = std::make_unique<Session>();
  };

  Session* RestoredOf(uint64_t logged_owner);
  std::unique_ptr<Session> TakeRestored(uint64_t logged_owner);

  std::unordered_map<SessionOwner, Registration, SessionOwnerHash> sessions_;
  std::list<SessionOwner> idle_;  // oldest first
  bool evicted_;                  // a session was dropped, nobody remembers whose
  bool dropped_ = false;          // one that was restored, or before Follow
  bool knows_all_ = false;        // if none was: all that was ever applied
  std::list<Restored> restored_;  // who has not come back yet; who wrote last is last
  std::unordered_map<uint64_t, std::list<Restored>::iterator> restored_by_owner_;
  fabric::Claims claims_;
};

}  // namespace plov::server
