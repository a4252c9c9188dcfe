// Batch: a message of requests under way: how far it is handled, and the replies so far. A shard
// handles it in slices and serves others in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "server/command_queue.h"
#include "server/modification.h"
#include "server/store.h"
#include "server/transaction.h"
#include "server/vector_scan.h"
#include "server/write_times.h"
#include "verify/message.h"

namespace plov::server {

class Batch {
 public:
  // Of a slice of it, or of one request.
  enum class Outcome {
    kDone,
    kAgain,   // there is more to do
    kWaits,   // for memory that clients give back
    kLogs,    // goes on when the disk has caught up
    kReads,   // goes on when a value has arrived
    kAsks,    // goes on when the main thread has answered
    kTurns,   // goes on in the turns of several shards
    kBroken,  // no client of ours sends this
  };

  // Takes a private copy. False when it is no message of this client's.
  bool Open(std::span<const std::byte> message, uint64_t client_id) {
    message_.assign(message.begin(), message.end());
    requests_ =
        verify::MessageReader::Open(message_, client_id, verify::MessageReader::Holds::kRequests);
    replies.emplace(reply_, client_id);
    handled = 0;
    clock_us = 0;
    rests_on = 0;
    tells_of_items = false;
    write = {};
    slowest = {};
    EndRequest();
    return requests_.has_value();
  }

  verify::MessageReader& requests() { return *requests_; }

  void EndRequest() {
    request.reset();
    writing = {};
    modification.Reset();
    transaction.Reset();
    vector_scan.Reset();
    digest.reset();
    suspect.reset();
    command.reset();
  }

  // A slice has ended so.
  void Rest(Outcome outcome) { times.Rest(CauseOf(outcome)); }
  // The next begins.
  void GoOn(uint64_t now_us);

  // A write, as the slow log shows it; its key is in the message.
  struct Shown {
    verify::Operation operation = verify::Operation::kPing;
    uint32_t value_bytes = 0;
    std::string_view key = {};
    uint64_t took_us = 0;
  };

  std::optional<verify::MessageWriter> replies;
  uint32_t handled = 0;   // requests that have a reply
  uint64_t clock_us = 0;  // for the reply, when there is a CONFIRM
  uint64_t rests_on = 0;  // the batch of the log that is to be durable before the replies are sent
  bool tells_of_items = false;  // a reply does, and is no refusal of who cannot write

  WriteTimes times;
  Shown write;    // that was begun last; a kPing: there is none
  Shown slowest;  // that the message waited with longest

  // The request that is being handled, when it is not done in one go.
  std::optional<verify::Request> request;  // its strings are in the message
  Store::Writing writing;
  Modification modification;
  Transaction transaction;
  VectorScan vector_scan;
  std::optional<verify::ValueDigest> digest;  // of a long value: a write's, or one that is suspect
  std::optional<Store::Hit> suspect;          // held while it is verified
  std::shared_ptr<Command> command;           // until the main thread has answered it

 private:
  // Why the message does not go on.
  verify::Cause CauseOf(Outcome outcome) const;

  std::vector<std::byte> message_;
  std::optional<verify::MessageReader> requests_;
  std::array<std::byte, 32 << 10> reply_;
};

}  // namespace plov::server
