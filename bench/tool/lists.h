// Lists: options that take several things, with commas between.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "torture/given.h"
#include "verify/error.h"

namespace plov::bench {

// What stands between the commas, also where it is empty.
std::vector<std::string> SplitList(const std::string& list);

// Numbers, or sizes with units, from `least` to `most`: ascending, each once. kInvalidArgument.
std::expected<std::vector<uint32_t>, Error> NumbersOf(const torture::Given& given, const char* name,
                                                      uint32_t least, uint32_t most);

// The same into *numbers, which stays as it is where the option is not given.
std::expected<void, Error> FillNumbers(const torture::Given& given, const char* name,
                                       uint32_t least, uint32_t most,
                                       std::vector<uint32_t>* numbers);

}  // namespace plov::bench
