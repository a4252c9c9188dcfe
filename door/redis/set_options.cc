#include "door/redis/set_options.h"

#include <limits>

#include "door/redis/command.h"
#include "door/redis/expiry.h"
#include "door/redis/numbers.h"

namespace plov::door::redis {

namespace {

std::optional<ExpiryUnit> UnitOf(std::string_view word) {
  if (IsWord(word, "ex")) return ExpiryUnit::kSeconds;
  if (IsWord(word, "px")) return ExpiryUnit::kMs;
  if (IsWord(word, "exat")) return ExpiryUnit::kUnixSeconds;
  if (IsWord(word, "pxat")) return ExpiryUnit::kUnixMs;
  return std::nullopt;
}

// One word that takes none behind it. False: it is none, or contradicts another one.
bool TakeSetWord(std::string_view word, SetOptions* options) {
  if (IsWord(word, "nx") && !options->xx) return options->nx = true;
  if (IsWord(word, "xx") && !options->nx) return options->xx = true;
  if (IsWord(word, "get")) return options->get = true;
  if (IsWord(word, "keepttl") && !options->unit) return options->keep_ttl = true;
  return false;
}

bool TakeGetExWord(std::string_view word, SetOptions* options) {
  return IsWord(word, "persist") && !options->unit && (options->persist = true);
}

std::optional<SetOptions> Parse(std::span<const std::string_view> words,
                                bool (*take)(std::string_view, SetOptions*)) {
  SetOptions options;
  for (size_t i = 0; i < words.size(); ++i) {
    if (take(words[i], &options)) continue;
    const auto unit = UnitOf(words[i]);
    const bool contradicts =
        options.keep_ttl || options.persist || (options.unit && options.unit != unit);
    if (!unit || contradicts || i + 1 == words.size()) return std::nullopt;
    options.unit = unit;
    options.expiry = words[++i];
  }
  return options;
}

}  // namespace

std::optional<SetOptions> SetOptions::OfSet(std::span<const std::string_view> words) {
  return Parse(words, TakeSetWord);
}

std::optional<SetOptions> SetOptions::OfGetEx(std::span<const std::string_view> words) {
  return Parse(words, TakeGetExWord);
}

std::expected<int64_t, ExpiryError> MomentOf(std::string_view text, ExpiryUnit unit,
                                             int64_t now_ms) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  const auto number = IntegerOf(text);
  if (!number) return std::unexpected(ExpiryError::kNoInteger);
  int64_t moment = *number;
  const bool is_seconds = unit == ExpiryUnit::kSeconds || unit == ExpiryUnit::kUnixSeconds;
  if (moment <= 0 || (is_seconds && moment > kMost / kMsPerSecond)) {
    return std::unexpected(ExpiryError::kInvalid);
  }
  if (is_seconds) moment *= kMsPerSecond;
  if (unit == ExpiryUnit::kUnixSeconds || unit == ExpiryUnit::kUnixMs) return moment;
  if (moment > kMost - now_ms) return std::unexpected(ExpiryError::kInvalid);
  return moment + now_ms;
}

}  // namespace plov::door::redis
