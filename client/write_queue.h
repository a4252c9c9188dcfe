// Write queue: a client's writes to one shard in one life of the server, from the caller to the
// reply, applied at most once.
//
// Every write gets the next sequence. Up to kWritesMax are unanswered at a time; several travel in
// one message. After a reconnect to the same life what was sent and not answered is sent again as
// a retry, which the server recognises (server/sessions.h).
#pragma once

#include <plov/client.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "client/callbacks.h"
#include "client/link.h"
#include "verify/message.h"
#include "verify/number.h"
#include "verify/vector.h"

namespace plov {

// One less than the server remembers (kSessionWindow), so an unanswered write is never forgotten.
inline constexpr uint64_t kWritesMax = 255;
// A value over this travels by rendezvous: from here on the second copy costs more than the extra
// message.
inline constexpr size_t kEagerValueBytesMax = 16 << 10;

// How a write ended.
struct Written {
  Version version = 0;
  int64_t number = 0;  // of an INCREMENT
};
using WriteResult = std::expected<Written, Error>;

inline constexpr size_t kChangeBytesMax =
    std::max(verify::kNumberChangeBytes, verify::kVectorCallBytes + verify::kElementBytesMax);

// A write as its caller gave it. Key and values stay the caller's until `done` was called.
struct Write {
  verify::Operation operation = verify::Operation::kPut;
  bool creates = false;
  uint32_t flags = 0;
  Lifetime ttl = {};
  Version expected_version = 0;  // 0: any
  std::string_view key = {};
  std::string_view value = {};
  std::optional<std::string_view> expected_value = {};
  // What comes before the value, encoded: of an INCREMENT the change, of an UPDATE the call and an operand that is a scalar.
  std::array<char, kChangeBytesMax> change = {};
  uint8_t change_bytes = 0;
  const char* mistake = nullptr;  // why no server takes it
  Deadline deadline = {};
  void (*done)(void* context, size_t index, WriteResult result) = nullptr;
  void* context = nullptr;
  size_t index = 0;
};

class WriteQueue {
 public:
  explicit WriteQueue(Callbacks* callbacks) : callbacks_(callbacks) {}

  // Whether the next write has to wait for an earlier one's reply.
  bool full() const { return next_ - oldest_ >= kWritesMax || !waiting_.empty(); }

  // Writes that got an answer.
  uint64_t answered() const { return answered_; }

  void Add(const Write& write);

  // Sends what there is room for, also of what had to wait; what can never be sent on this link ends with an error. Returns
  // whether anything moved.
  bool Flush(Link* link);

  void OnReply(const verify::Reply& reply);

  // Ends the writes whose deadline has passed; `down` tells why there is no connection, when there
  // is none.
  void Expire(Deadline now, const Error* down);
  // The earliest deadline of a write in the queue, or `otherwise`.
  Deadline EarliestDeadline(Deadline otherwise) const;

  // The connection was made anew, to the same life: unanswered writes go again. Returns how many.
  uint64_t Retry();
  // Appends, in order, what was not sent.
  void AppendUnsent(std::deque<Write>* writes) const;
  // The life is over for this client: what was sent ends with kUnknown for the reason given.
  void Close(std::string_view reason);
  // Memory ran out: ends those of a context, as far as is known.
  void Cancel(const void* context);
  // The same, and nobody is told.
  void Forget(const void* context);

 private:
  enum class State : uint8_t {
    kFree,
    kQueued,
    kSent,
    kOrphaned,  // sent, and its caller has been told kTimeout: only the reply is awaited
  };

  struct Entry {
    Write write;
    State state = State::kFree;
    bool retry = false;        // it may have been sent before
    int8_t staging_half = -1;  // the half of the staging memory its value lies in
  };

  enum class Staged { kDone, kLater, kNever };

  Entry& At(uint64_t sequence) { return entries_[sequence % entries_.size()]; }
  const Entry& At(uint64_t sequence) const { return entries_[sequence % entries_.size()]; }
  Staged Stage(fabric::Connection* connection, Entry* entry, verify::Request* request);
  bool SendBatch(Link* link);
  void Unstage(Entry* entry);
  void Finish(Entry* entry, WriteResult result);
  void Orphan(Entry* entry, Error error);
  // Ends a write that this connection can never carry.
  void Refuse(Entry* entry, Error error);
  void Advance();
  void Admit(const Write& write);
  void ExpireWaiting(Deadline now, const Error* down);
  void CancelWaiting(const void* context);

  Callbacks* callbacks_;
  // Sequences start at 1: oldest_ <= next_unsent_ <= next_, entries between oldest_ and next_ are
  // unanswered or free.
  uint64_t oldest_ = 1;
  uint64_t next_unsent_ = 1;
  uint64_t next_ = 1;
  std::vector<Entry> entries_;  // kWritesMax + 1, from the first write on
  std::deque<Write> waiting_;   // after them
  std::array<bool, 2> staging_used_{};
  uint64_t answered_ = 0;
};

// How long the item that a write stores lives.
void SetLifetime(const Lifetime& ttl, verify::Request* request);

// What is appended, or compared and stored, has to be in its message.
Error TooLargeToModify();

// The error that a reply's status stands for.
Error ErrorOfStatus(Code status, uint64_t version = 0);

}  // namespace plov
