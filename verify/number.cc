#include "verify/number.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>

namespace plov::verify {

namespace {

struct WireChange {
  int64_t delta;
  int64_t initial;
  int64_t min;
  int64_t max;
  uint64_t mode;
};
static_assert(sizeof(WireChange) == kNumberChangeBytes);

template <typename Number>
std::optional<int64_t> Parse(std::string_view text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return static_cast<int64_t>(number);
}

uint64_t Unsigned(int64_t number) { return static_cast<uint64_t>(number); }

}  // namespace

void EncodeNumberChange(const NumberChange& change, char* to) {
  const WireChange wire{change.delta, change.initial, change.min, change.max,
                        static_cast<uint64_t>(change.mode)};
  std::memcpy(to, &wire, sizeof(wire));
}

std::optional<NumberChange> DecodeNumberChange(std::string_view bytes) {
  WireChange wire;
  if (bytes.size() != sizeof(wire)) return std::nullopt;
  std::memcpy(&wire, bytes.data(), sizeof(wire));
  if (wire.mode > static_cast<uint64_t>(NumberMode::kUnsignedSubtract)) return std::nullopt;
  return NumberChange{.delta = wire.delta,
                      .initial = wire.initial,
                      .min = wire.min,
                      .max = wire.max,
                      .mode = static_cast<NumberMode>(wire.mode)};
}

std::optional<int64_t> NumberOf(std::string_view text, NumberMode mode) {
  if (mode == NumberMode::kSigned) return Parse<int64_t>(text);
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  return Parse<uint64_t>(text);
}

std::optional<int64_t> NumberOf(std::string_view text) {
  if (text.size() > kNumberTextMax) return std::nullopt;
  const auto number = NumberOf(text, NumberMode::kSigned);
  return number ? number : NumberOf(text, NumberMode::kUnsignedAdd);
}

std::string NumberText(int64_t number, NumberMode mode) {
  return mode == NumberMode::kSigned ? std::to_string(number) : std::to_string(Unsigned(number));
}

std::expected<int64_t, Code> ChangeNumber(const NumberChange& change,
                                          std::optional<std::string_view> text) {
  const auto before = text ? NumberOf(*text, change.mode) : change.initial;
  if (!before) return std::unexpected(Code::kNotANumber);
  switch (change.mode) {
    case NumberMode::kUnsignedAdd:
      return static_cast<int64_t>(Unsigned(*before) + Unsigned(change.delta));
    case NumberMode::kUnsignedSubtract:
      return static_cast<int64_t>(Unsigned(*before) -
                                  std::min(Unsigned(*before), Unsigned(change.delta)));
    case NumberMode::kSigned:
      break;
  }
  int64_t after = 0;
  const bool overflows = __builtin_add_overflow(*before, change.delta, &after);
  if (overflows || after < change.min || after > change.max) {
    return std::unexpected(Code::kOutOfRange);
  }
  return after;
}

}  // namespace plov::verify
