// Instants, as people write them on a command line and read them in a list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plov::cli {

// Microseconds since 1970 as 2026-11-25T20:15:30.250000Z.
std::string UtcText(uint64_t time_us);

// YYYY-MM-DDTHH:MM:SS, also with a space for the T, with a fraction of up to six digits, and with a Z for
// UTC instead of the local time; or @SECONDS since 1970. nullopt: it is none.
std::optional<uint64_t> ParseTime(std::string_view text);

}  // namespace plov::cli
