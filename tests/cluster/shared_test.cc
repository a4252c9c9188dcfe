// A coordinator that several users share is, to each of them, one.
#include <gmock/gmock.h>

#include <memory>
#include <mutex>
#include <utility>

#include "cluster/shared_coordinator.h"
#include "tests/cluster/conformance.h"
#include "tests/cluster/one_at_a_time.h"
#include "tests/cluster/sim_coordinator.h"

namespace plov::test {
namespace {

using cluster::Coordinator;
using cluster::Lifetime;
using cluster::SharedCoordinator;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Owned {
  explicit Owned(std::unique_ptr<Coordinator> coordinator) : shared(std::move(coordinator)) {}

  SharedCoordinator shared;
  std::mutex mutex;
};

// A user of a coordinator that ends with it; another one is gone already.
class OnlyUser : private Owned, public OneAtATime {
 public:
  explicit OnlyUser(std::unique_ptr<Coordinator> coordinator)
      : Owned(std::move(coordinator)), OneAtATime(*shared.AddUser(), &mutex) {
    EXPECT_TRUE(shared.AddUser());
  }
};

Store Shared() {
  return {"shared", [ensemble = std::make_shared<SimEnsemble>(1)] {
            return std::make_unique<OnlyUser>(ensemble->Connect());
          }};
}

INSTANTIATE_TEST_SUITE_P(Shared, CoordinatorConformance, ::testing::Values(Shared()));

TEST(SharedCoordinator, EachUserHasTheHintsOfWhatItWatches) {
  SimEnsemble ensemble(1);
  SharedCoordinator shared(ensemble.Connect());
  const auto one = *shared.AddUser(), other = *shared.AddUser();
  one->Watch("shards");
  one->Watch("servers");
  other->Watch("shards");
  for (const char* path : {"shards/1", "servers/a1"}) {
    ASSERT_TRUE(one->Create(path, "1", Lifetime::kPersistent));
    ASSERT_TRUE(one->Get(path));
  }
  one->TakeHints();
  other->TakeHints();
  const auto writer = ensemble.Connect();
  for (const char* path : {"shards/1", "servers/a1"}) {
    ASSERT_TRUE(writer->Set(path, "2", writer->Get(path)->revision));
  }
  EXPECT_THAT(one->TakeHints(), ElementsAre("servers", "shards"));
  EXPECT_TRUE(AwaitHint(other.get(), "shards")) << "though somebody else took them";
  EXPECT_THAT(other->TakeHints(), IsEmpty());
}

}  // namespace
}  // namespace plov::test
