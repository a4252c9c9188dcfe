#include "verify/quantity.h"

#include <array>
#include <charconv>
#include <span>
#include <string>

namespace plov {

namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr auto kSizeUnits = std::to_array<Unit>({{"", 1},
                                                 {"K", uint64_t{1} << 10},
                                                 {"M", uint64_t{1} << 20},
                                                 {"G", uint64_t{1} << 30},
                                                 {"T", uint64_t{1} << 40}});
constexpr auto kDurationUnits = std::to_array<Unit>({{"", 1'000'000},
                                                     {"us", 1},
                                                     {"ms", 1'000},
                                                     {"s", 1'000'000},
                                                     {"m", 60'000'000},
                                                     {"h", 3'600'000'000}});

std::expected<uint64_t, Error> Parse(std::string_view text, std::span<const Unit> units,
                                     std::string_view example) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  const std::string_view suffix(rest, static_cast<size_t>(end - rest));
  for (const Unit& unit : units) {
    if (failure != std::errc() || unit.name != suffix) continue;
    if (number > UINT64_MAX / 2 / unit.factor) break;
    return number * unit.factor;
  }
  std::string message = "'";
  message.append(text).append("' is not ").append(example);
  return Fail(Code::kInvalidArgument, std::move(message));
}

}  // namespace

std::expected<uint64_t, Error> ParseSize(std::string_view text) {
  return Parse(text, kSizeUnits, "a size such as 64M or 2G");
}

std::expected<std::chrono::microseconds, Error> ParseDuration(std::string_view text) {
  const auto us = Parse(text, kDurationUnits, "a duration such as 100us, 5ms or 2s");
  if (!us) return std::unexpected(us.error());
  return std::chrono::microseconds(static_cast<int64_t>(*us));
}

std::optional<uint32_t> ParseBucketBytes(std::string_view text) {
  if (text == "auto") return 0;
  if (text == "64") return 64;
  if (text == "128") return 128;
  return std::nullopt;
}

bool HasPlaceholder(std::string_view text) {
  constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyz_";
  for (size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    const size_t end = text.find_first_not_of(kNameLetters, at + 1);
    if (end != text.npos && end > at + 1 && text[end] == '%') return true;
  }
  return false;
}

}  // namespace plov
