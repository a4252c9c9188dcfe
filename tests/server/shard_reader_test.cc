// A shard and connections that only READ: nothing of theirs is remembered.

#include "tests/server/shard_world.h"

namespace plov::server {
namespace {

TEST(Shard, ConnectionsThatOnlyReadAreNobodysAndEndNobody) {
  ShardWorld world;
  const auto client = world.Connect(0);
  world.port.reads_only = true;
  const auto one = world.Connect(0);
  const auto two = world.Connect(0);
  EXPECT_TRUE(world.port.closed.empty());
  EXPECT_TRUE(world.StatsText(client).contains("\nclients 3\n"));
  EXPECT_TRUE(world.StatsText(client).contains("\nsessions 1\n"));
  world.HangUp(one);
  EXPECT_EQ(world.AskOne(client, PutOf("key", "v", 1)).status, Code::kOk);
  world.HangUp(two);
  EXPECT_TRUE(world.StatsText(client).contains("\nclients 1\n"));
  EXPECT_TRUE(world.StatsText(client).contains("\nsessions 1\n"));
}

}  // namespace
}  // namespace plov::server
