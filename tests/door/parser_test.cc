// memcached's lines as commands. What memcached itself makes of them: tests/door/differential.py.
#include <gtest/gtest.h>

#include <string>

#include "door/memcached/base64.h"
#include "door/memcached/command.h"
#include "door/memcached/numbers.h"

namespace plov::door::memcached {
namespace {

TEST(Numbers, AreReadAsStrtoulReadsThem) {
  EXPECT_EQ(Unsigned64("0"), 0U);
  EXPECT_EQ(Unsigned64("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(Unsigned64("18446744073709551616"), std::nullopt);
  EXPECT_EQ(Unsigned64("+7"), 7U);
  EXPECT_EQ(Unsigned64(" 7 x"), 7U);
  EXPECT_EQ(Unsigned64("7x"), std::nullopt);
  EXPECT_EQ(Unsigned64("-1"), std::nullopt);
  EXPECT_EQ(Unsigned64(""), std::nullopt);
  EXPECT_EQ(Unsigned32("4294967297"), 1U);
  EXPECT_EQ(Signed32("-2147483648"), INT32_MIN);
  EXPECT_EQ(Signed32("4294967396"), 100);
}

TEST(Base64, IsReadAsItWasWritten) {
  for (size_t bytes = 1; bytes < 260; ++bytes) {
    std::string text;
    for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(i * 31 + bytes);
    const std::string encoded = EncodeBase64(text);
    EXPECT_EQ(encoded.size(), (bytes + 2) / 3 * 4);
    EXPECT_EQ(DecodeBase64(encoded), text);
  }
}

TEST(Base64, OfAnotherLengthOrPaddingIsNone) {
  for (const char* text : {"", "Z", "Zg", "Zg=", "====", "Z===", "!!!!", "Zg==Z"}) {
    EXPECT_EQ(DecodeBase64(text), std::nullopt) << text;
  }
  EXPECT_EQ(DecodeBase64("Z!g=="), "f");
}

TEST(Words, EndAtTheTwentyThird) {
  std::string line;
  for (int i = 0; i < 30; ++i) line += " w" + std::to_string(i);
  const Words words(line);
  EXPECT_EQ(words.count, Words::kMax);
  EXPECT_EQ(words[0], "w0");
  EXPECT_EQ(words[22], "w22");
  EXPECT_EQ(words[23], "");
  EXPECT_EQ(words.rest, "w23 w24 w25 w26 w27 w28 w29");
}

TEST(Command, OfStoringHasItsParts) {
  const Command command = ParseCommand("cas key 5 100 7 99 noreply");
  EXPECT_EQ(command.verb, Verb::kStore);
  EXPECT_EQ(command.mode, StoreMode::kCas);
  EXPECT_EQ(command.key(), "key");
  EXPECT_EQ(command.flags, 5U);
  EXPECT_EQ(command.exptime, 100);
  EXPECT_EQ(command.value_bytes, 7U);
  EXPECT_EQ(command.cas, 99U);
  EXPECT_TRUE(command.noreply);
}

TEST(Command, KeysOfGetAreNotCounted) {
  std::string line = "gets";
  for (int i = 0; i < 100; ++i) line += " key" + std::to_string(i);
  const Command command = ParseCommand(line);
  EXPECT_EQ(command.verb, Verb::kGet);
  EXPECT_TRUE(command.with_cas);
  EXPECT_EQ(command.keys, std::string_view(line).substr(5));
}

TEST(Command, RefusedBlocksArePassedOver) {
  const Command command = ParseCommand("ms key 10 X");
  EXPECT_EQ(command.verb, Verb::kError);
  EXPECT_EQ(command.error, "CLIENT_ERROR invalid flag");
  EXPECT_EQ(command.value_bytes, 10U);
}

TEST(Command, BinaryKeysSurviveAMove) {
  Command command = ParseCommand("mg Zm9v v b k");
  const Command moved = std::move(command);
  EXPECT_EQ(moved.verb, Verb::kMetaGet);
  EXPECT_EQ(moved.key(), "foo");
  EXPECT_TRUE(moved.wants_value);
  EXPECT_EQ(moved.meta_flags, "v b k");
}

TEST(Command, FlagsThatNeedMarksInItemsAreRefused) {
  for (const char* line : {"mg k h", "mg k l", "mg k N10", "mg k R10", "md k I", "ms k 1 I"}) {
    const Command command = ParseCommand(line);
    EXPECT_EQ(command.verb, Verb::kError) << line;
    EXPECT_TRUE(command.error.starts_with("CLIENT_ERROR invalid")) << line;
  }
}

TEST(ItemBytes, AreWhatMemcachedCounts) {
  EXPECT_EQ(ItemBytes(3, 0, 100), 48U + 8 + 4 + 102);
  EXPECT_EQ(ItemBytes(3, 1, 100), 48U + 8 + 4 + 4 + 102);
}

}  // namespace
}  // namespace plov::door::memcached
