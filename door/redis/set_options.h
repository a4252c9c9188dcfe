// SetOptions: what may stand behind SET's value and GETEX's key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plov::door::redis {

enum class ExpiryUnit : uint8_t { kSeconds, kMs, kUnixSeconds, kUnixMs };

// Why there is no moment: the text is no integer, or beyond what Redis counts.
enum class ExpiryError : uint8_t { kNoInteger, kInvalid };

struct SetOptions {
  bool nx = false;
  bool xx = false;
  bool get = false;
  bool keep_ttl = false;
  bool persist = false;
  std::optional<ExpiryUnit> unit;
  std::string expiry;

  // Of `words`, all of them. nullopt: a syntax error.
  static std::optional<SetOptions> OfSet(std::span<const std::string_view> words);
  static std::optional<SetOptions> OfGetEx(std::span<const std::string_view> words);
};

// When an item is to end, in Unix milliseconds as `now_ms` is, of a `text` that has to be above 0.
std::expected<int64_t, ExpiryError> MomentOf(std::string_view text, ExpiryUnit unit,
                                             int64_t now_ms);

}  // namespace plov::door::redis
