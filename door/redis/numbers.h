// Numbers of Redis: integers have one text each, floats are read as strtold reads them, with 17 digits written.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plov::door::redis {

// Digits without zeros before them, perhaps after a '-'. nullopt: it is no such text, or beyond 64 bits.
std::optional<int64_t> IntegerOf(std::string_view text);

// nullopt: it is none, or too large, or not a number.
std::optional<long double> FloatOf(std::string_view text);
// Without an exponent, and without zeros at the end.
std::string FloatText(long double number);

inline void AppendInteger(int64_t number, std::string* to) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  to->append(digits, static_cast<size_t>(end - digits));
}

}  // namespace plov::door::redis
