// Lists of users and groups, as operators write them.
#pragma once

#include <expected>
#include <string_view>

#include "fabric/access.h"
#include "verify/error.h"

namespace plov::server {

// Users, and groups with @ before them, by name or number, with commas between. kInvalidArgument:
// the system knows no such user or group.
std::expected<fabric::AccessList, Error> ParseAccessList(std::string_view text);

}  // namespace plov::server
