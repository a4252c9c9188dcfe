// Mask: random bits under which shared memory holds what clients chose.
//
// The shard draws a mask for each item that it stores, and stores flags, expiry, key and value XORed
// with it, word by word. So no client decides a word of the memory that others READ (rule W11 of
// plov(7)): what it sent lies there under bits that it could not know.
//
//   record       a word with 63 of the bits; the lowest says whether the record is current, and
//                masks nothing
//   inline item  46 of the bits, mixed to a word
//   reference    the record's word, over the key's hash
//
// A mask of zeros leaves bytes as they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "verify/seal.h"
#include "verify/words.h"

namespace plov::verify {

class Mask {
 public:
  constexpr Mask() = default;
  static constexpr Mask Of(uint64_t random) { return Mask(random & ~kLiveBit); }

  // What words of a record are XORed with.
  constexpr uint64_t word() const { return word_; }
  // What an inline item keeps of it, and what its words are XORed with.
  static constexpr int kInlineBits = 46;
  constexpr uint64_t inline_bits() const { return word_ >> (64 - kInlineBits); }
  static constexpr uint64_t WordOfInline(uint64_t inline_bits) { return Mix(inline_bits); }

  bool operator==(const Mask&) const = default;

 private:
  explicit constexpr Mask(uint64_t word) : word_(word) {}

  uint64_t word_ = 0;
};

// A mask's word as bytes see it that begin so far into a word.
constexpr uint64_t MaskAt(uint64_t word, size_t offset) {
  const size_t bits = 8 * (offset % kWordBytes);
  return bits == 0 ? word : word >> bits | word << (64 - bits);
}

// Masks or unmasks private bytes; `mask` as they see it (MaskAt). `to` may be `from`.
inline void CopyMasked(void* to, const void* from, size_t bytes, uint64_t mask) {
  auto* out = static_cast<std::byte*>(to);
  auto* in = static_cast<const std::byte*>(from);
  const auto take = [&](auto unit_mask) {
    auto unit = unit_mask;
    std::memcpy(&unit, in, sizeof(unit));
    unit ^= unit_mask;
    std::memcpy(out, &unit, sizeof(unit));
    in += sizeof(unit);
    out += sizeof(unit);
    bytes -= sizeof(unit);
  };
  using Pair [[gnu::vector_size(2 * kWordBytes)]] = uint64_t;
  while (bytes >= sizeof(Pair)) take(Pair{mask, mask});
  if (bytes >= kWordBytes) take(mask);
  if (bytes == 0) return;
  uint64_t word = 0;
  std::memcpy(&word, in, bytes);
  word ^= mask;
  std::memcpy(out, &word, bytes);
}

// An item where it is stored, under its mask. The bytes are the writer's own, or were checked; the
// item lasts as long as they do.
class MaskedItem {
 public:
  // Key and value, one after the other at `at` bytes from a word's begin.
  struct Bytes {
    const std::byte* words;
    size_t at;
    size_t key_bytes;
    size_t value_bytes;
  };

  MaskedItem() = default;
  MaskedItem(uint64_t version, const Bytes& bytes, uint64_t mask)
      : version_(version), bytes_(bytes), mask_(mask) {}

  uint64_t version() const { return version_; }
  uint32_t flags() const { return flags_; }
  uint32_t expiry() const { return expiry_; }
  void set_flags(uint32_t flags) { flags_ = flags; }
  void set_expiry(uint32_t expiry) { expiry_ = expiry; }

  size_t key_bytes() const { return bytes_.key_bytes; }
  size_t value_bytes() const { return bytes_.value_bytes; }
  size_t payload_bytes() const { return key_bytes() + value_bytes(); }

  bool HasKey(std::string_view key) const {
    if (key.size() != key_bytes()) return false;
    const uint64_t mask = MaskAt(mask_, bytes_.at);
    const std::byte* at = bytes_.words + bytes_.at;
    uint64_t given, stored;
    for (; key.size() >= kWordBytes; key.remove_prefix(kWordBytes), at += kWordBytes) {
      std::memcpy(&given, key.data(), kWordBytes);
      std::memcpy(&stored, at, kWordBytes);
      if ((given ^ mask) != stored) return false;
    }
    if (key.empty()) return true;
    given = stored = 0;
    std::memcpy(&given, key.data(), key.size());
    std::memcpy(&stored, at, key.size());
    return (given ^ (mask & ((uint64_t{1} << 8 * key.size()) - 1))) == stored;
  }

  // Unmasked, into memory that is large enough.
  std::string_view CopyKey(char* to) const { return Copy(to, bytes_.at, key_bytes()); }
  std::string_view CopyValue(char* to) const {
    return Copy(to, bytes_.at + key_bytes(), value_bytes());
  }
  // Of the value, `bytes` from `from` on.
  std::string_view CopyPart(size_t from, size_t bytes, char* to) const {
    return Copy(to, bytes_.at + key_bytes() + from, bytes);
  }
  std::string key() const { return Unmasked(bytes_.at, key_bytes()); }
  std::string value() const { return Unmasked(bytes_.at + key_bytes(), value_bytes()); }

  // As it is stored, for its checksum.
  std::span<const std::byte> stored_value() const {
    return {bytes_.words + bytes_.at + key_bytes(), value_bytes()};
  }
  uint64_t mask() const { return mask_; }
  // As the value's first byte sees it.
  uint64_t value_mask() const { return MaskAt(mask_, bytes_.at + key_bytes()); }
  const Bytes& bytes() const { return bytes_; }

 private:
  std::string_view Copy(char* to, size_t at, size_t bytes) const {
    CopyMasked(to, bytes_.words + at, bytes, MaskAt(mask_, at));
    return {to, bytes};
  }
  std::string Unmasked(size_t at, size_t bytes) const {
    std::string copy(bytes, '\0');
    Copy(copy.data(), at, bytes);
    return copy;
  }

  uint64_t version_ = 0;
  uint32_t flags_ = 0;
  uint32_t expiry_ = 0;
  Bytes bytes_{};
  uint64_t mask_ = 0;
};

}  // namespace plov::verify
