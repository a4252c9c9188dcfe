// Own file: opens a file that nobody but this user can have made or can change.
#pragma once

#include <expected>
#include <string>

#include "fabric/os.h"
#include "verify/error.h"

namespace plov::server {

// Opens it for reading and writing, and makes it where there is none; `what` names it in messages, as "the
// memory file". kInvalidArgument (a link, no plain file, one with several names), kPermission (of another
// user), kSystem.
std::expected<fabric::Fd, Error> OpenOwnFile(const std::string& path, const std::string& what);

}  // namespace plov::server
