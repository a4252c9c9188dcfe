// Numbers: which texts are one, and what an INCREMENT makes of them.
#include "verify/number.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

namespace plov::verify {
namespace {

using enum NumberMode;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kLastUnsigned = -1;  // its bits

TEST(Number, TextsOfEachKind) {
  struct Case {
    const char* text;
    std::optional<int64_t> of_signed, of_unsigned;
  };
  for (const auto& [text, of_signed, of_unsigned] : std::to_array<Case>({
           {"0", 0, 0},
           {"42", 42, 42},
           {"007", 7, 7},
           {"-1", -1, {}},
           {"9223372036854775807", kMax, kMax},
           {"9223372036854775808", {}, kMin},
           {"-9223372036854775808", kMin, {}},
           {"-9223372036854775809", {}, {}},
           {"18446744073709551615", {}, kLastUnsigned},
           {"18446744073709551616", {}, {}},
           {"42  ", {}, 42},
           {"", {}, {}},
           {"   ", {}, {}},
           {"-", {}, {}},
           {"+1", {}, {}},
           {" 1", {}, {}},
           {"1.0", {}, {}},
           {"1x", {}, {}},
           {"0x10", {}, {}},
       })) {
    EXPECT_EQ(NumberOf(text, kSigned), of_signed) << text;
    EXPECT_EQ(NumberOf(text, kUnsignedAdd), of_unsigned) << text;
    EXPECT_EQ(NumberOf(text, kUnsignedSubtract), of_unsigned) << text;
  }
  EXPECT_EQ(NumberOf(std::string_view("1\0", 2), kSigned), std::nullopt);
}

TEST(Number, TextOfANumberIsThatNumber) {
  for (const int64_t number : {int64_t{0}, int64_t{-1}, kMin, kMax}) {
    for (const NumberMode mode : {kSigned, kUnsignedAdd}) {
      EXPECT_EQ(NumberOf(NumberText(number, mode), mode), number);
      EXPECT_EQ(NumberOf(NumberText(number, mode)), number) << "of either kind";
      EXPECT_LE(NumberText(number, mode).size(), kNumberTextMax);
    }
  }
  EXPECT_EQ(NumberOf("no number"), std::nullopt);
  EXPECT_EQ(NumberOf(std::string(kNumberTextMax, ' ') + "1"), std::nullopt);
}

TEST(Number, ChangesOfEachKind) {
  const auto changed = [](NumberChange change, std::optional<std::string_view> text) {
    return ChangeNumber(change, text);
  };
  EXPECT_EQ(changed({.delta = 5}, "37"), 42);
  EXPECT_EQ(changed({.delta = -5}, "3"), -2);
  EXPECT_EQ(changed({.delta = 2, .initial = 40}, std::nullopt), 42);
  EXPECT_EQ(changed({.delta = 1}, "x").error(), Code::kNotANumber);
  EXPECT_EQ(changed({.delta = 1}, "").error(), Code::kNotANumber);
  EXPECT_EQ(changed({.delta = 1}, std::to_string(kMax)).error(), Code::kOutOfRange);
  EXPECT_EQ(changed({.delta = kMin}, "-1").error(), Code::kOutOfRange);
  EXPECT_EQ(changed({.delta = kMin}, "0"), kMin);
  EXPECT_EQ(changed({.delta = -1, .min = 0}, "1"), 0);
  EXPECT_EQ(changed({.delta = -1, .min = 0}, "0").error(), Code::kOutOfRange);
  EXPECT_EQ(changed({.delta = 1, .max = 9}, "8"), 9);
  EXPECT_EQ(changed({.delta = 1, .max = 9}, "9").error(), Code::kOutOfRange);
  EXPECT_EQ(changed({.delta = -1, .max = 9}, "30").error(), Code::kOutOfRange);
  EXPECT_EQ(changed({.delta = 3, .mode = kUnsignedAdd}, "18446744073709551614"), 1);
  EXPECT_EQ(changed({.delta = kLastUnsigned, .mode = kUnsignedAdd}, "0"), kLastUnsigned);
  EXPECT_EQ(changed({.delta = 3, .mode = kUnsignedSubtract}, "5"), 2);
  EXPECT_EQ(changed({.delta = 6, .mode = kUnsignedSubtract}, "5"), 0);
  EXPECT_EQ(changed({.delta = kLastUnsigned, .mode = kUnsignedSubtract}, "18446744073709551615"),
            0);
}

TEST(Number, AChangeIsDecodedAsItWas) {
  const NumberChange change{.delta = -3, .initial = 7, .min = -9, .max = 11, .mode = kUnsignedAdd};
  std::array<char, kNumberChangeBytes> bytes;
  EncodeNumberChange(change, bytes.data());
  const std::string_view text(bytes.data(), bytes.size());
  EXPECT_EQ(DecodeNumberChange(text), change);
  EXPECT_EQ(DecodeNumberChange(text.substr(1)), std::nullopt);
  EXPECT_EQ(DecodeNumberChange({}), std::nullopt);
  bytes[32] = 3;
  EXPECT_EQ(DecodeNumberChange(text), std::nullopt) << "no such mode";
  bytes[32] = 1;
  bytes[39] = 1;
  EXPECT_EQ(DecodeNumberChange(text), std::nullopt);
}

}  // namespace
}  // namespace plov::verify
