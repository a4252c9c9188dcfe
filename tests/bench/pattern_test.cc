#include "bench/verbs/pattern.h"

#include <gtest/gtest.h>

#include <array>

namespace plov::bench {
namespace {

constexpr size_t kWords = 8;
using Words = std::array<uint64_t, kWords>;

Words Filled(Which which, uint64_t number) {
  Words words{};
  Fill(which, number, words.data(), kWords);
  return words;
}

TEST(Pattern, WhatWasFilledIsWhole) {
  for (const Which which : {Which::kRequest, Which::kReply}) {
    EXPECT_TRUE(IsWhole(which, 7, Filled(which, 7).data(), kWords));
  }
}

TEST(Pattern, ZeroedMemoryIsNoMessage) {
  const Words zero{};
  for (uint64_t number = 1; number < 100; ++number) {
    EXPECT_FALSE(IsWhole(Which::kRequest, number, zero.data(), kWords));
  }
}

TEST(Pattern, EveryChangedWordIsNoticed) {
  for (size_t at = 0; at < kWords; ++at) {
    Words words = Filled(Which::kReply, 7);
    words[at] ^= 1;
    EXPECT_FALSE(IsWhole(Which::kReply, 7, words.data(), kWords)) << at;
  }
}

// Of a message that is still being written, some words are the former one's in the same slot.
TEST(Pattern, EverySpliceOfTwoMessagesIsNoticed) {
  const Words former = Filled(Which::kReply, 7);
  for (size_t fresh = 1; fresh < kWords; ++fresh) {
    Words words = Filled(Which::kReply, 23);
    for (size_t at = 0; at < fresh; ++at) words[at] = former[at];
    EXPECT_FALSE(IsWhole(Which::kReply, 23, words.data(), kWords)) << fresh;
    EXPECT_FALSE(IsWhole(Which::kReply, 7, words.data(), kWords)) << fresh;
  }
}

TEST(Pattern, RequestIsNoReply) {
  EXPECT_FALSE(IsWhole(Which::kReply, 7, Filled(Which::kRequest, 7).data(), kWords));
}

}  // namespace
}  // namespace plov::bench
