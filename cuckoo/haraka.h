// Haraka v2: one-way functions from 32 and 64 bytes to 32, of AES's rounds; and one like them from 16
// bytes to 16.
//
//   input ─┬─► ten rounds of AES for each block, columns mixed between blocks after every two ──► XOR ─► output
//          └────────────────────────────────────────────────────────────────────────────────────►┘
//
// Everybody could go back from an end of the rounds to its begin; not from an output, which the
// input is added to. The constants are the keys of the rounds. A seed is added to every block after
// round 4, which is as if the keys of that round were others: amid the rounds, because outputs that
// are equal under one seed would be so under every other if it were added to the input.
// With seed 0 this is Haraka v2 as it was published.
//
// Round: AesRoundByTable, or AesRoundByInstruction in a function for that target.
// Source: Koelbl, Lauridsen, Mendel, Rechberger, "Haraka v2 - Efficient Short-Input Hashing for
// Post-Quantum Applications", ToSC 2016. A single block is the fixed-key AES of Matyas, Meyer and Oseas.
#pragma once

#include <array>

#include "cuckoo/aes_round.h"

namespace plov::cuckoo {

inline constexpr AesBlock kHarakaConstants[40] = {
    {0x75817b9d, 0xb2c5fef0, 0xe620c00a, 0x0684704c},
    {0x2f08f717, 0x640f6ba4, 0x88f3a06b, 0x8b66b4e1},
    {0x9f029114, 0xcf029d60, 0x53f28498, 0x3402de2d},
    {0xfd5b4f79, 0xbbf3bcaf, 0x2e7b4f08, 0x0ed6eae6},
    {0xbe397044, 0x79eecd1c, 0x4872448b, 0xcbcfb0cb},
    {0x2b8a057b, 0x8d5335ed, 0x6e9032b7, 0x7eeacdee},
    {0xda4fef1b, 0xe2412761, 0x5e2e7cd0, 0x67c28f43},
    {0x1fc70b3b, 0x675ffde2, 0xafcacc07, 0x2924d9b0},
    {0xb9d465ee, 0xecdb8fca, 0xe6867fe9, 0xab4d63f1},
    {0xad037e33, 0x5b2a404f, 0xd4b7cd64, 0x1c30bf84},
    {0x8df69800, 0x69028b2e, 0x941723bf, 0xb2cc0bb9},
    {0x5c9d2d8a, 0x4aaa9ec8, 0xde6f5572, 0xfa0478a6},
    {0x29129fd4, 0x0efa4f2e, 0x6b772a12, 0xdfb49f2b},
    {0xbb6a12ee, 0x32d611ae, 0xf449a236, 0x1ea10344},
    {0x9ca8eca6, 0x5f9600c9, 0x4b050084, 0xaf044988},
    {0x27e593ec, 0x78a2c7e3, 0x9d199c4f, 0x21025ed8},
    {0x82d40173, 0xb9282ecd, 0xa759c9b7, 0xbf3aaaf8},
    {0x10307d6b, 0x37f2efd9, 0x6186b017, 0x6260700d},
    {0xf6fc9ac6, 0x81c29153, 0x21300443, 0x5aca45c2},
    {0x36d1943a, 0x2caf92e8, 0x226b68bb, 0x9223973c},
    {0xe51071b4, 0x6cbab958, 0x225886eb, 0xd3bf9238},
    {0x24e1128d, 0x933dfddd, 0xaef0c677, 0xdb863ce5},
    {0xcb2212b1, 0x83e48de3, 0xffeba09c, 0xbb606268},
    {0xc72bf77d, 0x2db91a4e, 0xe2e4d19c, 0x734bd3dc},
    {0x2cb3924e, 0x4b1415c4, 0x61301b43, 0x43bb47c3},
    {0x16eb6899, 0x03b231dd, 0xe707eff6, 0xdba775a8},
    {0x7eca472c, 0x8e5e2302, 0x3c755977, 0x6df3614b},
    {0xb88617f9, 0x6d1be5b9, 0xd6de7d77, 0xcda75a17},
    {0xa946ee5d, 0x9d6c069d, 0x6ba8e9aa, 0xec6b43f0},
    {0x3bf327c1, 0xa2531159, 0xf957332b, 0xcb1e6950},
    {0x600ed0d9, 0xe4ed0353, 0x00da619c, 0x2cee0c75},
    {0x63a4a350, 0x80bbbabc, 0x96e90cab, 0xf0b1a5a1},
    {0x938dca39, 0xab0dde30, 0x5e962988, 0xae3db102},
    {0x2e75b442, 0x8814f3a8, 0xd554a40b, 0x17bb8f38},
    {0x360a16f6, 0xaeb6b779, 0x5f427fd7, 0x34bb8a5b},
    {0xffbaafde, 0x43ce5918, 0xcbe55438, 0x26f65241},
    {0x839ec978, 0xa2ca9cf7, 0xb9f3026a, 0x4ce99a54},
    {0x22901235, 0x40c06e28, 0x1bdff7be, 0xae51a51a},
    {0x48a659cf, 0xc173bc0f, 0xba7ed22b, 0xa0c1613c},
    {0xe9c59da1, 0x4ad6bdfd, 0x02288288, 0x756acc03},
};

struct TwoBlocks {
  AesBlock a, b;
};
struct FourBlocks {
  AesBlock a, b, c, d;
};

inline constexpr int kHarakaRounds = 5;  // each of two of AES's
inline constexpr int kSeededRound = 1;

template <auto Round>
[[gnu::always_inline]] inline AesBlock Haraka128(AesBlock in, AesBlock seed) {
  AesBlock s = in;
#pragma GCC unroll 5
  for (int round = 0; round < kHarakaRounds; ++round) {
    const AesBlock* key = &kHarakaConstants[2 * round];
    s = Round(Round(s, key[0]), key[1]);
    if (round == kSeededRound) s ^= seed;
  }
  return s ^ in;
}

inline AesBlock LowColumns(AesBlock a, AesBlock b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
inline AesBlock HighColumns(AesBlock a, AesBlock b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}

template <auto Round>
[[gnu::always_inline]] inline TwoBlocks Haraka256(const TwoBlocks& in, AesBlock seed) {
  auto [a, b] = in;
#pragma GCC unroll 5
  for (int round = 0; round < kHarakaRounds; ++round) {
    const AesBlock* key = &kHarakaConstants[4 * round];
    a = Round(Round(a, key[0]), key[2]);
    b = Round(Round(b, key[1]), key[3]);
    const AesBlock low = LowColumns(a, b);
    b = HighColumns(a, b);
    a = low;
    if (round == kSeededRound) {
      a ^= seed;
      b ^= seed;
    }
  }
  return {a ^ in.a, b ^ in.b};
}

template <auto Round>
[[gnu::always_inline]] inline TwoBlocks Haraka512(const FourBlocks& in, AesBlock seed) {
  auto [a, b, c, d] = in;
#pragma GCC unroll 5
  for (int round = 0; round < kHarakaRounds; ++round) {
    const AesBlock* key = &kHarakaConstants[8 * round];
    a = Round(Round(a, key[0]), key[4]);
    b = Round(Round(b, key[1]), key[5]);
    c = Round(Round(c, key[2]), key[6]);
    d = Round(Round(d, key[3]), key[7]);
    const AesBlock low_ab = LowColumns(a, b), high_ab = HighColumns(a, b);
    const AesBlock low_cd = LowColumns(c, d), high_cd = HighColumns(c, d);
    a = HighColumns(high_ab, high_cd);
    b = LowColumns(low_cd, low_ab);
    c = HighColumns(low_cd, low_ab);
    d = LowColumns(high_ab, high_cd);
    if (round == kSeededRound) {
      a ^= seed;
      b ^= seed;
      c ^= seed;
      d ^= seed;
    }
  }
  a ^= in.a;
  b ^= in.b;
  c ^= in.c;
  d ^= in.d;
  // Bytes 8 to 23 and 40 to 55.
  return {__builtin_shufflevector(a, b, 2, 3, 6, 7), __builtin_shufflevector(c, d, 0, 1, 4, 5)};
}

}  // namespace plov::cuckoo
