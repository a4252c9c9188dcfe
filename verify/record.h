// Record: an item outside the table, self-verifying.
//
//  offset size field        guards against
//       0    8 checksum     a record read while its memory was written: XXH3 of bytes 16..end under
//                           RecordSeed; of a long value's record, XXH3 of bytes 16 to the value's
//                           begin under a seed that is XXH3 of the value under RecordSeed, so that
//                           the writer can begin with the value before it knows the version
//       8    8 live         a remembered location outliving its value: equals `version` while the
//                           record is current, 0 once it is not; not under the checksum
//      16    8 version      unique in the shard's life, increasing; binds record and reference
//      24    4 value bytes
//      28    2 key bytes
//      30    2 type         0 = plain
//      32    4 flags        the client's own 32 bits
//      36    4 expiry       Unix seconds, 0 = never; judged by the reader (rule R7)
//      40    . key, value
//
// Whole if and only if the checksum matches and the lengths add up to the bytes that were read.
// Written once by the shard's thread before any bucket refers to it (rule W1); afterwards only
// `live` changes, to 0, before the bucket does (rules W3, W7; a warm restart sets it again under a
// bucket that still refers to it). A record that is whole and carries its reference's version is
// the bytes that the bucket meant, whatever happened to the memory since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "verify/bucket.h"
#include "verify/seal.h"

namespace plov::verify {

inline constexpr size_t kKeyBytesMax = 1024;
inline constexpr size_t kValueBytesMax = size_t{16} << 20;

struct RecordHeader {
  uint64_t checksum;
  uint64_t live;
  uint64_t version;
  uint32_t value_bytes;
  uint16_t key_bytes;
  uint16_t type;
  uint32_t flags;
  uint32_t expiry;
};
inline constexpr size_t kRecordHeaderBytes = 40;
inline constexpr size_t kRecordSealedFrom = 16;
static_assert(sizeof(RecordHeader) == kRecordHeaderBytes && offsetof(RecordHeader, live) == 8 &&
              offsetof(RecordHeader, version) == kRecordSealedFrom &&
              offsetof(RecordHeader, value_bytes) == 24 &&
              offsetof(RecordHeader, key_bytes) == 28 && offsetof(RecordHeader, type) == 30 &&
              offsetof(RecordHeader, flags) == 32 && offsetof(RecordHeader, expiry) == 36);

// A value of more bytes is long: it is sealed in two steps, and by the server in slices.
inline constexpr size_t kShortValueMax = size_t{64} << 10;

constexpr size_t RecordBytes(size_t key_bytes, size_t value_bytes) {
  return kRecordHeaderBytes + key_bytes + value_bytes;
}
inline constexpr size_t kRecordBytesMax = RecordBytes(kKeyBytesMax, kValueBytesMax);

// Writer, in three steps so that a large value can be READ straight into its place: head, value,
// seal. `shared` is the record's memory; nobody refers to it yet. The head takes the value's
// length, not its bytes.
void WriteRecordHead(uint64_t* shared, const ItemView& item, size_t value_bytes);
void WriteRecordValue(uint64_t* shared, size_t key_bytes, std::string_view value);
// Seals what the memory holds. The caller is the memory's only writer.
void SealRecord(uint64_t* shared, size_t record_bytes, uint64_t seed);
// The same for a long value whose bytes were digested before.
void SealLongRecord(uint64_t* shared, size_t key_bytes, uint64_t value_digest);

// The digest of a long value in the shard's own memory, a slice at a time.
class ValueDigest {
 public:
  ValueDigest(std::span<const std::byte> value, uint64_t seed);

  // Digests at most so many bytes more. True when all of them are.
  bool Go(size_t bytes);
  // Once all are.
  uint64_t Finish() const { return XXH3_64bits_digest(&state_); }

 private:
  std::span<const std::byte> left_;
  XXH3_state_t state_;
};

// The head of memory that holds no record yet: not whole, not live, and as long as it is, so that
// neighbours are found from its length.
void WriteDeadHead(uint64_t* shared, size_t record_bytes);
// Writes a copy of a sealed record, `live` and all, the seal last. Damage is copied as it is. The
// caller is the only writer of both.
void MoveRecord(uint64_t* to, const uint64_t* from, size_t record_bytes);

// What a record's own memory says of it, true or not.
struct OwnHead {
  uint64_t live;
  uint64_t version;
  size_t record_bytes;
};
OwnHead OwnRecordHead(const std::byte* region, uint64_t record_offset);

// The caller's own record, in place: only the shard's thread may look at records without a copy.
ItemView OwnRecord(const std::byte* region, uint64_t record_offset);

// Reader, on a private copy: the item if the record is whole, nullopt when it is torn or foreign,
// or when no request could name its key.
std::optional<ItemView> ParseRecord(std::span<const std::byte> copy, uint64_t seed);

// The same with the value in a buffer of its own: `head` holds header and key, `value` the value
// bytes.
std::optional<ItemView> ParseSplitRecord(std::span<const std::byte> head,
                                         std::span<const std::byte> value, uint64_t seed);

// Either of the two: split when `value` is not empty.
inline std::optional<ItemView> ParseRecordParts(std::span<const std::byte> head,
                                                std::span<const std::byte> value, uint64_t seed) {
  return value.empty() ? ParseRecord(head, seed) : ParseSplitRecord(head, value, seed);
}

// The same of a long value's record in the shard's own memory, whose value was digested before.
std::optional<ItemView> ParseLongRecord(std::span<const std::byte> record, uint64_t value_digest);

// The `live` word of a private copy.
uint64_t LiveOf(std::span<const std::byte> copy);

}  // namespace plov::verify
