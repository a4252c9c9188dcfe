// Commands of operators: from a shard to whoever answers them, while it serves others.

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/server/shard_world.h"

namespace plov::server {
namespace {

verify::Request CommandOf(std::string_view name, std::string_view argument = {}) {
  auto request = RequestOf(verify::Operation::kAdminister, name, argument);
  request.request_id = 1;
  return request;
}

struct CommandWorld : ShardWorld {
  std::unique_ptr<CommandQueue> queue = CommandQueue::Create([this] { ++wakes; }).value();
  int wakes = 0;

  CommandWorld() { shard.CommandTo(queue.get()); }
};

TEST(ShardCommand, IsPassedOnAndAnsweredLater) {
  CommandWorld world;
  const auto operator_client = world.Connect(7);
  EXPECT_TRUE(world.Ask(operator_client, {CommandOf("set", "a b")}).empty());
  const auto commands = world.queue->Take();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(commands[0]->name, "set");
  EXPECT_EQ(commands[0]->argument, "a b");
  EXPECT_EQ(world.wakes, 0);
  world.queue->Answer(commands[0].get(), "a b\n");
  EXPECT_EQ(world.wakes, 1);
  world.Settle();
  const auto replies = world.Collect(operator_client);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, Code::kOk);
  EXPECT_EQ(replies[0].value, "a b\n");
}

TEST(ShardCommand, OthersAreServedMeanwhile) {
  CommandWorld world;
  const auto operator_client = world.Connect(7);
  const auto client = world.Connect(8);
  world.Ask(operator_client, {CommandOf("config")});
  EXPECT_EQ(world.AskOne(client, PutOf("k", "v", 1)).status, Code::kOk);
  EXPECT_FALSE(world.shard.Turn()) << "it can sleep";
}

TEST(ShardCommand, ARefusalHasItsWords) {
  CommandWorld world;
  const auto client = world.Connect(7);
  world.Ask(client, {CommandOf("set", "nonsense")});
  world.queue->Answer(world.queue->Take()[0].get(), Fail(Code::kInvalidArgument, "why"));
  world.Settle();
  const auto replies = world.Collect(client);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].status, Code::kInvalidArgument);
  EXPECT_EQ(replies[0].value, "why");
}

TEST(ShardCommand, AnAnswerThatIsTooLongIsCut) {
  CommandWorld world;
  const auto client = world.Connect(7);
  world.Ask(client, {CommandOf("config")});
  world.queue->Answer(world.queue->Take()[0].get(), std::string(100'000, 'x'));
  world.Settle();
  const auto replies = world.Collect(client);
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_GT(replies[0].value.size(), 30'000u);
}

TEST(ShardCommand, WhoGoesAwayIsNotAnswered) {
  CommandWorld world;
  const auto client = world.Connect(7);
  world.Ask(client, {CommandOf("config")});
  world.HangUp(client);
  world.queue->Answer(world.queue->Take()[0].get(), "late");
  world.Settle();
  EXPECT_TRUE(world.port.sent.empty());
}

TEST(ShardCommand, WhoMayOnlyReadIsRefused) {
  CommandWorld world;
  world.port.may_write = false;
  const auto client = world.Connect(7);
  EXPECT_EQ(world.AskOne(client, CommandOf("config")).status, Code::kPermission);
  EXPECT_TRUE(world.queue->Take().empty());
}

// Everybody may write; only root and the server's user change the server, and whom no kernel knows.
TEST(ShardCommand, WhoAsksIsToldToWhoeverAnswers) {
  fabric::Admission admission({});
  CommandWorld world;
  world.shard.Show(&admission);
  uint64_t id = 7;
  for (const auto& [user, may_change] : {std::pair<std::optional<uid_t>, bool>{0, true},
                                         {::geteuid(), true},
                                         {12'345, false},
                                         {std::nullopt, true}}) {
    world.port.user = user;
    world.Ask(world.Connect(++id), {CommandOf("set", "a b")});
    const auto commands = world.queue->Take();
    ASSERT_EQ(commands.size(), 1u);
    EXPECT_EQ(commands[0]->may_change, may_change) << user.value_or(1);
  }
}

}  // namespace
}  // namespace plov::server
