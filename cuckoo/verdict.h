// Verdict: what bytes that were READ say of a key, by rules R1, R2 and R4 of plov(7).
//
// Pure functions for whoever looks keys up: a lookup alone (cuckoo/lookup.h), and the client's groups
// of them. All bytes are private copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "cuckoo/hash.h"
#include "verify/bucket.h"
#include "verify/record.h"

namespace plov::cuckoo {

// Of two keys. A call of memcmp takes longer than to compare a short key.
inline bool AreSame(std::string_view one, std::string_view other) {
  const auto word = [](const char* at) {
    uint64_t bytes;
    std::memcpy(&bytes, at, sizeof(bytes));
    return bytes;
  };
  const size_t bytes = one.size();
  if (bytes < verify::kWordBytes || bytes > 2 * verify::kWordBytes) return one == other;
  if (bytes != other.size()) return false;
  const size_t last = bytes - verify::kWordBytes;
  return word(one.data()) == word(other.data()) &&
         word(one.data() + last) == word(other.data() + last);
}

enum class BucketVerdict : uint8_t {
  kInline,     // the key's item is in it, and has no mask any more
  kReference,  // to the record of a key with this hash
  kRetired,
  kNotHere,
};

// R1, of a whole bucket.
inline BucketVerdict CheckBucket(verify::Bucket* bucket, uint32_t bucket_bytes,
                                 std::string_view key, uint64_t hash, verify::ItemView* item) {
  switch (bucket->kind()) {
    case verify::BucketKind::kInline: {
      const auto masked = bucket->inline_item(bucket_bytes);
      if (!masked || !masked->HasKey(key)) return BucketVerdict::kNotHere;
      *item = bucket->Unmask(*masked, bucket_bytes);
      return BucketVerdict::kInline;
    }
    case verify::BucketKind::kReference:
      return bucket->reference().hash == hash ? BucketVerdict::kReference : BucketVerdict::kNotHere;
    case verify::BucketKind::kRetired:
      return BucketVerdict::kRetired;
    case verify::BucketKind::kEmpty:
      break;
  }
  return BucketVerdict::kNotHere;
}

// R2: the ways beside the home where a key may be that its home does not hold, a bit for each.
inline uint8_t WaysListed(const verify::Bucket& home, uint64_t hash) {
  uint32_t ways = home.overflow() ? 0b110 : 0;
  const uint32_t fingerprint = FingerprintOf(hash);
  for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
    const verify::DirectoryEntry entry = home.entry(i);
    if (entry.fingerprint == fingerprint) ways |= 1u << entry.way;
  }
  return static_cast<uint8_t>(ways & 0b110);  // an entry may be empty, or nonsense
}

// A sealed reference lies inside the region; what does not is damage that no READ may follow.
inline bool IsRecordsPlace(uint64_t offset, uint32_t bytes, uint64_t region_bytes) {
  return bytes >= verify::kRecordHeaderBytes && bytes <= verify::kRecordBytesMax &&
         verify::WordsInside(offset, bytes, region_bytes);
}

// A record that was READ. `tail` holds the value when it was READ into two buffers, else nothing.
struct RecordCopy {
  std::span<std::byte> bytes;
  std::span<std::byte> tail;
  uint64_t seed;
};

enum class RecordVerdict : uint8_t { kItem, kTorn, kOtherKey };

// R1: whether it is the record that a bucket meant; `live` does not matter.
inline RecordVerdict CheckReferred(const RecordCopy& record, uint64_t version, std::string_view key,
                                   verify::ItemView* item) {
  if (!verify::ParseRecordParts(record.bytes, record.tail, record.seed, item) ||
      item->version != version) {
    return RecordVerdict::kTorn;
  }
  return AreSame(item->key, key) ? RecordVerdict::kItem : RecordVerdict::kOtherKey;
}

// R4: one READ decides if the record is whole, the key's, the one that was remembered by these low
// bits of its version, and was current when its `mask` word, which holds the live bit, was read.
inline bool IsRemembered(const RecordCopy& record, uint32_t stamp, std::string_view key,
                         verify::ItemView* item) {
  if (!verify::IsLive(record.bytes)) return false;
  if (static_cast<uint32_t>(verify::VersionOf(record.bytes)) != stamp) return false;
  if (!verify::ParseRecordParts(record.bytes, record.tail, record.seed, item)) return false;
  return AreSame(item->key, key);
}

}  // namespace plov::cuckoo
