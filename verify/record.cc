#include "verify/record.h"

#include <algorithm>
#include <cassert>
#include <cstring>

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

ItemView ViewOf(const RecordHeader& header, const std::byte* key, const std::byte* value) {
  return {{reinterpret_cast<const char*>(key), header.key_bytes},
          {reinterpret_cast<const char*>(value), header.value_bytes},
          header.version,
          header.flags,
          header.expiry};
}

// Of what comes before a long value.
uint64_t HeadChecksum(const std::byte* record, size_t key_bytes, uint64_t value_digest) {
  return Checksum(record + kRecordSealedFrom, kRecordHeaderBytes + key_bytes - kRecordSealedFrom,
                  value_digest);
}

}  // namespace

void WriteRecordHead(uint64_t* shared, const ItemView& item, size_t value_bytes) {
  assert(item.key.size() <= kKeyBytesMax && value_bytes <= kValueBytesMax);
  const RecordHeader header{.checksum = 0,
                            .live = item.version,
                            .version = item.version,
                            .value_bytes = static_cast<uint32_t>(value_bytes),
                            .key_bytes = static_cast<uint16_t>(item.key.size()),
                            .type = 0,
                            .flags = item.flags,
                            .expiry = item.expiry};
  CopyToShared(shared, 0, &header, sizeof(header));
  CopyToShared(shared, kRecordHeaderBytes, item.key.data(), item.key.size());
}

void WriteRecordValue(uint64_t* shared, size_t key_bytes, std::string_view value) {
  CopyToShared(shared, kRecordHeaderBytes + key_bytes, value.data(), value.size());
}

void SealRecord(uint64_t* shared, size_t record_bytes, uint64_t seed) {
  const auto* record = reinterpret_cast<const std::byte*>(shared);
  const RecordHeader header = HeaderOf({record, kRecordHeaderBytes});
  if (header.value_bytes > kShortValueMax &&
      kRecordHeaderBytes + header.value_bytes <= record_bytes) {
    const size_t value_at = record_bytes - header.value_bytes;
    const uint64_t digest = Checksum(record + value_at, header.value_bytes, seed);
    return SealLongRecord(shared, value_at - kRecordHeaderBytes, digest);
  }
  PublishSeal(shared, Checksum(record + kRecordSealedFrom, record_bytes - kRecordSealedFrom, seed));
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
  XXH3_64bits_update(&state_, now.data(), now.size());
  left_ = left_.subspan(now.size());
  return left_.empty();
}

// The lengths are one word, so they are never half of one record and half of another.
void WriteDeadHead(uint64_t* shared, size_t record_bytes) {
  const RecordHeader header{.checksum = 0,
                            .live = 0,
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
  return {header.live, header.version, RecordBytes(header.key_bytes, header.value_bytes)};
}

ItemView OwnRecord(const std::byte* region, uint64_t record_offset) {
  const std::byte* record = region + record_offset;
  const RecordHeader header = HeaderOf({record, kRecordHeaderBytes});
  const std::byte* key = record + kRecordHeaderBytes;
  return ViewOf(header, key, key + header.key_bytes);
}

std::optional<ItemView> ParseRecord(std::span<const std::byte> copy, uint64_t seed) {
  if (copy.size() < kRecordHeaderBytes) return std::nullopt;
  const std::byte* record = copy.data();
  const auto key_bytes = FieldOf<uint16_t>(record, offsetof(RecordHeader, key_bytes));
  const auto value_bytes = FieldOf<uint32_t>(record, offsetof(RecordHeader, value_bytes));
  if (key_bytes == 0 || key_bytes > kKeyBytesMax) return std::nullopt;
  if (RecordBytes(key_bytes, value_bytes) != copy.size()) return std::nullopt;
  if (value_bytes > kShortValueMax) {
    return ParseLongRecord(copy,
                           Checksum(copy.data() + copy.size() - value_bytes, value_bytes, seed));
  }
  if (FieldOf<uint64_t>(record, offsetof(RecordHeader, checksum)) !=
      Checksum(record + kRecordSealedFrom, copy.size() - kRecordSealedFrom, seed)) {
    return std::nullopt;
  }
  const auto* key = reinterpret_cast<const char*>(record + kRecordHeaderBytes);
  return ItemView{{key, key_bytes},
                  {key + key_bytes, value_bytes},
                  FieldOf<uint64_t>(record, offsetof(RecordHeader, version)),
                  FieldOf<uint32_t>(record, offsetof(RecordHeader, flags)),
                  FieldOf<uint32_t>(record, offsetof(RecordHeader, expiry))};
}

std::optional<ItemView> ParseSplitRecord(std::span<const std::byte> head,
                                         std::span<const std::byte> value, uint64_t seed) {
  if (head.size() < kRecordHeaderBytes) return std::nullopt;
  const RecordHeader header = HeaderOf(head);
  if (kRecordHeaderBytes + header.key_bytes != head.size() || header.value_bytes != value.size()) {
    return std::nullopt;
  }
  if (value.size() > kShortValueMax) {
    const uint64_t digest = Checksum(value.data(), value.size(), seed);
    if (header.checksum != HeadChecksum(head.data(), header.key_bytes, digest)) return std::nullopt;
    return ViewOf(header, head.data() + kRecordHeaderBytes, value.data());
  }
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, seed);
  XXH3_64bits_update(&state, head.data() + kRecordSealedFrom, head.size() - kRecordSealedFrom);
  XXH3_64bits_update(&state, value.data(), value.size());
  if (header.checksum != XXH3_64bits_digest(&state)) return std::nullopt;
  return ViewOf(header, head.data() + kRecordHeaderBytes, value.data());
}

std::optional<ItemView> ParseLongRecord(std::span<const std::byte> record, uint64_t value_digest) {
  const RecordHeader header = HeaderOf(record);
  if (RecordBytes(header.key_bytes, header.value_bytes) != record.size() ||
      header.checksum != HeadChecksum(record.data(), header.key_bytes, value_digest)) {
    return std::nullopt;
  }
  const std::byte* key = record.data() + kRecordHeaderBytes;
  return ViewOf(header, key, key + header.key_bytes);
}

uint64_t LiveOf(std::span<const std::byte> copy) {
  return FieldOf<uint64_t>(copy.data(), offsetof(RecordHeader, live));
}

}  // namespace plov::verify
