// Quantities as users write them: sizes "64M", "2G" and durations "100us", "5ms", "2s".
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string_view>

#include "verify/error.h"

namespace plov {

// Bytes of a decimal number with an optional K, M, G or T (powers of 1024). kInvalidArgument.
std::expected<uint64_t, Error> ParseSize(std::string_view text);

// A decimal number with us, ms, s, m or h; a bare number is seconds. kInvalidArgument.
std::expected<std::chrono::microseconds, Error> ParseDuration(std::string_view text);

}  // namespace plov
