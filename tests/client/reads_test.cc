// READs that are given up while they are in flight.

#include "client/reads.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace plov {
namespace {

// A connection whose READs complete when the test says so, with bytes that the test chooses.
class HeldConnection final : public fabric::Connection {
 public:
  const fabric::Limits& limits() const override { return limits_; }
  size_t Read(std::span<const fabric::ReadOp> batch) override {
    ops.insert(ops.end(), batch.begin(), batch.end());
    return batch.size();
  }
  size_t Poll(std::span<fabric::Completion> completions) override {
    if (completed_.empty()) return 0;
    completions[0] = {completed_.back(), fabric::Status::kDone};
    completed_.pop_back();
    return 1;
  }
  bool Send(std::span<const std::byte>) override { return false; }
  std::optional<std::span<const std::byte>> Receive() override { return std::nullopt; }
  std::expected<std::span<std::byte>, Error> staging() override { return std::span<std::byte>(); }
  bool alive() const override { return true; }
  int fd() const override { return -1; }
  bool Arm() override { return true; }

  void Complete(size_t index, int byte) {
    std::memset(ops[index].to, byte, ops[index].bytes);
    completed_.push_back(ops[index].tag);
  }

  std::vector<fabric::ReadOp> ops;

 private:
  fabric::Limits limits_;
  std::vector<uint64_t> completed_;
};

struct ReadsTest : testing::Test {
  // The owners whose READs came, with the first byte of each.
  std::vector<std::pair<Reads::Owner, int>> Collect() {
    std::vector<std::pair<Reads::Owner, int>> came;
    while (reads.Collect(&connection, [&](Reads::Owner owner, fabric::Status, ReadBuffer* memory) {
      came.emplace_back(owner, std::to_integer<int>(BytesOf(memory, 1)[0]));
    })) {
    }
    return came;
  }

  HeldConnection connection;
  Reads reads{2};
};

using Came = std::vector<std::pair<Reads::Owner, int>>;

TEST_F(ReadsTest, AReadThatWasGivenUpIsNobodysAndKeepsItsMemory) {
  const auto first = reads.Add(0, 8, 1);
  reads.Post(&connection);
  reads.Abandon(*first);
  ASSERT_TRUE(reads.Add(8, 8, 2));
  reads.Post(&connection);
  EXPECT_NE(connection.ops[0].to, connection.ops[1].to);
  EXPECT_NE(connection.ops[0].tag, connection.ops[1].tag);
  EXPECT_FALSE(reads.Add(16, 8, 3)) << "both are in flight, wanted or not";
  connection.Complete(0, 0xaa);
  EXPECT_EQ(Collect(), Came());
  EXPECT_EQ(reads.late(), 1u);
  connection.Complete(1, 0xbb);
  EXPECT_EQ(Collect(), (Came{{2, 0xbb}}));
  EXPECT_EQ(reads.in_flight(), 0u);
}

TEST_F(ReadsTest, ATagIsNeverUsedAgain) {
  std::set<uint64_t> tags;
  for (int round = 0; round < 100; ++round) {
    const auto id = reads.Add(0, 8, 7);
    reads.Post(&connection);
    EXPECT_TRUE(tags.insert(connection.ops.back().tag).second);
    if (round % 3 == 0) reads.Abandon(*id);
    connection.Complete(connection.ops.size() - 1, round);
    EXPECT_EQ(Collect().size(), round % 3 == 0 ? 0u : 1u);
    reads.Abandon(*id);  // it has landed: nothing to give up
  }
}

TEST_F(ReadsTest, ABufferThatWasLentComesBackWithTheBytesOrNotAtAll) {
  ReadBuffer mine(100, 1);
  const uint64_t* memory = mine.data();
  ASSERT_TRUE(reads.Add(0, 800, 1, &mine));
  reads.Post(&connection);
  EXPECT_NE(mine.data(), memory);
  connection.Complete(0, 0xcc);
  reads.Collect(&connection,
                [&](Reads::Owner, fabric::Status, ReadBuffer* came) { mine.swap(*came); });
  EXPECT_EQ(mine.data(), memory);
  EXPECT_EQ(mine[99], 0xccccccccccccccccu);
  const auto id = reads.Add(0, 800, 1, &mine);
  reads.Post(&connection);
  reads.Abandon(*id);
  mine.assign(mine.size(), 0);
  connection.Complete(1, 0xdd);
  EXPECT_EQ(Collect(), Came());
  for (const uint64_t word : mine) EXPECT_EQ(word, 0u);
}

}  // namespace
}  // namespace plov
