// KeyHash: 64 bits of a key under a seed, so that equal ones are found by trying alone: a pair after
// 2^32 keys, another key of a given hash after 2^64, as far as is known of AES and Haraka.
//
// A key of at most 16 bytes is one block of Haraka128, of at most 32 two of Haraka256, of at most 64
// four of Haraka512. Where the key leaves room, zeros follow it and its length is the last byte, and
// the hash is the first 8 bytes of the output; of a key without that room it is the last 8. So no two
// keys have the same block and the same bytes of its output.
//
// The first 64 bytes of a longer key are a block, then its output and the next 32 bytes of the key
// are the next block. Zeros follow the last one and its last two bytes are the key's length; for these there
// is always room. The hash is the first 8 bytes of the last output. Keys of one last block have one length,
// so as many blocks, and unless they are the same, two different blocks somewhere have one output of
// 32 bytes. Without the length the rest of a key behind 64 of its bytes could be a key of the same
// hash. (Merkle, "One way hash functions and DES", and Damgard, "A design principle for hash
// functions", 1989.)
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "cuckoo/haraka.h"
#include "verify/record.h"

namespace plov::cuckoo {

// The high byte of a length behind 64 bytes is never a length of 33 to 63.
static_assert(verify::kKeyBytesMax >> 8 < 33);

template <typename T>
T LoadAs(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

using AesWords [[gnu::vector_size(16)]] = uint64_t;

inline uint64_t FirstWord(AesBlock block) { return std::bit_cast<AesWords>(block)[0]; }
inline uint64_t LastWord(AesBlock block) { return std::bit_cast<AesWords>(block)[1]; }

// A key of fewer than 16 bytes, zeros, its length. Loads that overlap are equal where they do.
inline AesBlock ShortKey(std::string_view key) {
  const char* from = key.data();
  const size_t bytes = key.size();
  uint64_t low = 0, high = 0;
  if (bytes > 8) {
    low = LoadAs<uint64_t>(from);
    high = LoadAs<uint64_t>(from + bytes - 8) >> 8 * (16 - bytes);
  } else if (bytes >= 4) {
    low = LoadAs<uint32_t>(from) | uint64_t{LoadAs<uint32_t>(from + bytes - 4)} << 8 * (bytes - 4);
  } else {
    for (size_t i = 0; i < bytes; ++i) low |= uint64_t{LoadAs<uint8_t>(from + i)} << 8 * i;
  }
  return std::bit_cast<AesBlock>(AesWords{low, high | uint64_t{bytes} << 56});
}

// The last bytes of a longer key, fewer than 16, then zeros.
inline AesBlock LastBytes(std::string_view key, size_t bytes) {
  const uint64_t last = LoadAs<uint64_t>(key.data() + key.size() - 8);
  uint64_t low = 0, high = 0;
  if (bytes > 8) {
    low = LoadAs<uint64_t>(key.data() + key.size() - bytes);
    high = last >> 8 * (16 - bytes);
  } else if (bytes > 0) {
    low = last >> 8 * (8 - bytes);
  }
  return std::bit_cast<AesBlock>(AesWords{low, high});
}

// The 16 bytes from an offset on, zeros beyond the key's end.
inline AesBlock LoadBlock(std::string_view key, size_t at) {
  if (at + sizeof(AesBlock) <= key.size()) return LoadAs<AesBlock>(key.data() + at);
  return at < key.size() ? LastBytes(key, key.size() - at) : AesBlock{};
}

// A length as the last byte, or the last two.
inline AesBlock LengthByte(std::string_view key) {
  return AesBlock{0, 0, 0, static_cast<uint32_t>(key.size() << 24)};
}
inline AesBlock LengthBytes(std::string_view key) {
  return AesBlock{0, 0, 0, static_cast<uint32_t>(key.size() << 16)};
}

template <auto Round>
[[gnu::always_inline]] inline uint64_t HashOfLongKey(std::string_view key, AesBlock seed) {
  FourBlocks first{LoadBlock(key, 0), LoadBlock(key, 16), LoadBlock(key, 32), LoadBlock(key, 48)};
  if (key.size() < 64) first.d |= LengthByte(key);
  TwoBlocks chain = Haraka512<Round>(first, seed);
  if (key.size() < 64) return FirstWord(chain.a);
  if (key.size() == 64) return LastWord(chain.b);
  for (size_t at = 64;; at += 32) {
    const bool is_last = key.size() <= at + 30;
    FourBlocks next{chain.a, chain.b, LoadBlock(key, at), LoadBlock(key, at + 16)};
    if (is_last) next.d |= LengthBytes(key);
    chain = Haraka512<Round>(next, seed);
    if (is_last) return FirstWord(chain.a);
  }
}

// key: at most verify::kKeyBytesMax bytes, any content.
template <auto Round>
[[gnu::always_inline]] inline uint64_t KeyHash(std::string_view key, uint64_t seed) {
  const auto seed_block = std::bit_cast<AesBlock>(AesWords{seed, seed});
  const size_t bytes = key.size();
  if (bytes < 16) {
    return FirstWord(Haraka128<Round>(ShortKey(key), seed_block));
  }
  const auto first = LoadAs<AesBlock>(key.data());
  if (bytes == 16) return LastWord(Haraka128<Round>(first, seed_block));
  if (bytes < 32) {
    const AesBlock second = LastBytes(key, bytes - 16) | LengthByte(key);
    return FirstWord(Haraka256<Round>({first, second}, seed_block).a);
  }
  if (bytes == 32) {
    const auto second = LoadAs<AesBlock>(key.data() + 16);
    return LastWord(Haraka256<Round>({first, second}, seed_block).b);
  }
  return HashOfLongKey<Round>(key, seed_block);
}

}  // namespace plov::cuckoo
