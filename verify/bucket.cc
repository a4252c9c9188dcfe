#include "verify/bucket.h"

namespace plov::verify {

namespace {

// The second word of an inline item's payload, and what follows it.
constexpr size_t kInlineWord = Bucket::kPayloadWord + 1;
constexpr size_t kInlineDataWord = kInlineWord + 1;
constexpr uint64_t kHasFlags = 1;
constexpr uint64_t kHasExpiry = 2;

struct InlineHead {
  uint64_t mask_bits;
  uint64_t presence;
  size_t value_bytes;
  size_t key_bytes;

  static InlineHead Of(uint64_t word) {
    constexpr uint64_t kMaskEnd = uint64_t{1} << Mask::kInlineBits;
    return {word & (kMaskEnd - 1), word >> Mask::kInlineBits & 3, word >> 48 & 0xff, word >> 56};
  }
  uint64_t Pack() const {
    return mask_bits | presence << Mask::kInlineBits | uint64_t{value_bytes} << 48 |
           uint64_t{key_bytes} << 56;
  }
};

size_t InlineBytes(const ItemView& item) {
  return (item.flags != 0 ? 4 : 0) + (item.expiry != 0 ? 4 : 0) + item.key.size() +
         item.value.size();
}

std::byte* Append(std::byte* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return to + bytes;
}

}  // namespace

bool InlineFits(const ItemView& item, uint32_t bucket_bytes) {
  return InlineBytes(item) <= InlineBytesMax(bucket_bytes);
}

void Bucket::SetPayload(BucketKind kind, uint32_t bucket_bytes) {
  std::memset(&words_[kPayloadWord], 0, bucket_bytes - kPayloadWord * kWordBytes);
  set_bits((bits() & ~3u) | static_cast<uint32_t>(kind));
}

void Bucket::SetReference(const Reference& reference, uint32_t bucket_bytes) {
  SetPayload(BucketKind::kReference, bucket_bytes);
  std::memcpy(&words_[kPayloadWord], &reference, sizeof(reference));
  words_[kPayloadWord] ^= reference.mask;
}

void Bucket::SetInline(const ItemView& item, uint32_t bucket_bytes) {
  assert(InlineFits(item, bucket_bytes));
  SetPayload(BucketKind::kInline, bucket_bytes);
  const InlineHead head = {item.mask.inline_bits(),
                           (item.flags != 0 ? kHasFlags : 0) | (item.expiry != 0 ? kHasExpiry : 0),
                           item.value.size(), item.key.size()};
  words_[kPayloadWord] = item.version;
  words_[kInlineWord] = head.Pack();
  auto* to = reinterpret_cast<std::byte*>(&words_[kInlineDataWord]);
  if (item.flags != 0) to = Append(to, &item.flags, sizeof(item.flags));
  if (item.expiry != 0) to = Append(to, &item.expiry, sizeof(item.expiry));
  to = Append(to, item.key.data(), item.key.size());
  Append(to, item.value.data(), item.value.size());
  MaskWords(kInlineDataWord, head.mask_bits, bucket_bytes);
}

// All of the data's words, zeros as well: there is no word whose bytes are not the mask's.
void Bucket::MaskWords(size_t first, uint64_t mask_bits, uint32_t bucket_bytes) {
  const uint64_t mask = Mask::WordOfInline(mask_bits);
  for (size_t i = first; i < bucket_bytes / kWordBytes; ++i) words_[i] ^= mask;
}

void Bucket::Widen(uint32_t bucket_bytes) {
  if (kind() != BucketKind::kInline) return;
  MaskWords(bucket_bytes / kWordBytes, InlineHead::Of(words_[kInlineWord]).mask_bits,
            kBucketBytesMax);
}

void Bucket::TakeItem(const Bucket& other, uint32_t bucket_bytes) {
  std::memcpy(&words_[kPayloadWord], &other.words_[kPayloadWord],
              bucket_bytes - kPayloadWord * kWordBytes);
  set_bits((bits() & ~3u) | (other.bits() & 3u));
}

std::optional<MaskedItem> Bucket::inline_item(uint32_t bucket_bytes) const {
  const InlineHead head = InlineHead::Of(words_[kInlineWord]);
  const size_t at =
      ((head.presence & kHasFlags) != 0 ? 4 : 0) + ((head.presence & kHasExpiry) != 0 ? 4 : 0);
  if (head.key_bytes == 0) return std::nullopt;
  if (at + head.key_bytes + head.value_bytes > InlineBytesMax(bucket_bytes)) return std::nullopt;
  const uint64_t mask = Mask::WordOfInline(head.mask_bits);
  const uint64_t first = words_[kInlineDataWord] ^ mask;
  const auto* data = reinterpret_cast<const std::byte*>(&words_[kInlineDataWord]);
  MaskedItem item(words_[kPayloadWord], {data, at, head.key_bytes, head.value_bytes}, mask);
  if ((head.presence & kHasFlags) != 0) item.set_flags(static_cast<uint32_t>(first));
  if ((head.presence & kHasExpiry) != 0)
    item.set_expiry(static_cast<uint32_t>(first >> 8 * (at - 4)));
  return item;
}

std::optional<ItemView> Bucket::Unmask(uint32_t bucket_bytes) {
  const auto item = inline_item(bucket_bytes);
  if (!item) return std::nullopt;
  return Unmask(*item, bucket_bytes);
}

ItemView Bucket::Unmask(const MaskedItem& item, uint32_t bucket_bytes) {
  MaskWords(kInlineDataWord, InlineHead::Of(words_[kInlineWord]).mask_bits, bucket_bytes);
  words_[kInlineWord] &= ~((uint64_t{1} << Mask::kInlineBits) - 1);
  const char* key = reinterpret_cast<const char*>(item.bytes().words) + item.bytes().at;
  return {{key, item.key_bytes()},
          {key + item.key_bytes(), item.value_bytes()},
          item.version(),
          item.flags(),
          item.expiry()};
}

}  // namespace plov::verify
