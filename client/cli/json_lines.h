// Items as JSON objects, one a line: what `dump --json` writes and `load --json-lines` reads.
#pragma once

#include <string>
#include <string_view>

#include "client/cli/lines.h"

namespace plov::cli {

// A byte may need six, as in \u0000.
inline constexpr size_t kJsonBytesMax = 6;

// Appends the item of a line to `*bytes`: key and value, or key_base64 and value_base64; flags and
// expiry, 0 where they are not there; a version counts for nothing. Returns what is wrong with it,
// or nothing; `*bytes` is as it was when something is.
std::string ParseJsonLine(std::string_view text, std::string* bytes, ItemRef* item);

}  // namespace plov::cli
