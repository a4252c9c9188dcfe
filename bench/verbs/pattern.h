// Patterns: what requests and replies hold, so that a wrong, torn or former one is told from the
// right one. A message is words; the last is its number, which is written last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verify/words.h"

namespace plov::bench {

enum class Which : uint64_t { kRequest = 0, kReply = ~uint64_t{0} };

// Messages are numbered from 1: zeroed memory is none.
constexpr uint64_t PatternWord(Which which, uint64_t number, size_t index) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio: no two words alike
  return (number * kGolden + index) ^ static_cast<uint64_t>(which);
}

inline void Fill(Which which, uint64_t number, uint64_t* words, size_t count) {
  for (size_t i = 0; i + 1 < count; ++i) {
    verify::StoreWord(words + i, PatternWord(which, number, i));
  }
  verify::PublishSeal(words + count - 1, number);
}

// Whether all of the message of that number is there. The last word is looked at first: where
// memory is polled, it mostly is not.
inline bool IsWhole(Which which, uint64_t number, const uint64_t* words, size_t count) {
  if (verify::LoadWord(words + count - 1) != number) return false;
  for (size_t i = 0; i + 1 < count; ++i) {
    if (verify::LoadWord(words + i) != PatternWord(which, number, i)) return false;
  }
  return true;
}

}  // namespace plov::bench
