// The words of a line that is typed into a shell.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "verify/error.h"

namespace plov::cli {

// Words with blanks between them. As a shell does it: in '...' every byte is itself; in "..." an escaped
// quote or backslash is itself; outside of both a backslash takes what follows it as it is. And in "..."
// \n, \r, \t and \xNN are the bytes that they name. kInvalidArgument: quotes or an escape without an end.
std::expected<std::vector<std::string>, Error> SplitWords(std::string_view line);

}  // namespace plov::cli
