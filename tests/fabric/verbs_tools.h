// What the tests of the verbs fabric share: an address of this machine that RDMA reaches, and the
// fabric as the conformance suite takes it.
#pragma once

#include <string>

#include "tests/fabric/conformance.h"

namespace plov::fabric::verbs {

// PLOV_RDMA_ADDRESS, else the first IPv4 address of an RDMA device; empty where there is none.
std::string RdmaAddress();

FabricUnderTest Verbs();

// A URI on that address with a port that this process has not used.
std::string FreshRdmaUri();

}  // namespace plov::fabric::verbs
