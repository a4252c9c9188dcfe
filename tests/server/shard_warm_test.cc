// A shard on the memory of a former one: what its clients sent then and send again.
#include "tests/server/shard_world.h"
#include "tests/support/folder.h"

namespace plov::server {
namespace {

class ShardWarm : public ::testing::Test {
 protected:
  StoreOptions Options() const {
    StoreOptions options = StoreWorld::SmallOptions();
    options.warm_path = folder_.path() + "/memory";
    return options;
  }

  test::TemporaryFolder folder_{test::TemporaryFolder::Where::kTmpfs};
};

TEST_F(ShardWarm, RetryOfAFormerLifesWriteIsUnknownHoweverOftenTheClientReturns) {
  {
    ShardWorld world(Options());
    const auto client = world.Connect(1);
    ASSERT_EQ(world.AskOne(client, PutOf("key", "v1", 1)).status, Code::kOk);
  }
  ShardWorld world(Options());
  ASSERT_EQ(world.AskOne(world.Connect(2), PutOf("key", "v2", 1)).status, Code::kOk);
  for (int i = 0; i < 3; ++i) {
    const auto client = world.Connect(1);
    EXPECT_EQ(world.AskOne(client, RetryOf(PutOf("key", "v1", 1))).status, Code::kUnknown);
    EXPECT_EQ(world.AskOne(client, RetryOf(RendezvousOf("key", 40'000, 2))).status, Code::kUnknown);
    EXPECT_EQ(world.AskOne(client, GetOf("key")).value, "v2");
    world.HangUp(client);
  }
  const auto client = world.Connect(1);
  EXPECT_EQ(world.AskOne(client, PutOf("key", "v3", 3)).status, Code::kOk);
  EXPECT_EQ(world.AskOne(client, RetryOf(PutOf("key", "v3", 3))).status, Code::kOk);
}

TEST_F(ShardWarm, VersionsAreTheFormerOnes) {
  uint64_t version = 0;
  {
    ShardWorld world(Options());
    version = world.AskOne(world.Connect(1), PutOf("key", std::string(300, 'v'), 1)).version;
  }
  ShardWorld world(Options());
  const auto client = world.Connect(2);
  EXPECT_EQ(world.AskOne(client, GetOf("key")).version, version);
  auto put = PutOf("key", "v", 1);
  put.conditional = true;
  put.expected_version = version;
  const Replied reply = world.AskOne(client, put);
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_GT(reply.version, version);
}

}  // namespace
}  // namespace plov::server
