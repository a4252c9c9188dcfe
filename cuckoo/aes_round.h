// AesRound: a round of AES - SubBytes, ShiftRows, MixColumns, then the key - by the processor's
// instruction where it has one, else by a table. Both give the same.
//
// Nothing here is secret, so it does not matter what a table's lines tell of what is hashed.
// Source: FIPS 197.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#include <sys/auxv.h>
#endif

namespace plov::cuckoo {

// 16 bytes as four columns, byte 0 the lowest of column 0.
using AesBlock [[gnu::vector_size(16)]] = uint32_t;

// By a byte of row 0: what it adds to its column. Another row's is rotated by so many bytes.
consteval std::array<uint32_t, 256> AesColumns() {
  std::array<uint32_t, 256> columns{};
  const auto twice = [](uint8_t x) { return static_cast<uint8_t>(x << 1 ^ (x >> 7) * 0x1b); };
  uint8_t power = 1;    // of 3, which generates all but 0
  uint8_t inverse = 1;  // of the same power
  for (int i = 0; i < 256; ++i) {
    const bool is_last = i == 255;  // has come before: the 0 instead, which is its own inverse
    if (is_last) power = inverse = 0;
    const auto rotated = [inverse](int bits) { return std::rotl(inverse, bits); };
    const auto s =
        static_cast<uint8_t>(inverse ^ rotated(1) ^ rotated(2) ^ rotated(3) ^ rotated(4) ^ 0x63);
    columns[power] =
        twice(s) | uint32_t{s} << 8 | uint32_t{s} << 16 | static_cast<uint32_t>(twice(s) ^ s) << 24;
    power = static_cast<uint8_t>(power ^ twice(power));
    for (const int bits : {1, 2, 4}) inverse = static_cast<uint8_t>(inverse ^ inverse << bits);
    if (inverse & 0x80) inverse ^= 0x09;
  }
  return columns;
}

// A function of its own: inline it would be 60 KB of code in KeyHash.
[[gnu::noinline]] inline AesBlock AesRoundByTable(AesBlock block, AesBlock key) {
  static constexpr std::array<uint32_t, 256> kColumns = AesColumns();
  const auto halves = std::bit_cast<std::array<uint64_t, 2>>(block);
  const auto from = [&halves](size_t column, int row) {
    const size_t byte = 4 * ((column + static_cast<size_t>(row)) % 4) + static_cast<size_t>(row);
    return std::rotl(kColumns[halves[byte / 8] >> 8 * (byte % 8) & 0xff], 8 * row);
  };
  const auto column = [&from](size_t at) {
    return from(at, 0) ^ from(at, 1) ^ from(at, 2) ^ from(at, 3);
  };
  return AesBlock{column(0), column(1), column(2), column(3)} ^ key;
}

// To be called only if HasAesInstruction().
#if defined(__x86_64__)
inline bool HasAesInstruction() { return __builtin_cpu_supports("aes"); }
#define PLOV_AES_TARGET gnu::target("aes")
[[PLOV_AES_TARGET]] inline AesBlock AesRoundByInstruction(AesBlock block, AesBlock key) {
  return std::bit_cast<AesBlock>(
      _mm_aesenc_si128(std::bit_cast<__m128i>(block), std::bit_cast<__m128i>(key)));
}
#elif defined(__aarch64__)
inline bool HasAesInstruction() { return getauxval(AT_HWCAP) & HWCAP_AES; }
#define PLOV_AES_TARGET gnu::target("+crypto")
[[PLOV_AES_TARGET]] inline AesBlock AesRoundByInstruction(AesBlock block, AesBlock key) {
  const uint8x16_t zero{};
  return std::bit_cast<AesBlock>(vaesmcq_u8(vaeseq_u8(std::bit_cast<uint8x16_t>(block), zero))) ^
         key;
}
#endif

}  // namespace plov::cuckoo
