// Replies of memcached's text protocol that are the same everywhere.
#pragma once

#include <plov/error.h>

#include <string>

namespace plov::door::memcached {

// A line that says why the server could not do it, "SERVER_ERROR ...".
void AddFailure(const Error& error, std::string* to);

}  // namespace plov::door::memcached
