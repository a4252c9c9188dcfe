// Write queue: a client's writes to one shard, from the caller to the reply, applied at most once.
//
// Every write gets the next sequence. Up to kWritesMax are unanswered at a time; several travel in
// one message. After a reconnect to the same server life what was sent and not answered is sent
// again as a retry, which the server recognises (server/sessions.h).
#pragma once

#include <plov/client.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/fabric.h"
#include "verify/message.h"

namespace plov {

// One less than the server remembers (kSessionWindow), so an unanswered write is never forgotten.
inline constexpr uint64_t kWritesMax = 255;
// Messages in flight per connection. A reply is never longer than a message, and eight of those fit
// in a ring.
inline constexpr uint32_t kMessagesInFlightMax = 4;
// A value over this travels by rendezvous: from here on the second copy costs more than the extra
// message.
inline constexpr size_t kEagerValueBytesMax = 16 << 10;

// A write as its caller gave it. Key and value stay the caller's until `done` was called.
struct Write {
  verify::Operation operation = verify::Operation::kPut;
  bool conditional = false;
  uint32_t flags = 0;
  uint32_t expiry = 0;
  Version expected_version = 0;
  std::string_view key = {};
  std::string_view value = {};
  fabric::Deadline deadline = {};
  void (*done)(void* context, size_t index, Client::PutResult result) = nullptr;
  void* context = nullptr;
  size_t index = 0;
};

class WriteQueue {
 public:
  explicit WriteQueue(uint64_t client_id) : client_id_(client_id) {}

  bool full() const { return next_ - oldest_ >= kWritesMax; }
  bool empty() const { return next_ == oldest_; }

  // How many callers are still to be told.
  size_t waiting() const;

  // Needs !full().
  void Add(const Write& write);

  // Sends what there is room for; `scratch` holds a message. Returns whether anything was sent.
  bool Flush(fabric::Connection* connection, std::span<std::byte> scratch, uint32_t* in_flight);

  void OnReply(const verify::Reply& reply);

  // Ends the writes whose deadline has passed; `connected` tells which error is true.
  void Expire(fabric::Deadline now, bool connected, const Error& down);
  // The earliest deadline of a write in the queue, or `otherwise`.
  fabric::Deadline EarliestDeadline(fabric::Deadline otherwise) const;

  // The connection was made anew, to the same server life: unanswered writes go again.
  // Returns how many.
  uint64_t Retry();
  // To another life: ends what was sent with kUnknown and hands back, in order, what was not.
  void Forsake(std::vector<Write>* unsent);

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
    bool retry = false;
    int8_t staging_half = -1;  // the half of the staging memory its value lies in
  };

  Entry& At(uint64_t sequence) { return entries_[sequence % entries_.size()]; }
  const Entry& At(uint64_t sequence) const { return entries_[sequence % entries_.size()]; }
  verify::Request RequestOf(const Entry& entry, uint64_t sequence) const;
  bool Stage(fabric::Connection* connection, Entry* entry, verify::Request* request);
  bool SendBatch(fabric::Connection* connection, std::span<std::byte> scratch);
  void Unstage(Entry* entry);
  void Finish(Entry* entry, Client::PutResult result);
  void Advance();

  uint64_t client_id_;
  // Sequences start at 1: oldest_ <= next_unsent_ <= next_, entries between oldest_ and next_ are
  // unanswered or free.
  uint64_t oldest_ = 1;
  uint64_t next_unsent_ = 1;
  uint64_t next_ = 1;
  std::array<Entry, kWritesMax + 1> entries_;
  std::array<bool, 2> staging_used_{};
};

// The error that a reply's status stands for.
Error ErrorOfStatus(Code status);

}  // namespace plov
