// Record: an item outside the table, self-verifying.
//
//  offset size field        guards against
//       0    8 checksum     a record read while its memory was written: XXH3 of bytes 16..end, as
//                           they are stored, under RecordSeed mixed with the mask; of a long value's
//                           record, XXH3 of bytes 16 to the value's begin under a seed that is XXH3
//                           of the value under that seed, so that the writer can begin with the
//                           value before it knows the version
//       8    8 mask         bytes that a client chose: 63 random bits, over bytes 32..end; the
//                           lowest bit, `live`, a remembered location outliving its value: 1 while
//                           the record is current, 0 once it is not; not under the checksum
//      16    8 version      unique in the shard's life, increasing; binds record and reference
//      24    4 value bytes
//      28    2 key bytes
//      30    2 type         0 = plain
//      32    4 flags        the client's own 32 bits
//      36    4 expiry       Unix seconds, 0 = never; the reader decides (rule R7)
//      40    . key, value
//
// Bytes 32..end lie XORed with the mask's word, whose lowest bit counts as 0 (verify/mask.h).
//
// Whole if and only if the checksum matches and the lengths add up to the bytes that were read.
// Written once by the shard's thread before any bucket refers to it (rule W1); afterwards only
// `live` changes, to 0, before the bucket does (rule W3; a warm restart sets it again under a bucket
// that still refers to it). A record that is whole and carries its reference's version is
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
  uint64_t mask;
  uint64_t version;
  uint32_t value_bytes;
  uint16_t key_bytes;
  uint16_t type;
  uint32_t flags;
  uint32_t expiry;
};
inline constexpr size_t kRecordHeaderBytes = 40;
inline constexpr size_t kRecordSealedFrom = 16;
inline constexpr size_t kRecordMaskedFrom = 32;
static_assert(sizeof(RecordHeader) == kRecordHeaderBytes && offsetof(RecordHeader, mask) == 8 &&
              offsetof(RecordHeader, version) == kRecordSealedFrom &&
              offsetof(RecordHeader, value_bytes) == 24 &&
              offsetof(RecordHeader, key_bytes) == 28 && offsetof(RecordHeader, type) == 30 &&
              offsetof(RecordHeader, flags) == kRecordMaskedFrom &&
              offsetof(RecordHeader, expiry) == 36);

// A value of more bytes is long: it is sealed in two steps, and by the server in slices.
inline constexpr size_t kShortValueMax = size_t{64} << 10;

constexpr size_t RecordBytes(size_t key_bytes, size_t value_bytes) {
  return kRecordHeaderBytes + key_bytes + value_bytes;
}
inline constexpr size_t kRecordBytesMax = RecordBytes(kKeyBytesMax, kValueBytesMax);

// Writer, in three steps so that a large value can come into its place by READs: head, value,
// seal. `shared` is the record's memory; nobody refers to it yet. The head takes the value's
// length, not its bytes.
void WriteRecordHead(uint64_t* shared, const ItemView& item, size_t value_bytes);
void WriteRecordValue(uint64_t* shared, size_t key_bytes, std::string_view value, Mask mask);
// The same of a part of it that begins at `from`, the parts in their order.
void WriteRecordPart(uint64_t* shared, size_t key_bytes, size_t from, std::string_view part,
                     Mask mask);
// Of the word that key and value share each keeps the other's bytes. Before both are written: no
// former byte stays there.
void ClearSharedWord(uint64_t* shared, size_t key_bytes);
// Seals what the memory holds. The caller is the memory's only writer.
void SealRecord(uint64_t* shared, size_t record_bytes, uint64_t seed);
// The same for a long value whose bytes were digested before.
void SealLongRecord(uint64_t* shared, size_t key_bytes, uint64_t value_digest);

// The digest of a long value in the shard's own memory, a slice at a time; the seed is the record's,
// with its mask.
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

// What a record's own memory says of it, true or not. 0 bytes: no record has such lengths.
struct OwnHead {
  bool live;
  uint64_t version;
  size_t record_bytes;
};
OwnHead OwnRecordHead(const std::byte* region, uint64_t record_offset);

// The caller's own record, in place: only the shard's thread may look at records without a copy.
MaskedItem OwnRecord(const std::byte* region, uint64_t record_offset);

// The item of an occupied bucket, in place, inline or in its record; likewise.
MaskedItem OwnItem(const std::byte* region, const Bucket& bucket);

// Bytes of its key and value, from sealed bytes: a damaged record does not change them.
size_t PayloadBytes(const Bucket& bucket);

// The same of a record alone if it is whole; nullopt when it is torn or foreign, or when no request could name
// its key.
std::optional<MaskedItem> CheckRecord(std::span<const std::byte> record, uint64_t seed);

// The same of a long value's record, whose value was digested before.
std::optional<MaskedItem> CheckLongRecord(std::span<const std::byte> record, uint64_t value_digest);

// Reader, on a private copy: checks it, and takes the mask off if the record is whole.
std::optional<ItemView> ParseRecord(std::span<std::byte> copy, uint64_t seed);

// The same with the value in a buffer of its own: `head` holds header and key, `value` the value
// bytes.
std::optional<ItemView> ParseSplitRecord(std::span<std::byte> head, std::span<std::byte> value,
                                         uint64_t seed);

// Either of the two, split when `value` is not empty, on the path of every GET: `item` is written in
// its place, and means nothing when this is false.
bool ParseRecordParts(std::span<std::byte> head, std::span<std::byte> value, uint64_t seed,
                      ItemView* item);

// What a private copy says before anything is checked.
bool IsLive(std::span<const std::byte> copy);
uint64_t VersionOf(std::span<const std::byte> copy);

}  // namespace plov::verify
