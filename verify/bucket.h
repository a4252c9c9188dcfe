// Bucket: one slot of the cuckoo table, 64 or 128 bytes, self-verifying.
//
//  offset size field      guards against
//       0    8 checksum   a bucket read while it was written: XXH3 of bytes 8..end under
//                         BucketSeed, so one of another place, table or life is foreign, and zeros
//                         are torn
//       8    4 version    a miss or a move that overlapped a GET; +1 on every rewrite
//      12    4 bits       kind:2 overflow:1 forward:1, 3 directory entries of
//                         {way:2 fingerprint:7}, stashed:1
//      16   48 payload    (112 in a 128-byte bucket), by kind
//
//  payload of a reference, an item in a record
//      16    8 key hash ^ mask: a key chosen for its hash writes no word of its own
//      24    8 record version
//      32    8 record offset, in the region
//      40    4 record bytes
//      44    4 reserved, zero
//      48    8 mask, the record's without `live`
//      56    . reserved, zero
//
//  payload of an inline item, in the bucket itself
//      16    8 item version
//      24    8 {mask:46 presence:2 value bytes:8 key bytes:8}; presence: 1 flags, 2 expiry
//      32    . flags (4) and expiry (4) if present, key, value, zeros; words masked (verify/mask.h)
//
// Whole if and only if the checksum matches. Written by the shard's thread only, as one unit: words
// 1..n, then the checksum word (rule W2). Read by anyone, in any order.
//
// The directory, `overflow` and `stashed` speak of the keys whose *home* is this bucket and which live
// elsewhere (plov(7), "Home and directory"); kind and payload speak of the item that lives here,
// whatever its home. 64 bytes is one cache line, so a bucket READ over shared memory costs one
// cache miss; 128 bytes hold inline items of up to 96 bytes at one adjacent-line fetch.
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "verify/mask.h"
#include "verify/seal.h"
#include "verify/words.h"

namespace plov::verify {

inline constexpr uint32_t kBucketBytesMin = 64;
inline constexpr uint32_t kBucketBytesMax = 128;
inline constexpr size_t kBucketWordsMax = kBucketBytesMax / kWordBytes;

enum class BucketKind : uint32_t {
  kEmpty = 0,
  kReference = 1,
  kInline = 2,
  kRetired = 3,  // this table is history: read the superblock again
};

struct Reference {
  uint64_t hash;
  uint64_t version;
  uint64_t offset;
  uint32_t record_bytes;
  uint32_t reserved;
  uint64_t mask = 0;
};
static_assert(sizeof(Reference) == 40 && offsetof(Reference, version) == 8 &&
              offsetof(Reference, offset) == 16 && offsetof(Reference, record_bytes) == 24 &&
              offsetof(Reference, mask) == 32);

// A view of an item; the strings point into the bytes it was parsed from, or is to be stored from.
struct ItemView {
  std::string_view key;
  std::string_view value;
  uint64_t version;
  uint32_t flags;
  uint32_t expiry;  // Unix seconds, 0 = never
  Mask mask = {};   // of one that is to be stored
};

struct DirectoryEntry {
  uint32_t way;  // 1 or 2; 0 in an empty entry
  uint32_t fingerprint;

  bool operator==(const DirectoryEntry&) const = default;
};
inline constexpr DirectoryEntry kNoEntry{0, 0};

inline constexpr size_t kDirectoryEntries = 3;
inline constexpr uint32_t kFingerprintMask = 0x7f;

// A private copy of a bucket's bytes. Meaningful only once Whole() said so.
class Bucket {
 public:
  static constexpr size_t kPayloadWord = 2;

  uint64_t* words() { return words_.data(); }
  const uint64_t* words() const { return words_.data(); }

  bool Whole(uint32_t bucket_bytes, uint64_t seed) const {
    return words_[0] == ChecksumOf(bucket_bytes, seed);
  }

  // Writes the checksum of the other words.
  void Seal(uint32_t bucket_bytes, uint64_t seed) { words_[0] = ChecksumOf(bucket_bytes, seed); }

  uint32_t version() const { return static_cast<uint32_t>(words_[1]); }
  void set_version(uint32_t version) { words_[1] = (words_[1] & ~uint64_t{0xffffffff}) | version; }

  BucketKind kind() const { return static_cast<BucketKind>(bits() & 3); }
  bool overflow() const { return (bits() & kOverflowBit) != 0; }
  bool forward() const { return (bits() & kForwardBit) != 0; }
  // Some keys of this home found no bucket: a reader that finds its key nowhere asks the server.
  bool stashed() const { return (bits() & kStashedBit) != 0; }
  void set_overflow(bool on) { set_bit(kOverflowBit, on); }
  void set_stashed(bool on) { set_bit(kStashedBit, on); }
  void set_forward(bool on) { set_bit(kForwardBit, on); }

  DirectoryEntry entry(size_t index) const {
    const uint32_t field = bits() >> EntryShift(index);
    return {field & 3, (field >> 2) & kFingerprintMask};
  }
  void set_entry(size_t index, DirectoryEntry entry) {
    assert(entry.way <= 2 && entry.fingerprint <= kFingerprintMask);
    const uint32_t shift = EntryShift(index);
    const uint32_t field = entry.way | entry.fingerprint << 2;
    set_bits((bits() & ~(0x1ffu << shift)) | field << shift);
  }
  // True when some key may be looked for elsewhere: an entry, overflow or stashed is there.
  bool has_directory() const { return (bits() & ~(3u | kForwardBit)) != 0; }

  // Neither entries nor overflow nor stashed.
  void ClearDirectory() { set_bits(bits() & (3u | kForwardBit)); }

  Reference reference() const {
    const uint64_t* word = &words_[kPayloadWord];
    return {.hash = word[0] ^ word[4],
            .version = word[1],
            .offset = word[2],
            .record_bytes = static_cast<uint32_t>(word[3]),
            .reserved = static_cast<uint32_t>(word[3] >> 32),
            .mask = word[4]};
  }

  // The inline item, or nullopt when it has no key or its lengths do not fit the bucket (foreign
  // bytes are checked).
  std::optional<MaskedItem> inline_item(uint32_t bucket_bytes) const;
  // The same of a copy that nobody stores: takes the mask off it.
  std::optional<ItemView> Unmask(uint32_t bucket_bytes);
  // Of one that inline_item gave.
  ItemView Unmask(const MaskedItem& item, uint32_t bucket_bytes);

  // Makes the bucket empty, or the home of an item; version, flags and directory stay.
  void Clear(uint32_t bucket_bytes) { SetPayload(BucketKind::kEmpty, bucket_bytes); }
  void Retire(uint32_t bucket_bytes) { SetPayload(BucketKind::kRetired, bucket_bytes); }
  void SetReference(const Reference& reference, uint32_t bucket_bytes);
  // Needs InlineFits.
  void SetInline(const ItemView& item, uint32_t bucket_bytes);
  // Takes kind and payload of `other`, an item that moves here. It fits, and is as wide (Widen).
  void TakeItem(const Bucket& other, uint32_t bucket_bytes);
  // Makes an item that was in a bucket of so many bytes one for a bucket of any size: the words that
  // a wider one has beyond lie under its mask as well.
  void Widen(uint32_t bucket_bytes);

 private:
  static constexpr uint32_t kOverflowBit = 4;
  static constexpr uint32_t kForwardBit = 8;
  static constexpr uint32_t kStashedBit = uint32_t{1} << 31;
  static constexpr uint32_t EntryShift(size_t index) {
    return 4 + 9 * static_cast<uint32_t>(index);
  }

  uint32_t bits() const { return static_cast<uint32_t>(words_[1] >> 32); }
  void set_bits(uint32_t bits) {
    words_[1] = (words_[1] & 0xffffffff) | static_cast<uint64_t>(bits) << 32;
  }
  void set_bit(uint32_t bit, bool on) { set_bits(on ? bits() | bit : bits() & ~bit); }
  // Lengths that the compiler knows spare the path of every GET XXH3's own choice by length.
  uint64_t ChecksumOf(uint32_t bucket_bytes, uint64_t seed) const {
    return bucket_bytes == kBucketBytesMin
               ? Checksum(&words_[1], kBucketBytesMin - kWordBytes, seed)
               : Checksum(&words_[1], kBucketBytesMax - kWordBytes, seed);
  }
  void SetPayload(BucketKind kind, uint32_t bucket_bytes);
  void MaskWords(size_t first, uint64_t mask_bits, uint32_t bucket_bytes);

  alignas(64) std::array<uint64_t, kBucketWordsMax> words_{};
};
static_assert(sizeof(Bucket) == kBucketBytesMax && alignof(Bucket) == 64);

// What a bucket of this size has for flags, expiry, key and value of an inline item.
constexpr size_t InlineBytesMax(uint32_t bucket_bytes) {
  return bucket_bytes - (Bucket::kPayloadWord + 2) * kWordBytes;
}
// Whether an item fits in a bucket of this size without a record.
bool InlineFits(const ItemView& item, uint32_t bucket_bytes);

// Copies a bucket of the table.
inline void CopyBucketFromShared(Bucket* to, const void* shared, uint32_t bucket_bytes) {
  if (bucket_bytes == kBucketBytesMin) {
    CopyWordsFromShared<kBucketBytesMin / kWordBytes>(to->words(), shared);
  } else {
    CopyWordsFromShared<kBucketWordsMax>(to->words(), shared);
  }
}

// Stores a sealed bucket into the table as one unit (rule W2).
inline void StoreBucket(uint64_t* shared, const Bucket& bucket, uint32_t bucket_bytes) {
  for (size_t i = 1; i < bucket_bytes / kWordBytes; ++i) StoreWord(shared + i, bucket.words()[i]);
  PublishSeal(shared, bucket.words()[0]);
}

}  // namespace plov::verify
