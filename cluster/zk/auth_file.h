// The file with user and password for the ensemble.
#pragma once

#include <expected>
#include <string>

#include "verify/error.h"

namespace plov::cluster::zk {

// Its one line, "user:password". kPermission when others than its owner may read or write it; kInvalidArgument.
std::expected<std::string, Error> ReadAuthFile(const std::string& file);

}  // namespace plov::cluster::zk
