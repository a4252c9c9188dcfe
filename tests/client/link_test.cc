// What a client makes of the superblocks it may meet.

#include "client/link.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "verify/superblock.h"
#include "verify/words.h"

namespace plov {
namespace {

using verify::Superblock;

// A connection to memory that a test fills; READs only.
class FakeConnection final : public fabric::Connection {
 public:
  explicit FakeConnection(const Superblock& superblock) : page_(superblock) {
    limits_.region_bytes = 1 << 20;
    limits_.read_depth = 2;
  }

  const fabric::Limits& limits() const override { return limits_; }
  size_t Read(std::span<const fabric::ReadOp> batch) override {
    std::memcpy(batch[0].to, &page_, batch[0].bytes);
    pending_ = batch[0].tag;
    return 1;
  }
  size_t Poll(std::span<fabric::Completion> completions) override {
    if (!pending_) return 0;
    completions[0] = {*std::exchange(pending_, std::nullopt), status};
    return 1;
  }
  bool Send(std::span<const std::byte>) override { return false; }
  std::optional<std::span<const std::byte>> Receive() override { return std::nullopt; }
  std::expected<std::span<std::byte>, Error> staging() override { return std::span<std::byte>(); }
  bool alive() const override { return status != fabric::Status::kPeerGone; }
  int fd() const override { return -1; }
  bool Arm() override { return true; }

  fabric::Status status = fabric::Status::kDone;

 private:
  Superblock page_;
  fabric::Limits limits_;
  std::optional<uint64_t> pending_;
};

Superblock GoodSuperblock() {
  Superblock superblock{};
  superblock.version = 1;
  superblock.incarnation = 7;
  superblock.hash_seed = 8;
  superblock.region_bytes = 1 << 20;
  superblock.shard = 0;
  superblock.shard_count = 1;
  superblock.tables[0] = {1, 4096, 64, 64, 0};
  verify::SealSuperblock(&superblock);
  return superblock;
}

std::expected<cuckoo::ShardView, Error> Read(const Superblock& superblock, uint32_t shard = 0,
                                             fabric::Status status = fabric::Status::kDone) {
  auto connection = std::make_unique<FakeConnection>(superblock);
  connection->status = status;
  Link link(std::move(connection), shard, 1);
  const auto read = link.RefreshNow(fabric::Clock::now() + std::chrono::milliseconds(20));
  if (!read) return std::unexpected(read.error());
  return link.view();
}

TEST(Link, ReadsAGoodSuperblock) {
  const auto view = Read(GoodSuperblock());
  ASSERT_TRUE(view);
  EXPECT_EQ(view->incarnation, 7);
  EXPECT_EQ(view->tables[0].bucket_count, 64);
}

TEST(Link, RefusesAnotherFormatVersionByName) {
  Superblock superblock = GoodSuperblock();
  superblock.format = verify::kFormatVersion + 1;
  const auto view = Read(superblock);
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, Code::kProtocol);
  EXPECT_NE(view.error().message.find("format version " + std::to_string(superblock.format)),
            std::string::npos);
}

TEST(Link, RefusesWhatIsNoSuperblockOrAnotherShards) {
  EXPECT_EQ(Read(GoodSuperblock(), 1).error().code, Code::kProtocol);
  EXPECT_EQ(Read(Superblock{}).error().code, Code::kTimeout) << "never written: torn to the end";
  Superblock torn = GoodSuperblock();
  torn.incarnation ^= 1;
  const Error error = Read(torn).error();
  EXPECT_EQ(error.code, Code::kTimeout);
  EXPECT_NE(error.message.find("superblock was never whole"), std::string::npos);
}

// What the others bring was looked up by the superblock before (R5).
TEST(Link, ReadsASuperblockAnewOnceNoOtherReadIsInFlight) {
  Link link(std::make_unique<FakeConnection>(GoodSuperblock()), 0, 1);
  ASSERT_TRUE(link.reads().Add(0, 8, 5) && link.PostReads());
  link.MarkStale();
  EXPECT_FALSE(link.Refresh());
  uint64_t read = 0;
  const auto on_read = [&](Reads::Owner owner, fabric::Status, ReadBuffer*) { read = owner; };
  ASSERT_TRUE(link.CollectReads(on_read, [](const Link::Refreshed&) {}));
  EXPECT_EQ(read, 5);
  EXPECT_TRUE(link.Refresh());
}

TEST(Link, ADeadPeerIsUnavailable) {
  const auto view = Read(GoodSuperblock(), 0, fabric::Status::kPeerGone);
  EXPECT_EQ(view.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace plov
