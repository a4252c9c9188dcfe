// Sessions: what makes a retried write apply at most once.
//
// A client numbers its writes to a shard (sequence) and keeps at most kSessionWindow of them
// unanswered. The shard keeps the replies of the last kSessionWindow per client; a sequence that
// it finds there is answered again, not applied again. Sessions of clients that left are kept for
// their return, the kIdleSessionsMax most recent; whose a session is that has no user is known as
// long as the session is (fabric/claim.h). Source: at-most-once by client id and sequence,
// after RIFL, SOSP 2015.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

#include "fabric/claim.h"
#include "verify/error.h"

namespace plov::server {

// Who owns a session. Another user who learns a client's id gets nothing by it.
struct SessionOwner {
  SessionOwner(uint64_t id, std::optional<uid_t> of = {}) : client_id(id), user(of) {}
  bool operator==(const SessionOwner&) const = default;

  uint64_t client_id;
  std::optional<uid_t> user;
};

struct SessionOwnerHash {
  size_t operator()(const SessionOwner& owner) const { return owner.client_id; }
};

inline constexpr uint64_t kSessionWindow = 256;
inline constexpr size_t kIdleSessionsMax = 1024;

struct WriteReply {
  Code status = Code::kOk;
  uint64_t version = 0;
};

class Session {
 public:
  enum class State {
    kNew,       // apply it, then Remember
    kDone,      // applied before: the reply is given
    kForgotten  // older than the window, or a retry of what this session never saw: outcome not
                // known
  };

  State Find(uint64_t sequence, bool retry, WriteReply* reply) const;
  void Remember(uint64_t sequence, const WriteReply& reply);
  // The client came back to this session, its first: what it holds no reply of was never applied.
  void Return() { returned_ = true; }

 private:
  struct Entry {
    uint64_t sequence = 0;  // 0 = none; sequences start at 1
    WriteReply reply;
  };

  std::array<Entry, kSessionWindow> entries_{};
  uint64_t first_sequence_ = 0;  // the first that this session saw
  bool returned_ = false;
};

// Threads: the shard's.
class Sessions {
 public:
  // warm: the shard's memory is of a former server, whose sessions are gone: what its clients send
  // again may have been applied.
  explicit Sessions(bool warm = false) : evicted_(warm) {}

  // The session of a client that connects; new or the one it left.
  Session* Enter(const SessionOwner& owner);
  // The client's connection ended.
  void Leave(const SessionOwner& owner);

  // To the ids of owners without a user.
  fabric::Claims* claims() { return &claims_; }

  size_t size() const { return sessions_.size(); }
  size_t bytes() const { return size() * sizeof(Session); }

 private:
  struct Registration {
    std::unique_ptr<Session> session = std::make_unique<Session>();
    bool first = true;  // the client had no session before this one
    int connections = 0;
    std::list<SessionOwner>::iterator idle;  // valid while connections == 0
  };

  std::unordered_map<SessionOwner, Registration, SessionOwnerHash> sessions_;
  std::list<SessionOwner> idle_;  // oldest first
  bool evicted_;                  // a session was dropped, nobody remembers whose
  fabric::Claims claims_;
};

}  // namespace plov::server
