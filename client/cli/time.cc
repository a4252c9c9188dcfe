#include "client/cli/time.h"

#include <fmt/chrono.h>

#include <charconv>
#include <ctime>

namespace plov::cli {

namespace {

constexpr uint64_t kSecond = 1'000'000;

// ".25" as 250,000; takes what it understands from the text.
std::optional<uint64_t> TakeFraction(std::string_view* text) {
  if (!text->starts_with('.')) return 0;
  text->remove_prefix(1);
  uint64_t fraction = 0;
  uint64_t unit = kSecond;
  for (; !text->empty() && text->front() >= '0' && text->front() <= '9'; text->remove_prefix(1)) {
    if (unit == 1) return std::nullopt;
    unit /= 10;
    fraction += static_cast<uint64_t>(text->front() - '0') * unit;
  }
  if (unit == kSecond) return std::nullopt;
  return fraction;
}

// strptime forgives days that a month has not.
bool IsDate(const std::tm& given, std::time_t seconds, bool is_utc) {
  std::tm back{};
  if (is_utc) {
    ::gmtime_r(&seconds, &back);
  } else {
    ::localtime_r(&seconds, &back);
  }
  return back.tm_mday == given.tm_mday && back.tm_mon == given.tm_mon;
}

std::optional<uint64_t> ParseSeconds(std::string_view text) {
  uint64_t seconds = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (seconds > UINT64_MAX / kSecond) return std::nullopt;
  return seconds * kSecond;
}

}  // namespace

std::string UtcText(uint64_t time_us) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(static_cast<std::time_t>(time_us / kSecond)), time_us % kSecond);
}

std::optional<uint64_t> ParseTime(std::string_view text) {
  if (text.starts_with('@')) return ParseSeconds(text.substr(1));
  const std::string whole(text);
  std::tm given{};
  const bool has_t = text.find('T') != std::string_view::npos;
  const char* end =
      ::strptime(whole.c_str(), has_t ? "%Y-%m-%dT%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &given);
  if (end == nullptr) return std::nullopt;
  std::string_view rest = end;
  const auto fraction = TakeFraction(&rest);
  const bool is_utc = rest == "Z";
  if (!fraction || (!rest.empty() && !is_utc)) return std::nullopt;
  given.tm_isdst = -1;
  const std::tm asked = given;
  const std::time_t seconds = is_utc ? ::timegm(&given) : std::mktime(&given);
  if (seconds < 0 || !IsDate(asked, seconds, is_utc)) return std::nullopt;
  return static_cast<uint64_t>(seconds) * kSecond + *fraction;
}

}  // namespace plov::cli
