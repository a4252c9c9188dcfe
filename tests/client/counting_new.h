// Counts every allocation by operator new in this executable and the libraries it uses.
#pragma once

#include <cstdint>

namespace plov {

uint64_t AllocationCount();

}  // namespace plov
