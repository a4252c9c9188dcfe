#include "client/cli/elements.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>
#include <type_traits>

namespace plov::cli {

namespace {

// Calls `use` with the element that the bytes begin with.
template <typename Use>
auto WithElementOf(ElementType type, std::string_view bytes, Use use) {
  return WithElement(type, [&](auto element) {
    std::memcpy(&element, bytes.data(), sizeof(element));
    return use(element);
  });
}

template <Element T>
std::string TextOfElement(T element) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(element)) return "nan";  // also one with a sign
  }
  return fmt::format("{}", +element);
}

template <Element T>
std::unexpected<Error> NoElement(std::string_view text, std::errc failure) {
  using Limits = std::numeric_limits<T>;
  const std::string_view name = TypeName(ElementTypeOf<T>());
  std::string why;
  if constexpr (std::is_integral_v<T>) {
    why = fmt::format("no {}, a number from {} to {}", name, +Limits::min(), +Limits::max());
  } else if (failure == std::errc::result_out_of_range) {
    why =
        fmt::format("out of the range of {}, {} to {}", name, Limits::denorm_min(), Limits::max());
  } else {
    why = fmt::format("no {}, a number, nan, inf or -inf", name);
  }
  return Fail(Code::kInvalidArgument, fmt::format("'{}' is {}", text, why));
}

}  // namespace

std::string_view TypeName(ElementType type) { return kElementTypes[static_cast<size_t>(type) - 1]; }

std::expected<void, Error> AppendElement(ElementType type, std::string_view text,
                                         std::string* bytes) {
  const auto parse = [&](auto element) -> std::expected<void, Error> {
    const char* end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, element);
    if (failure != std::errc() || rest != end) return NoElement<decltype(element)>(text, failure);
    const size_t at = bytes->size();
    bytes->resize(at + sizeof(element));
    std::memcpy(&(*bytes)[at], &element, sizeof(element));
    return {};
  };
  return WithElement(type, parse);
}

std::string ElementText(ElementType type, std::string_view bytes) {
  return WithElementOf(type, bytes, [](auto element) { return TextOfElement(element); });
}

program::Json ElementJson(ElementType type, std::string_view bytes) {
  return WithElementOf(type, bytes, [](auto element) -> program::Json {
    if constexpr (std::is_floating_point_v<decltype(element)>) {
      const std::string text = TextOfElement(element);
      if (!std::isfinite(element)) return text;
      double number = 0;  // which is not what a float is: 0.1 and not 0.10000000149011612
      std::from_chars(text.data(), text.data() + text.size(), number);
      return number;
    } else {
      return element;
    }
  });
}

program::Json ElementsJson(ElementType type, std::string_view bytes) {
  program::Json all = program::Json::array();
  for (; !bytes.empty(); bytes.remove_prefix(ElementBytes(type))) {
    all.push_back(ElementJson(type, bytes));
  }
  return all;
}

}  // namespace plov::cli
