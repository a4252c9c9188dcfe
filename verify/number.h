// Numbers: values that are the decimal text of an integer, as memcached and Redis have them, and what an INCREMENT makes
// of one. Whoever READs such an item sees its text.
#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "verify/error.h"

namespace plov::verify {

enum class NumberMode : uint8_t {
  kSigned = 0,            // -2^63 to 2^63-1, within the change's limits
  kUnsignedAdd = 1,       // 0 to 2^64-1: goes on from 0 after the last
  kUnsignedSubtract = 2,  // stops at 0
};

// As an INCREMENT carries it; `delta` and `initial` are unsigned where the mode is.
struct NumberChange {
  int64_t delta = 1;
  int64_t initial = 0;  // what an absent key counts as, where the INCREMENT creates
  int64_t min = std::numeric_limits<int64_t>::min();
  int64_t max = std::numeric_limits<int64_t>::max();
  NumberMode mode = NumberMode::kSigned;

  bool operator==(const NumberChange&) const = default;
};
inline constexpr size_t kNumberChangeBytes = 40;

// Writes kNumberChangeBytes.
void EncodeNumberChange(const NumberChange& change, char* to);
// nullopt: no client of ours sends this.
std::optional<NumberChange> DecodeNumberChange(std::string_view bytes);

// No text of a number is longer.
inline constexpr size_t kNumberTextMax = 20;
// The number of a text, all of it: digits, of a signed one after a '-'. nullopt: it is none, or out of range. memcached
// leaves spaces behind unsigned ones. Unsigned ones above 2^63-1 come as what has their bits.
std::optional<int64_t> NumberOf(std::string_view text, NumberMode mode);
// Of either kind.
std::optional<int64_t> NumberOf(std::string_view text);
std::string NumberText(int64_t number, NumberMode mode);

// What the change makes of `text`, or of an absent key (nullopt). kNotANumber, kOutOfRange.
std::expected<int64_t, Code> ChangeNumber(const NumberChange& change,
                                          std::optional<std::string_view> text);

}  // namespace plov::verify
