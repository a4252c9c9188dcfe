#include "verify/record.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "verify/avx2_digest.h"

namespace plov::verify {

namespace {

RecordHeader HeaderOf(std::span<const std::byte> copy) {
  RecordHeader header;
  std::memcpy(&header, copy.data(), sizeof(header));
  return header;
}

// One field of a copy that was made word by word just now: a load of more than a word would wait
// until all of them have reached the cache.
template <typename Field>
Field FieldOf(const std::byte* copy, size_t offset) {
  Field field;
  std::memcpy(&field, copy + offset, sizeof(field));
  return field;
}

// The mask of a record, without `live`.
uint64_t MaskOf(const std::byte* record) {
  return FieldOf<uint64_t>(record, offsetof(RecordHeader, mask)) & ~kLiveBit;
}

size_t KeyBytesOf(const std::byte* record) {
  return FieldOf<uint16_t>(record, offsetof(RecordHeader, key_bytes));
}

size_t ValueBytesOf(const std::byte* record) {
  return FieldOf<uint32_t>(record, offsetof(RecordHeader, value_bytes));
}

MaskedItem MaskedOf(const std::byte* record) {
  const uint64_t mask = MaskOf(record);
  MaskedItem item(FieldOf<uint64_t>(record, offsetof(RecordHeader, version)),
                  {record, kRecordHeaderBytes, KeyBytesOf(record), ValueBytesOf(record)}, mask);
  item.set_flags(FieldOf<uint32_t>(record, offsetof(RecordHeader, flags)) ^
                 static_cast<uint32_t>(mask));
  item.set_expiry(FieldOf<uint32_t>(record, offsetof(RecordHeader, expiry)) ^
                  static_cast<uint32_t>(mask >> 32));
  return item;
}

// Takes the mask off a field that lies at the end of what is unmasked.
template <typename Field>
void UnmaskLast(std::byte* at, uint64_t mask) {
  Field field;
  std::memcpy(&field, at, sizeof(field));
  field = static_cast<Field>(field ^ mask);
  std::memcpy(at, &field, sizeof(field));
}

// The path of every GET: no copy of a length that the compiler does not know.
void Unmask(std::byte* at, size_t bytes, uint64_t mask) {
  // Of what was copied word by word a moment ago, a load of more than a word would wait.
  constexpr size_t kJustCopied = 256;
  if (bytes >= kJustCopied) return CopyMasked(at, at, bytes, mask);
  const auto words = [&at, mask]<size_t kWords>() {
#pragma GCC unroll 8
    for (size_t i = 0; i < kWords; ++i, at += kWordBytes) {
      UnmaskLast<uint64_t>(at, mask);
      __asm__("" ::: "memory");  // keeps the compiler from making larger loads of them
    }
  };
  for (; bytes >= 8 * kWordBytes; bytes -= 8 * kWordBytes) words.template operator()<8>();
  if ((bytes & 4 * kWordBytes) != 0) words.template operator()<4>();
  if ((bytes & 2 * kWordBytes) != 0) words.template operator()<2>();
  if ((bytes & kWordBytes) != 0) words.template operator()<1>();
  if (bytes % kWordBytes == 0) return;
  if ((bytes & 4) != 0) {
    UnmaskLast<uint32_t>(at, mask);
    at += 4;
    mask >>= 32;
  }
  if ((bytes & 2) != 0) {
    UnmaskLast<uint16_t>(at, mask);
    at += 2;
    mask >>= 16;
  }
  if ((bytes & 1) != 0) UnmaskLast<uint8_t>(at, mask);
}

// Of a copy whose key and value are unmasked.
void ViewUnmasked(const std::byte* record, const std::byte* value, ItemView* item) {
  const uint64_t mask = MaskOf(record);
  item->key = {reinterpret_cast<const char*>(record + kRecordHeaderBytes), KeyBytesOf(record)};
  item->value = {reinterpret_cast<const char*>(value), ValueBytesOf(record)};
  item->version = FieldOf<uint64_t>(record, offsetof(RecordHeader, version));
  item->flags =
      FieldOf<uint32_t>(record, offsetof(RecordHeader, flags)) ^ static_cast<uint32_t>(mask);
  item->expiry =
      FieldOf<uint32_t>(record, offsetof(RecordHeader, expiry)) ^ static_cast<uint32_t>(mask >> 32);
}

// With the widest loads that the processor has, where there is enough for them.
bool TakesWide([[maybe_unused]] size_t bytes) {
#ifdef __x86_64__
  constexpr size_t kWideBytesMin = 1024;
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  return bytes >= kWideBytesMin && has_avx2;
#else
  return false;
#endif
}

uint64_t WideChecksum(const std::byte* data, size_t bytes, uint64_t seed) {
  return TakesWide(bytes) ? ChecksumAvx2(data, bytes, seed) : Checksum(data, bytes, seed);
}

void UpdateDigest(XXH3_state_t* state, std::span<const std::byte> bytes) {
  if (TakesWide(bytes.size())) return UpdateDigestAvx2(state, bytes.data(), bytes.size());
  XXH3_64bits_update(state, bytes.data(), bytes.size());
}

// Of what comes before a long value.
uint64_t HeadChecksum(const std::byte* record, size_t key_bytes, uint64_t value_digest) {
  return Checksum(record + kRecordSealedFrom, kRecordHeaderBytes + key_bytes - kRecordSealedFrom,
                  value_digest);
}

[[gnu::noinline]] bool LongIsWhole(std::span<const std::byte> copy, uint64_t value_digest) {
  const RecordHeader header = HeaderOf(copy);
  return RecordBytes(header.key_bytes, header.value_bytes) == copy.size() &&
         header.checksum == HeadChecksum(copy.data(), header.key_bytes, value_digest);
}

bool IsWhole(std::span<const std::byte> copy, uint64_t seed) {
  if (copy.size() < kRecordHeaderBytes) return false;
  const std::byte* record = copy.data();
  const size_t key_bytes = KeyBytesOf(record), value_bytes = ValueBytesOf(record);
  if (key_bytes == 0 || key_bytes > kKeyBytesMax) return false;
  if (RecordBytes(key_bytes, value_bytes) != copy.size()) return false;
  seed = MaskedSeed(seed, MaskOf(record));
  if (value_bytes > kShortValueMax) {
    return LongIsWhole(copy, WideChecksum(record + copy.size() - value_bytes, value_bytes, seed));
  }
  return WideChecksum(record + kRecordSealedFrom, copy.size() - kRecordSealedFrom, seed) ==
         FieldOf<uint64_t>(record, offsetof(RecordHeader, checksum));
}

[[gnu::noinline]] bool ParseSplit(std::span<std::byte> head, std::span<std::byte> value,
                                  uint64_t seed, ItemView* item) {
  if (head.size() < kRecordHeaderBytes) return false;
  const RecordHeader header = HeaderOf(head);
  if (kRecordHeaderBytes + header.key_bytes != head.size() || header.value_bytes != value.size()) {
    return false;
  }
  seed = MaskedSeed(seed, MaskOf(head.data()));
  uint64_t checksum;
  if (value.size() > kShortValueMax) {
    checksum =
        HeadChecksum(head.data(), header.key_bytes, WideChecksum(value.data(), value.size(), seed));
  } else {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, seed);
    XXH3_64bits_update(&state, head.data() + kRecordSealedFrom, head.size() - kRecordSealedFrom);
    UpdateDigest(&state, value);
    checksum = XXH3_64bits_digest(&state);
  }
  if (header.checksum != checksum) return false;
  const uint64_t mask = MaskOf(head.data());
  Unmask(head.data() + kRecordHeaderBytes, header.key_bytes, mask);
  Unmask(value.data(), value.size(), MaskAt(mask, header.key_bytes));
  ViewUnmasked(head.data(), value.data(), item);
  return true;
}

}  // namespace

void WriteRecordHead(uint64_t* shared, const ItemView& item, size_t value_bytes) {
  assert(item.key.size() <= kKeyBytesMax && value_bytes <= kValueBytesMax);
  const uint64_t mask = item.mask.word();
  const RecordHeader header{.checksum = 0,
                            .mask = mask | kLiveBit,
                            .version = item.version,
                            .value_bytes = static_cast<uint32_t>(value_bytes),
                            .key_bytes = static_cast<uint16_t>(item.key.size()),
                            .type = 0,
                            .flags = item.flags ^ static_cast<uint32_t>(mask),
                            .expiry = item.expiry ^ static_cast<uint32_t>(mask >> 32)};
  CopyToShared(shared, 0, &header, sizeof(header));
  MaskHeadToShared(shared, kRecordHeaderBytes, std::as_bytes(std::span(item.key)), mask);
}

void WriteRecordValue(uint64_t* shared, size_t key_bytes, std::string_view value, Mask mask) {
  MaskToShared(shared, kRecordHeaderBytes + key_bytes, std::as_bytes(std::span(value)),
               mask.word());
}

// What is behind it in its last word is nobody's, or written next.
void WriteRecordPart(uint64_t* shared, size_t key_bytes, size_t from, std::string_view part,
                     Mask mask) {
  MaskToShared(shared, kRecordHeaderBytes + key_bytes + from, std::as_bytes(std::span(part)),
               mask.word());
}

void ClearSharedWord(uint64_t* shared, size_t key_bytes) {
  if (key_bytes % kWordBytes != 0)
    StoreWord(shared + (kRecordHeaderBytes + key_bytes) / kWordBytes, 0);
}

void SealRecord(uint64_t* shared, size_t record_bytes, uint64_t seed) {
  const auto* record = reinterpret_cast<const std::byte*>(shared);
  const RecordHeader header = HeaderOf({record, kRecordHeaderBytes});
  seed = MaskedSeed(seed, MaskOf(record));
  if (header.value_bytes > kShortValueMax &&
      kRecordHeaderBytes + header.value_bytes <= record_bytes) {
    const size_t value_at = record_bytes - header.value_bytes;
    const uint64_t digest = WideChecksum(record + value_at, header.value_bytes, seed);
    return SealLongRecord(shared, value_at - kRecordHeaderBytes, digest);
  }
  PublishSeal(shared,
              WideChecksum(record + kRecordSealedFrom, record_bytes - kRecordSealedFrom, seed));
}

void SealLongRecord(uint64_t* shared, size_t key_bytes, uint64_t value_digest) {
  PublishSeal(shared,
              HeadChecksum(reinterpret_cast<const std::byte*>(shared), key_bytes, value_digest));
}

ValueDigest::ValueDigest(std::span<const std::byte> value, uint64_t seed) : left_(value) {
  XXH3_INITSTATE(&state_);
  XXH3_64bits_reset_withSeed(&state_, seed);
}

bool ValueDigest::Go(size_t bytes) {
  const auto now = left_.first(std::min(bytes, left_.size()));
  UpdateDigest(&state_, now);
  left_ = left_.subspan(now.size());
  return left_.empty();
}

// The lengths are one word, so they are never half of one record and half of another.
void WriteDeadHead(uint64_t* shared, size_t record_bytes) {
  const RecordHeader header{.checksum = 0,
                            .mask = 0,
                            .version = 0,
                            .value_bytes = static_cast<uint32_t>(record_bytes - kRecordHeaderBytes),
                            .key_bytes = 0,
                            .type = 0,
                            .flags = 0,
                            .expiry = 0};
  CopyToShared(shared, 0, &header, sizeof(header));
}

void MoveRecord(uint64_t* to, const uint64_t* from, size_t record_bytes) {
  const size_t word_count = RoundUpToWord(record_bytes) / kWordBytes;
  for (size_t i = 1; i < word_count; ++i) StoreWord(to + i, LoadWord(from + i));
  PublishSeal(to, LoadWord(from));
}

OwnHead OwnRecordHead(const std::byte* region, uint64_t record_offset) {
  const RecordHeader header = HeaderOf({region + record_offset, kRecordHeaderBytes});
  const size_t record_bytes = RecordBytes(header.key_bytes, header.value_bytes);
  if (header.key_bytes > kKeyBytesMax || record_bytes > kRecordBytesMax) return {};
  return {(header.mask & kLiveBit) != 0, header.version, record_bytes};
}

MaskedItem OwnRecord(const std::byte* region, uint64_t record_offset) {
  return MaskedOf(region + record_offset);
}

MaskedItem OwnItem(const std::byte* region, const Bucket& bucket) {
  if (bucket.kind() == BucketKind::kInline) return *bucket.inline_item(kBucketBytesMax);
  return OwnRecord(region, bucket.reference().offset);
}

size_t PayloadBytes(const Bucket& bucket) {
  if (bucket.kind() == BucketKind::kReference) {
    return bucket.reference().record_bytes - kRecordHeaderBytes;
  }
  return bucket.inline_item(kBucketBytesMax)->payload_bytes();
}

std::optional<MaskedItem> CheckRecord(std::span<const std::byte> record, uint64_t seed) {
  if (!IsWhole(record, seed)) return std::nullopt;
  return MaskedOf(record.data());
}

std::optional<MaskedItem> CheckLongRecord(std::span<const std::byte> record,
                                          uint64_t value_digest) {
  if (!LongIsWhole(record, value_digest)) return std::nullopt;
  return MaskedOf(record.data());
}

bool ParseRecordParts(std::span<std::byte> head, std::span<std::byte> value, uint64_t seed,
                      ItemView* item) {
  if (!value.empty()) return ParseSplit(head, value, seed, item);
  if (!IsWhole(head, seed)) return false;
  std::byte* key = head.data() + kRecordHeaderBytes;
  Unmask(key, head.size() - kRecordHeaderBytes, MaskOf(head.data()));
  ViewUnmasked(head.data(), key + KeyBytesOf(head.data()), item);
  return true;
}

std::optional<ItemView> ParseRecord(std::span<std::byte> copy, uint64_t seed) {
  ItemView item{};
  return ParseRecordParts(copy, {}, seed, &item) ? std::optional(item) : std::nullopt;
}

std::optional<ItemView> ParseSplitRecord(std::span<std::byte> head, std::span<std::byte> value,
                                         uint64_t seed) {
  ItemView item{};
  return ParseSplit(head, value, seed, &item) ? std::optional(item) : std::nullopt;
}

bool IsLive(std::span<const std::byte> copy) {
  return (FieldOf<uint64_t>(copy.data(), offsetof(RecordHeader, mask)) & kLiveBit) != 0;
}

uint64_t VersionOf(std::span<const std::byte> copy) {
  return FieldOf<uint64_t>(copy.data(), offsetof(RecordHeader, version));
}

}  // namespace plov::verify
