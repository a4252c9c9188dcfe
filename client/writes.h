// Writes: those under way, from the caller to the queues of their shards (client/write_queue.h).
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "client/callbacks.h"
#include "client/peers.h"
#include "client/write_queue.h"

namespace plov {

// What a caller asked for; without a deadline and a callback.
Write MakePut(std::string_view key, std::string_view value, const PutOptions& options);
Write MakeIncrement(std::string_view key, int64_t delta, const IncrementOptions& options);
Write MakeTouch(std::string_view key, Lifetime ttl, Version expected_version);
Write MakeDelete(std::string_view key, Version expected_version);

Error BadTtl();

inline Client::PutResult VersionOf(WriteResult result) {
  if (result) return result->version;
  return std::unexpected(std::move(result.error()));
}

class Writes {
 public:
  explicit Writes(Callbacks* callbacks) : callbacks_(callbacks) {}

  void Attach(const Peers* peers) { peers_ = peers; }
  // The life is over for this client: what was sent ends with kUnknown for the reason given, the
  // rest waits for the next life.
  void Detach(Life* life, std::string_view reason);
  // Unanswered writes go again on the connections that were made anew; returns how many.
  static uint64_t Retry(Life* life);

  void Queue(const Write& write) { queued_.push_back(write); }
  size_t queued() const { return queued_.size(); }

  // Gives what is queued to the shards, in order, while they have room; what a shard has none for waits
  // there while another that is up has some. Returns whether anything moved.
  bool Distribute();

  // Ends what is past its deadline.
  void Expire(Deadline now);
  // Ends everything.
  void Close(const Error& error, std::string_view reason);
  // Memory ran out: ends those of a context.
  void Cancel(const void* context);
  // The same, and nobody is told.
  void Forget(const void* context);
  Deadline NextEvent(Deadline otherwise) const;

 private:
  std::optional<Error> Refusal(const Write& write) const;
  bool IsAnyHungry() const;
  void FailFirst(const Error& error);

  Callbacks* callbacks_;
  const Peers* peers_ = nullptr;
  std::deque<Write> queued_;
};

}  // namespace plov
