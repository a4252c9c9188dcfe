// The coordinator of the tests does what real ones do, when it has no faults.
#include "tests/cluster/conformance.h"
#include "tests/cluster/sim_coordinator.h"

namespace plov::test {
namespace {

Store Sim() {
  return {"sim", [ensemble = std::make_shared<SimEnsemble>(1)] { return ensemble->Connect(); }};
}

INSTANTIATE_TEST_SUITE_P(Sim, CoordinatorConformance, ::testing::Values(Sim()));

TEST(SimCoordinator, EndedSessionTakesItsNodesAndIsTold) {
  SimEnsemble ensemble(1);
  SimCoordinator coordinator(&ensemble);
  coordinator.Watch("servers");
  ASSERT_TRUE(coordinator.Create("servers/a1", "", cluster::Lifetime::kEphemeral));
  coordinator.EndSession();
  EXPECT_EQ(coordinator.state().kind, cluster::State::Kind::kSessionEnded);
  EXPECT_TRUE(AwaitHint(&coordinator, "servers"));
  EXPECT_TRUE(coordinator.List("servers")->empty());
  EXPECT_EQ(coordinator.state().session, 2u);
}

TEST(SimCoordinator, HintsMayBeLost) {
  SimEnsemble ensemble(1);
  SimCoordinator coordinator(&ensemble);
  coordinator.Watch("a");
  ASSERT_TRUE(coordinator.Create("a", "1", cluster::Lifetime::kPersistent));
  ASSERT_TRUE(coordinator.Get("a"));
  ensemble.faults.lost_hint = 1000;
  ASSERT_TRUE(coordinator.Set("a", "2", 0));
  EXPECT_TRUE(coordinator.TakeHints().empty());
}

TEST(SimCoordinator, LateWriteHappensLaterAtItsRevisionAlone) {
  SimEnsemble ensemble(1);
  SimCoordinator coordinator(&ensemble);
  for (const auto* path : {"a", "b"}) {
    ASSERT_TRUE(coordinator.Create(path, "1", cluster::Lifetime::kPersistent));
  }
  ensemble.faults.lost_late = 1000;
  EXPECT_EQ(coordinator.Set("a", "late", 0).error().code, Code::kUnknown);
  EXPECT_EQ(coordinator.Set("b", "late", 0).error().code, Code::kUnknown);
  ensemble.faults = {};
  EXPECT_TRUE(coordinator.Set("b", "2", 0));
  ensemble.DoLate();
  EXPECT_EQ(coordinator.Get("a")->data, "late");
  EXPECT_EQ(coordinator.Get("b")->data, "2");
}

}  // namespace
}  // namespace plov::test
