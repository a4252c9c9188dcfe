// operator new of this test program, libplov's included, that fails when it is told to.
#pragma once

namespace plov::test {

void FailAllocations(bool fail);

}  // namespace plov::test
