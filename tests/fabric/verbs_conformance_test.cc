// The verbs fabric passes the conformance suite, where there is an RDMA device.

#include "tests/fabric/verbs_tools.h"

namespace plov::fabric {

INSTANTIATE_TEST_SUITE_P(Verbs, FabricConformance, testing::Values(verbs::Verbs()),
                         [](const auto& made) { return made.param.name; });

}  // namespace plov::fabric
