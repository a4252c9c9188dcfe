// Messages: batches of requests and of replies, carried by SEND/RECV.
//
// Message header, 48 bytes:
//  offset size field           guards against
//       0    8 checksum        garbage: XXH3 of bytes 8..end under MessageSeed(client id)
//       8    4 magic           "plrq" or "plrp": a reply taken for a request
//      12    4 count           requests or replies that follow
//      16    8 client id       whose sequences these are (at most once)
//      24    8 answered        requests: every sequence below has its reply; replies: the
//                              superblock's version, so that a client that only writes READs it
//      32    4 message bytes   a message cut short
//      36    4 flags           requests: 1 keep: the client still READs records held for it
//      40    8 clock           replies, to messages with a CONFIRM: the server's Unix time in us,
//                              taken between the requests' arrival and this message; else 0
//
// Request, 48 bytes, then key, eager value, zeros to the next word:
//       0    1 operation
//       1    1 flags           1 retry, 2 rendezvous, 4 conditional, 8 suspect, 16 compares,
//                              32 creates, 64 until
//       2    2 key bytes
//       4    4 value bytes
//       8    8 request id      echoed in the reply
//      16    8 sequence        of writes, increasing per client and shard; 0 for reads
//      24    8 expected version  of the item (conditional), of the superblock (CONFIRM)
//      32    4 item flags
//      36    4 time to live    seconds from when the write is applied, 0 = for ever; with `until`
//                              the expiry, in Unix seconds of the server's clock
//      40    8 staging offset  where the server READs the value (rendezvous); of a PUT that compares
//                              the length of the expected value, which comes before the new one
//
// Reply, 48 bytes, then eager value, zeros to the next word:
//       0    8 request id
//       8    2 status          a Code
//      10    2 flags           1 held: the value is in the record named here, kept for this client
//      12    4 value bytes
//      16    8 version
//      24    4 item flags
//      28    4 expiry
//      32    8 record offset   of an INCREMENT the number that it made, of a CONFIRM whether hits are to be told
//      40    4 record bytes
//      44    4 reserved, zero
//
// Whole if and only if checksum, magic and all lengths agree. Decoding works on a private copy and
// takes every byte for hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include "verify/error.h"
#include "verify/words.h"

namespace plov::verify {

enum class Operation : uint8_t {
  kGet = 1,      // the fallback: always right, costs server CPU
  kPut = 2,      // store, whatever was there; with `conditional`, only over the expected version
  kAdd = 3,      // store only if absent
  kReplace = 4,  // store only if present
  kDelete = 5,
  kPing = 6,
  kStats = 7,    // replied to when the counters (verify/counters.h) are up to date
  kConfirm = 8,  // the client has taken over the superblock of the version expected_version, and no
                 // READ by an older one is under way or will be: a table that no later superblock
                 // lists is nothing to it. Sent after connecting and after every change of view.
  // Its value, if there is one, is a GetReport, and HitNames of items that were found. The
  // reply's number is 1 where the server evicts items and is to be told of these.
  kSync = 9,  // replied to when everything that this shard has answered is durable
  // Asks for a snapshot of the log; the reply's version is the number of snapshots, taken or failed,
  // that the shard will have finished when this one is.
  kSnapshot = 10,
  // A command of an operator, in the key, with its argument in the value. The reply's value is text:
  // lines of "name value", or why the command is refused.
  kAdminister = 11,
  // Writes that make the new value of the one that is there. All but TOUCH keep its flags and expiry; of an absent
  // key they are refused, or with `creates` stored as by a PUT.
  kAppend = 12,     // the value comes after it
  kPrepend = 13,    // before it
  kIncrement = 14,  // the value is a NumberChange (verify/number.h)
  kTouch = 15,      // the value stays, and expires after the time to live; there is no value
  // Deletes every item that is there when the flush begins which expected_version names, at random and not 0; what is
  // stored later stays. Asks for that flush unless it is known. The reply's number is that of items deleted so far; its
  // version is 0 when the flush is over, else another one than before if it got on. With a time to live it begins so much
  // later, in place of one that was to begin so, and the version is 0.
  kFlush = 16,
  // Several writes of one shard, all or none, and only if what was read still stands. The value is a Transaction
  // (verify/transaction.h), the key the first one of it. The reply's version is the last write's; the others have those
  // before it, in their order. Of a read that does not stand kVersionMismatch.
  kCommit = 17,
  // Of vectors; the values are VectorCalls (verify/vector.h) with their operands. UPDATE is a modification. REDUCE and FILTER
  // are reads; of a FILTER that is conditional the item is known to be whole, since that is not its first request.
  kUpdate = 18,
  kReduce = 19,
  kFilter = 20,
};

// A server answers others, which are of a later release, with kProtocol.
constexpr bool IsKnown(Operation operation) {
  return operation >= Operation::kGet && operation <= Operation::kFilter;
}

// Of what is there.
constexpr bool IsModification(Operation operation) {
  return (operation >= Operation::kAppend && operation <= Operation::kTouch) ||
         operation == Operation::kUpdate;
}

constexpr bool IsWrite(Operation operation) {
  return (operation >= Operation::kPut && operation <= Operation::kDelete) ||
         IsModification(operation) || operation == Operation::kCommit;
}

// Reads of a vector where it is.
constexpr bool IsOfVector(Operation operation) {
  return operation == Operation::kReduce || operation == Operation::kFilter;
}

// Whose reply tells of items: who is not their primary does not know.
constexpr bool IsOfItems(Operation operation) {
  return IsWrite(operation) || operation == Operation::kGet || IsOfVector(operation) ||
         operation == Operation::kSync || operation == Operation::kFlush;
}

// Writes, and what makes the server's disk work: a client that may only read is refused.
constexpr bool IsForWriters(Operation operation) {
  return IsWrite(operation) || operation == Operation::kSync || operation == Operation::kSnapshot ||
         operation == Operation::kAdminister || operation == Operation::kFlush;
}

// What a client did since its last report; of all shards.
struct GetReport {
  uint64_t gets = 0;
  uint64_t reads = 0;
  uint64_t torn = 0;  // READs that were made again
};

// Of an item that a client found, as much of its key's hash as tells one from the others of its shard. A report has
// some of them, at most so many.
using HitName = uint32_t;
inline constexpr size_t kHitNamesMax = 1024;
constexpr HitName HitNameOf(uint64_t hash) { return static_cast<HitName>(hash >> 32); }

struct Request {
  Operation operation = Operation::kPing;
  bool retry = false;        // sent before, on another connection
  bool rendezvous = false;   // the value is at staging_offset, not in the message
  bool conditional = false;  // apply only over expected_version
  bool suspect = false;      // GET: the client saw bytes that fail their seal unchanged
  bool compares = false;     // PUT: apply only over expected_value
  bool creates = false;      // a modification of an absent key stores it
  uint32_t value_bytes = 0;
  uint32_t flags = 0;
  uint32_t ttl_seconds = 0;  // a duration: the server's clock alone makes an expiry of it
  uint32_t expiry = 0;       // what it ends at where there is no duration, 0 = never
  uint64_t request_id = 0;
  uint64_t sequence = 0;
  uint64_t expected_version = 0;
  uint64_t staging_offset = 0;
  std::string_view key = {};
  std::string_view value = {};           // empty when rendezvous
  std::string_view expected_value = {};  // value_bytes has its length, too
};

// The version of a kNoSpace reply when the server's host gives it no memory, though its budget would.
inline constexpr uint64_t kHostIsFull = 1;
// The same when the disk of its log is full.
inline constexpr uint64_t kLogIsFull = 2;
// The version of a kInvalidArgument reply to a COMMIT when its keys would have to be of one shard.
inline constexpr uint64_t kOneShardOnly = 1;
// The version of a kOutOfRange reply of a slice that goes beyond the vector's end.
inline constexpr uint64_t kBeyondEnd = 1;

struct Reply {
  Code status = Code::kOk;
  bool held = false;
  uint32_t value_bytes = 0;
  uint32_t flags = 0;
  uint32_t expiry = 0;
  uint64_t request_id = 0;
  uint64_t version = 0;
  uint64_t record_offset = 0;
  uint32_t record_bytes = 0;
  uint64_t number = 0;          // unless held
  std::string_view value = {};  // empty when held
};

inline constexpr size_t kMessageHeaderBytes = 48;
inline constexpr size_t kRequestHeadBytes = 48;
inline constexpr size_t kReplyHeadBytes = 48;

// The room one request or reply takes in a message.
size_t EncodedBytes(const Request& request);
size_t EncodedBytes(const Reply& reply);
// A reply with a value of so many bytes.
constexpr size_t ReplyBytes(size_t value_bytes) {
  return RoundUpToWord(kReplyHeadBytes + value_bytes);
}

// What a message says besides its requests or replies.
struct Heading {
  uint64_t answered = 0;    // in replies the superblock's version
  bool keeps_held = false;  // of requests
  uint64_t clock_us = 0;    // of replies
};

// Builds one message in the caller's buffer. Allocates nothing.
class MessageWriter {
 public:
  // Starts an empty message; `buffer` holds at least a header.
  MessageWriter(std::span<std::byte> buffer, uint64_t client_id);

  // Appends, or returns false and changes nothing when there is no room left.
  bool Add(const Request& request);
  bool Add(const Reply& reply);

  uint32_t count() const { return count_; }
  size_t room() const { return buffer_.size() - used_; }

  // Seals and returns the message.
  std::span<const std::byte> Finish(const Heading& heading = {});

 private:
  bool Append(std::span<const std::byte> head, std::initializer_list<std::string_view> parts);

  std::span<std::byte> buffer_;
  uint64_t client_id_;
  size_t used_ = kMessageHeaderBytes;
  uint32_t count_ = 0;
  bool replies_ = false;
};

// Walks the requests or replies of a private copy. Strings point into it.
class MessageReader {
 public:
  enum class Holds { kRequests, kReplies };

  // nullopt unless the message is whole, of this client and holds what is asked for.
  static std::optional<MessageReader> Open(std::span<const std::byte> message, uint64_t client_id,
                                           Holds holds);

  const Heading& heading() const { return heading_; }
  uint32_t remaining() const { return remaining_; }

  // The next one; nullopt at the end and where lengths do not add up (remaining() tells which).
  std::optional<Request> NextRequest();
  std::optional<Reply> NextReply();

 private:
  explicit MessageReader(std::span<const std::byte> rest) : rest_(rest) {}
  std::optional<std::span<const std::byte>> Take(size_t head_bytes, size_t tail_bytes);

  std::span<const std::byte> rest_;
  Heading heading_;
  uint32_t remaining_ = 0;
};

}  // namespace plov::verify
