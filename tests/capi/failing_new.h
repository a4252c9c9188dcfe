// operator new of this test program, libplov's included, that fails when it is told to.
#pragma once

#include <cstdint>

namespace plov::test {

// After so many more, none succeeds.
void FailAllocationsAfter(uint64_t count);
// How many have failed since.
uint64_t FailedAllocations();
void AllowAllocations();

}  // namespace plov::test
