// Units of the server's tests.
#pragma once

#include <cstddef>

namespace plov::server {

inline constexpr size_t kMiB = size_t{1} << 20;

}  // namespace plov::server
