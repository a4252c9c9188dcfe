#include "door/redis/numbers.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace plov::door::redis {

namespace {

// Redis's MAX_LONG_DOUBLE_CHARS.
constexpr size_t kFloatTextMax = size_t{5} << 10;

}  // namespace

std::optional<int64_t> IntegerOf(std::string_view text) {
  if (text == "0") return 0;
  const size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() <= sign || text[sign] < '1' || text[sign] > '9') return std::nullopt;
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::optional<long double> FloatOf(std::string_view text) {
  if (text.empty() || text.size() >= kFloatTextMax) return std::nullopt;
  if (std::isspace(static_cast<unsigned char>(text[0])) != 0) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  errno = 0;
  const long double number = std::strtold(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || std::isnan(number)) return std::nullopt;
  const bool is_beyond = errno == ERANGE && (std::isinf(number) || number == 0);
  if (is_beyond || errno == EINVAL) return std::nullopt;
  return number;
}

std::string FloatText(long double number) {
  std::array<char, kFloatTextMax> text;
  const int bytes = std::snprintf(text.data(), text.size(), "%.17Lf", number);
  if (bytes <= 0 || static_cast<size_t>(bytes) >= text.size()) return {};
  std::string_view view(text.data(), static_cast<size_t>(bytes));
  if (view.find('.') != view.npos) {
    view = view.substr(0, view.find_last_not_of('0') + 1);
    if (view.ends_with('.')) view.remove_suffix(1);
  }
  return view == "-0" ? "0" : std::string(view);
}

}  // namespace plov::door::redis
