// The shared-memory fabric passes the conformance suite.

#include "tests/fabric/shm_tools.h"

namespace plov::fabric {

INSTANTIATE_TEST_SUITE_P(Shm, FabricConformance, testing::Values(shm::Shm()),
                         [](const auto& made) { return made.param.name; });

}  // namespace plov::fabric
