#include "verify/bucket.h"

namespace plov::verify {

namespace {

// Offsets in the payload of an inline item.
constexpr size_t kInlineLengths = 8;
constexpr size_t kInlineHead = 11;
constexpr uint8_t kHasFlags = 1;
constexpr uint8_t kHasExpiry = 2;

constexpr size_t PayloadBytes(uint32_t bucket_bytes) {
  return bucket_bytes - Bucket::kPayloadWord * kWordBytes;
}

size_t InlineBytes(const ItemView& item) {
  return kInlineHead + (item.flags != 0 ? 4 : 0) + (item.expiry != 0 ? 4 : 0) + item.key.size() +
         item.value.size();
}

std::byte* Append(std::byte* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return to + bytes;
}

}  // namespace

bool InlineFits(const ItemView& item, uint32_t bucket_bytes) {
  return InlineBytes(item) <= PayloadBytes(bucket_bytes);
}

void Bucket::SetPayload(BucketKind kind, uint32_t bucket_bytes) {
  std::memset(&words_[kPayloadWord], 0, PayloadBytes(bucket_bytes));
  set_bits((bits() & ~3u) | static_cast<uint32_t>(kind));
}

void Bucket::SetReference(const Reference& reference, uint32_t bucket_bytes) {
  SetPayload(BucketKind::kReference, bucket_bytes);
  std::memcpy(&words_[kPayloadWord], &reference, sizeof(reference));
}

void Bucket::SetInline(const ItemView& item, uint32_t bucket_bytes) {
  assert(InlineFits(item, bucket_bytes));
  SetPayload(BucketKind::kInline, bucket_bytes);
  auto* to = reinterpret_cast<std::byte*>(&words_[kPayloadWord]);
  to = Append(to, &item.version, sizeof(item.version));
  const uint8_t presence =
      static_cast<uint8_t>((item.flags != 0 ? kHasFlags : 0) | (item.expiry != 0 ? kHasExpiry : 0));
  const uint8_t lengths[] = {static_cast<uint8_t>(item.key.size()),
                             static_cast<uint8_t>(item.value.size()), presence};
  to = Append(to, lengths, sizeof(lengths));
  if (item.flags != 0) to = Append(to, &item.flags, sizeof(item.flags));
  if (item.expiry != 0) to = Append(to, &item.expiry, sizeof(item.expiry));
  to = Append(to, item.key.data(), item.key.size());
  Append(to, item.value.data(), item.value.size());
}

void Bucket::TakeItem(const Bucket& other, uint32_t bucket_bytes) {
  std::memcpy(&words_[kPayloadWord], &other.words_[kPayloadWord], PayloadBytes(bucket_bytes));
  set_bits((bits() & ~3u) | (other.bits() & 3u));
}

std::optional<ItemView> Bucket::inline_item(uint32_t bucket_bytes) const {
  const auto* payload = reinterpret_cast<const char*>(&words_[kPayloadWord]);
  uint8_t lengths[3];
  std::memcpy(lengths, payload + kInlineLengths, sizeof(lengths));
  const auto [key_bytes, value_bytes, presence] = lengths;
  ItemView item{{}, {}, words_[kPayloadWord], 0, 0};
  size_t at = kInlineHead;
  if ((presence & kHasFlags) != 0) {
    std::memcpy(&item.flags, payload + at, sizeof(item.flags));
    at += sizeof(item.flags);
  }
  if ((presence & kHasExpiry) != 0) {
    std::memcpy(&item.expiry, payload + at, sizeof(item.expiry));
    at += sizeof(item.expiry);
  }
  if (key_bytes == 0) return std::nullopt;
  if (at + key_bytes + value_bytes > PayloadBytes(bucket_bytes)) return std::nullopt;
  item.key = {payload + at, key_bytes};
  item.value = {payload + at + key_bytes, value_bytes};
  return item;
}

}  // namespace plov::verify
