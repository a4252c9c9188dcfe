#include "door/memcached/numbers.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace plov::door::memcached {

namespace {

// So many digits are no more than 32 bits.
constexpr size_t kShortDigits = 9;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::optional<uint32_t> ShortNumber(std::string_view text) {
  if (text.empty() || text.size() > kShortDigits) return std::nullopt;
  uint32_t number = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return std::nullopt;
    number = number * 10 + static_cast<uint32_t>(c - '0');
  }
  return number;
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// `read` is strtoull or strtoll.
template <typename Number>
std::optional<Number> Read(std::string_view text, Number (*read)(const char*, char**, int)) {
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const Number number = read(copy.c_str(), &end, 10);
  if (errno == ERANGE || end == copy.c_str()) return std::nullopt;
  if (*end != '\0' && !IsSpace(*end)) return std::nullopt;
  return number;
}

}  // namespace

std::optional<uint64_t> Unsigned64(std::string_view text) {
  if (const auto number = ShortNumber(text)) return *number;
  const auto number = Read<unsigned long long>(text, std::strtoull);
  if (!number) return std::nullopt;
  // A negative one comes as a large one.
  const bool is_negative = static_cast<int64_t>(*number) < 0 && text.find('-') != text.npos;
  if (is_negative) return std::nullopt;
  return *number;
}

std::optional<uint32_t> Unsigned32(std::string_view text) {
  const auto number = Unsigned64(text);
  if (!number) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

std::optional<int32_t> Signed32(std::string_view text) {
  if (const auto number = ShortNumber(text)) return static_cast<int32_t>(*number);
  const auto number = Read<long long>(text, std::strtoll);
  if (!number) return std::nullopt;
  return static_cast<int32_t>(*number);
}

}  // namespace plov::door::memcached
