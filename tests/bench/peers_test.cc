// Each peer with a few items: what it was given is what it gives, by every way that it knows.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "bench/peers/peer.h"
#include "bench/peers/plov.h"
#include "program/own_server.h"
#include "program/scratch.h"

namespace plov::bench {
namespace {

constexpr ItemShape kShape{.key_bytes = 16, .value_bytes_least = 64, .value_bytes_most = 64};
constexpr uint64_t kItems = 1000;

TEST(Work, OrderHasEveryItemOnceAndNotInTheOrderOfStoring) {
  const Work work(kItems, kShape);
  EXPECT_EQ(std::set(work.order().begin(), work.order().end()).size(), kItems);
  EXPECT_FALSE(std::ranges::is_sorted(work.order()));
  std::string key;
  for (uint64_t place = 0; place < kItems; ++place) {
    work.items().FillKey(work.order()[place], &key);
    ASSERT_EQ(work.keys()[place], key);
  }
}

TEST(Work, ValueOfAnotherItemOrSizeIsWrong) {
  const Work work(kItems, kShape);
  const std::string_view key = work.keys()[0];
  std::string value;
  work.items().FillValue(work.order()[0], key, &value);
  EXPECT_TRUE(work.IsRight(key, value));
  EXPECT_FALSE(work.IsRight(work.keys()[1], value));
  EXPECT_FALSE(work.IsRight(key, std::string_view(value).substr(1)));
  EXPECT_FALSE(work.IsRight(key, value + "v"));
  EXPECT_FALSE(work.IsRight(key, ""));
  value.back() ^= 1;
  EXPECT_FALSE(work.IsRight(key, value));
}

class PeerTest : public testing::TestWithParam<size_t> {
 protected:
  PeerTest() : work_(kItems, kShape) {
    place_.folder = program::MakeFolder(program::Place::kDisk, "plov-test").value();
    place_.memory_folder = program::MakeFolder(program::Place::kMemory, "plov-test").value();
    server_.emplace(program::OwnServerOptions{.plovd = PLOVD_PATH,
                                              .folder = place_.folder,
                                              .memory_bytes = uint64_t{64} << 20,
                                              .max_value_bytes = 4096,
                                              .bucket_bytes = 64});
    place_.plov = server_->uri();
  }
  void SetUp() override {
    const auto started = server_->Start(program::Life::kFirst);
    ASSERT_TRUE(started) << started.error().message;
    const auto plov = Plov::Connect(work_, place_.plov);
    ASSERT_TRUE(plov) << plov.error().message;
    ASSERT_TRUE((*plov)->Fill());
  }
  ~PeerTest() override {
    program::RemoveFolder(place_.folder);
    program::RemoveFolder(place_.memory_folder);
  }

  const PeerKind& kind() const { return PeerKinds()[GetParam()]; }

  Work work_;
  PeerPlace place_;
  std::optional<program::OwnServer> server_;
};

TEST_P(PeerTest, GivesWhatItWasGiven) {
  const auto peer = kind().Start(work_, place_);
  if (!peer && peer.error().code == Code::kUnavailable) GTEST_SKIP() << peer.error().message;
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_TRUE((*peer)->Can(Way::kGet) || (*peer)->Can(Way::kGetMany));
  for (const Way way : {Way::kGet, Way::kGetMany, Way::kPut, Way::kPutMany, Way::kGet}) {
    if (!(*peer)->Can(way)) continue;
    const auto did = (*peer)->Do(way, {0, kItems});
    EXPECT_TRUE(did) << NameOf(way) << ": " << did.error().message;
    const auto odd = (*peer)->Do(way, {3, 37});  // no whole windows
    EXPECT_TRUE(odd) << NameOf(way) << ": " << odd.error().message;
    const auto rate = (*peer)->Rate(way, std::chrono::microseconds(1));
    ASSERT_TRUE(rate) << rate.error().message;
    EXPECT_GT(*rate, 0);
  }
}

// What would be measured of a peer that has other items is an error and no rate.
TEST_P(PeerTest, WhatIsMissingIsNoticed) {
  if (kind().name == "redis-benchmark" || kind().name == "memory") {
    GTEST_SKIP() << "it does not look for the keys of the work";
  }
  Work fewer(kItems, kShape);
  const auto peer = kind().Start(fewer, place_);
  if (!peer && peer.error().code == Code::kUnavailable) GTEST_SKIP() << peer.error().message;
  ASSERT_TRUE(peer) << peer.error().message;
  fewer = Work(2 * kItems, kShape);
  for (const Way way : {Way::kGet, Way::kGetMany}) {
    if (!(*peer)->Can(way)) continue;
    EXPECT_FALSE((*peer)->Do(way, {0, 2 * kItems})) << NameOf(way);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, PeerTest, testing::Range<size_t>(0, PeerKinds().size()),
                         [](const auto& tested) {
                           std::string name(PeerKinds()[tested.param].name);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace plov::bench
