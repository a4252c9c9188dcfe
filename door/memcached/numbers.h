// Numbers of memcached's text protocol, which it reads with strtoul and its like: spaces and a sign may come first,
// a space or nothing after, and what is too long for 32 bits loses its upper ones.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plov::door::memcached {

std::optional<uint64_t> Unsigned64(std::string_view text);
std::optional<uint32_t> Unsigned32(std::string_view text);
std::optional<int32_t> Signed32(std::string_view text);

inline void AppendNumber(uint64_t number, std::string* to) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
  to->append(digits, static_cast<size_t>(end - digits));
}

}  // namespace plov::door::memcached
