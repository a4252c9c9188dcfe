// What users write: sizes "64M", "2G", durations "100us", "5ms", "2s" and bucket sizes; and what no
// option is.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>

#include "verify/error.h"

namespace plov {

// Bytes of a decimal number with an optional K, M, G or T (powers of 1024). kInvalidArgument.
std::expected<uint64_t, Error> ParseSize(std::string_view text);

// A decimal number with us, ms, s, m or h; a bare number is seconds. kInvalidArgument.
std::expected<std::chrono::microseconds, Error> ParseDuration(std::string_view text);

// The size of a table's buckets: 64, 128, or 0 for "auto".
std::optional<uint32_t> ParseBucketBytes(std::string_view text);

// Whether what a user wrote has a name between percent signs, "%value%". Boost's errors of options
// replace such names in their own message, those that come from the user too: for ever, if the text
// that replaces it has it again. So what() of such an error is not to be called.
bool HasPlaceholder(std::string_view text);
inline constexpr auto kPlaceholderError = "an option with a name between percent signs is none";

}  // namespace plov
