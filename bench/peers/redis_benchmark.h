// What redis-benchmark prints.
#pragma once

#include <expected>
#include <string_view>

#include "verify/error.h"

namespace plov::bench {

// Requests a second of a test, "GET" or "SET", in the output of --csv. kProtocol: there are none.
std::expected<double, Error> ParseRedisBenchmark(std::string_view text, std::string_view test);

}  // namespace plov::bench
