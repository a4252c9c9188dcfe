// The log's bytes: what plovd --log keeps on disk of one shard, so that a server that starts after the
// power was cut has what it promised. plov-log(5) draws them, plov(7) says why they are enough.
//
// All numbers are little-endian and all parts begin at multiples of 8 bytes.
//
// A segment is a head block and then batches, each at a multiple of 4096 bytes, zeros between them:
//  offset size field            guards against
//       0    8 checksum         garbage: XXH3 of bytes 8..4096 under a seed of the format
//       8    8 magic            "plovlog\1": a file of another kind
//      16    4 format           another version of it: 4, or 5 where its operations are a replica's
//      20    4 shard            another shard's file
//      24    4 shard count      a server whose keys lie elsewhere
//      28    4 block bytes      4096
//      32   16 log id           random: another log's file
//      48    8 number           a file under another's name
//      56    8 first batch      the number of the first batch here: a file that is missing
//      64    8 chain            the checksum of the batch before it: a file of another past
//      72    8 floor            versions beyond all that can lie before
//      80    8 hash seed        the table's: what routes keys to shards
//      88    8 segment bytes    a file cut short
//      96    8 life             random, of the server that began it: the log went on without a warm memory
//     104    8 cluster          its id: another cluster's; 0 of a single server, whose folder has all shards
//     112      zero
//
// Batch, a head of 72 bytes, then operations, then zeros to the next multiple of 4096:
//       0    8 checksum         XXH3 of bytes 8..bytes, under a seed of log id, segment number and
//                               offset: bytes that lay here before or belong elsewhere are foreign
//       8    4 magic            "plgb"
//      12    4 bytes            head and operations
//      16    8 number           one more than the batch before it; of `closed` the next segment
//      24    8 chain            the checksum of the batch before it
//      32    8 attest           every batch up to this one was durable when this one was formed
//      40    8 first version    of the operations; 0 when there is none
//      48    8 last version
//      56    4 operations       0: it attests only, or closes
//      60    4 kind             0 operations, 1 attest, 2 closed: the log goes on in another segment
//      64    8 time             when the first operation came, microseconds since 1970; else 0
//
// Operation, a head of 40 bytes, key, value, zeros to the next multiple of 8:
//       0    1 kind             1 put, 2 delete, 3 superseded: of this write nothing was left to log but
//                               whose it was; no key. All of a replica's log: 4, what it holds, an APPEND of
//                               its shard's stream (cluster/stream_message.h) as value; no key
//       1    1 zero
//       2    2 key bytes
//       4    4 value bytes
//       8    8 version          the item's own; of kind 4 its number; they grow
//      16    8 client           a hash of who wrote it, for its retry after a restart; 0 nobody
//      24    8 sequence
//      32    4 flags
//      36    4 expiry           Unix seconds, 0 for ever
//
// Snapshot: a head block as a segment's with the magic "plovsnp\1", the start batch as its first batch
// and the items that were expected as its floor; blocks, each at a multiple of 8 bytes:
//       0    8 checksum         XXH3 of bytes 8..bytes, under a seed of log id and offset
//       8    4 magic            "plsb" items, "plsc" sessions; of the footer "plsf"
//      12    4 bytes            head and operations, or sessions
//      16    8 number           from 0 on
//      24    4 operations       of kind put, or sessions; of the footer 0
//      28    4 zero
// where a session is
//       0    8 client           as in an operation; not 0
//       8    8 sequence         of its writes above it those were applied that the log has, and no others
//      16    8 version          of the reply to that write, its last that was applied; 0: none is known to be
// and a footer: that head, of 32 bytes, and
//      32    8 digest           of the blocks' checksums (SnapshotDigest)
//      40    8 items
//      48    8 payload bytes    of keys and values
//      56    8 start batch      replay begins with it
//      64    8 needs batch      the log reaches at least to its end
//      72    8 last version     no version in the snapshot is greater
//      80    8 bucket bytes     of the table: what suited its items; 0 is not known
//      88    8 time             of the last operation in it at the latest, microseconds since 1970
//      96    8 sessions
//     104    8 sessions are all 1: of a client without one nothing was applied that the log has not; else 0
// A snapshot is whole if and only if its head, every block and the footer at the file's end are.
//
// A reader takes every one of these bytes for hostile; it trusts only what a checksum proves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "verify/error.h"
#include "verify/words.h"

namespace plov::verify {

inline constexpr size_t kLogBlockBytes = 4096;
inline constexpr uint32_t kLogFormat = 4;
inline constexpr uint32_t kReplicaLogFormat = 5;
inline constexpr size_t kBatchHeadBytes = 72;
inline constexpr size_t kLoggedHeadBytes = 40;
inline constexpr size_t kSnapshotBlockHeadBytes = 32;
inline constexpr size_t kLoggedSessionBytes = 24;
inline constexpr size_t kSnapshotFooterBytes = 112;
// Of a batch and of a snapshot's block: what its length can say, in whole blocks.
inline constexpr size_t kBatchBytesMax = size_t{1} << 30;

constexpr size_t RoundUpToBlock(size_t bytes) {
  return (bytes + kLogBlockBytes - 1) / kLogBlockBytes * kLogBlockBytes;
}

// Which log: random, and never that of another.
struct LogId {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const LogId&) const = default;
};

enum class LogFile : uint8_t { kSegment, kSnapshot };

// The head of a segment or of a snapshot.
struct LogHead {
  uint32_t shard = 0;
  uint32_t shard_count = 1;
  LogId id;
  uint64_t number = 0;
  uint64_t first_batch = 0;
  uint64_t chain = 0;
  uint64_t floor = 0;
  uint64_t hash_seed = 0;
  uint64_t file_bytes = 0;  // of a segment; 0 for a snapshot
  uint64_t life = 0;        // of a segment; 0 for a snapshot, and for one that no server began
  uint64_t cluster_id = 0;  // 0: of a single server, which has all shards
  bool is_replica = false;  // what a replica holds, and no operations
  bool operator==(const LogHead&) const = default;
};

using LogBlock = std::array<std::byte, kLogBlockBytes>;

LogBlock SealLogHead(LogFile file, const LogHead& head);
// kCorrupt: the bytes fail their seal or make no sense. kProtocol: another format version.
// kInvalidArgument: whole, but no file of this kind.
std::expected<LogHead, Code> CheckLogHead(LogFile file, std::span<const std::byte> block);

// What an item's write left: a put holds all of it, a delete its key, a superseded one neither. Or what a replica holds.
struct Logged {
  enum class Kind : uint8_t { kPut = 1, kDelete = 2, kSuperseded = 3, kHeld = 4 };

  Kind kind = Kind::kPut;
  uint64_t version = 0;
  uint64_t client_id = 0;
  uint64_t sequence = 0;
  uint32_t flags = 0;
  uint32_t expiry = 0;
  std::string_view key = {};
  std::string_view value = {};
};

// The room that one takes.
constexpr size_t LoggedBytes(size_t key_bytes, size_t value_bytes) {
  return RoundUpToWord(kLoggedHeadBytes + key_bytes + value_bytes);
}

// Writes the head and the key, and says how long they are; the value comes after them, then zeros to the
// next word. `to` holds that many bytes.
size_t EncodeLoggedHead(const Logged& operation, size_t value_bytes, std::byte* to);

// Takes the first operation of `rest`, whose strings point into it. nullopt where lengths or bytes make no
// sense.
std::optional<Logged> TakeLogged(std::span<const std::byte>* rest);

// What a snapshot knows of a client's writes.
struct LoggedSession {
  uint64_t client_id = 0;
  uint64_t sequence = 0;
  uint64_t version = 0;
  bool operator==(const LoggedSession&) const = default;
};

// `to` holds kLoggedSessionBytes.
void EncodeLoggedSession(const LoggedSession& session, std::byte* to);
// As TakeLogged.
std::optional<LoggedSession> TakeLoggedSession(std::span<const std::byte>* rest);

// The seed of a batch's checksum, and of a snapshot's block.
uint64_t BatchSeed(const LogId& id, uint64_t segment, uint64_t offset);
uint64_t SnapshotSeed(const LogId& id, uint64_t offset);

struct BatchHead {
  enum class Kind : uint32_t { kOperations = 0, kAttest = 1, kClosed = 2 };

  uint64_t checksum = 0;
  uint32_t bytes = kBatchHeadBytes;
  uint64_t number = 0;
  uint64_t chain = 0;
  uint64_t attest = 0;
  uint64_t first_version = 0;
  uint64_t last_version = 0;
  uint32_t operations = 0;
  Kind kind = Kind::kOperations;
  uint64_t time_us = 0;
};

// The first bytes of a batch, but for its checksum.
void EncodeBatchHead(const BatchHead& head, std::span<std::byte, kBatchHeadBytes> to);
// The checksum of a batch that lies in pieces, the first of which begins with its head; it is stored there.
uint64_t SealBatch(std::span<const std::span<std::byte>> pieces, uint64_t seed);
// What a head says that may be one: magic and lengths agree, and it would end within `room` bytes.
// Nothing of it is true before CheckBatch.
std::optional<BatchHead> GuessBatchHead(std::span<const std::byte> bytes, size_t room);
// The batch is whole: checksum, and every operation in it (versions that grow, lengths that add up to
// `bytes`, as many as the head says). `batch`: at least the head's `bytes`.
bool CheckBatch(std::span<const std::byte> batch, const BatchHead& head, uint64_t seed);

struct SnapshotBlockHead {
  enum class Kind : uint8_t { kItems, kSessions };

  uint64_t checksum = 0;
  uint32_t bytes = kSnapshotBlockHeadBytes;
  uint64_t number = 0;
  uint32_t operations = 0;  // or sessions
  Kind kind = Kind::kItems;
};
struct SnapshotFooter {
  uint64_t digest = 0;
  uint64_t items = 0;
  uint64_t payload_bytes = 0;
  uint64_t start_batch = 0;
  uint64_t needs_batch = 0;
  uint64_t last_version = 0;
  uint64_t bucket_bytes = 0;
  uint64_t time_us = 0;
  uint64_t sessions = 0;
  bool sessions_are_all = false;
  bool operator==(const SnapshotFooter&) const = default;
};

// The digest of all blocks' checksums, in their order; it begins as 0.
uint64_t SnapshotDigest(uint64_t digest, uint64_t block_checksum);

// Seals a block whose operations or sessions are in place behind room for its head, which needs no checksum
// and no bytes; returns its checksum.
uint64_t SealSnapshotBlock(std::span<std::byte> block, SnapshotBlockHead head, uint64_t seed);
std::array<std::byte, kSnapshotFooterBytes> SealSnapshotFooter(const SnapshotFooter& footer,
                                                               uint64_t number, uint64_t seed);
// As for batches.
std::optional<SnapshotBlockHead> GuessSnapshotBlock(std::span<const std::byte> bytes, size_t room);
bool CheckSnapshotBlock(std::span<const std::byte> block, const SnapshotBlockHead& head,
                        uint64_t seed);
// nullopt: these bytes are not a footer under this number and seed.
std::optional<SnapshotFooter> CheckSnapshotFooter(std::span<const std::byte> bytes, uint64_t number,
                                                  uint64_t seed);

}  // namespace plov::verify
