// What readers of a cluster's server see while its map and oaths change.
#include "server/cluster_region.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "verify/words.h"

namespace plov::server {
namespace {

using verify::ClusterMap;

constexpr uint64_t kCluster = 11;
constexpr uint64_t kLife = 22;

// One whose parts all say the same number, and which is of another length for another number.
ClusterMap MapOf(uint64_t number) {
  ClusterMap map{.hash_seed = number, .lease_us = number};
  for (uint64_t i = 0; i <= number % 5; ++i) {
    map.servers.push_back({std::to_string(number), {"shm:" + std::to_string(number)}});
  }
  map.shards = {{.epoch = number, .slot_last = verify::kSlots - 1, .in_sync = {{number, 0}}}};
  return map;
}

class ClusterRegionTest : public ::testing::Test {
 protected:
  // As a READ does: word by word.
  bool Read(uint64_t offset, std::span<std::byte> to) const {
    const auto memory = region_->region().memory();
    if (!verify::WordsInside(offset, to.size(), memory.size())) return false;
    verify::CopyFromShared(to.data(), memory.data() + offset, to.size());
    return true;
  }
  std::optional<ClusterMap> ReadMap() const {
    return verify::ReadMap([this](auto offset, auto to) { return Read(offset, to); }, kCluster,
                           kLife);
  }
  uint64_t OathOf(uint32_t shard) const {
    uint64_t oath = 0;
    Read(verify::OathOffset(shard), std::as_writable_bytes(std::span(&oath, 1)));
    return oath;
  }

  std::unique_ptr<ClusterRegion> region_ = *ClusterRegion::Create(kCluster, kLife);
};

TEST_F(ClusterRegionTest, HasAHeadAndNoMapAtFirst) {
  verify::ClusterHead head;
  ASSERT_TRUE(Read(0, std::as_writable_bytes(std::span(&head, 1))));
  EXPECT_TRUE(verify::CheckClusterHead(head));
  EXPECT_EQ(head.cluster_id, kCluster);
  EXPECT_EQ(head.life, kLife);
  EXPECT_FALSE(ReadMap());
}

TEST_F(ClusterRegionTest, TheNewestMapIsSeen) {
  for (uint64_t number = 1; number < 10; ++number) {
    ASSERT_TRUE(region_->Publish(MapOf(number)));
    ClusterMap expected = MapOf(number);
    expected.version = number;
    EXPECT_EQ(ReadMap(), expected);
  }
}

// A server that is killed while it writes a map leaves the former one.
TEST_F(ClusterRegionTest, WhileAMapIsWrittenTheFormerOneIsSeen) {
  ASSERT_TRUE(region_->Publish(MapOf(1)));
  ASSERT_TRUE(region_->Publish(MapOf(2)));
  ClusterMap former = MapOf(2);
  former.version = 2;
  ClusterMap later = MapOf(3);
  later.version = 3;
  const auto bytes = verify::EncodeMap(later, kCluster, kLife);
  uint64_t* const place = verify::WordsAt(region_->region().data(), verify::MapOffset(3));
  for (size_t at = 0; at < bytes.size(); at += verify::kWordBytes) {
    const auto seen = ReadMap();
    ASSERT_TRUE(seen) << at;
    if (seen == later) break;  // but for zeros that are there already
    EXPECT_EQ(*seen, former) << at;
    verify::CopyToShared(place, at, bytes.data() + at, verify::kWordBytes);
  }
  EXPECT_EQ(ReadMap(), later);
}

TEST_F(ClusterRegionTest, OneThatIsTooLargeIsRefusedAndTheFormerStays) {
  ASSERT_TRUE(region_->Publish(MapOf(1)));
  ClusterMap map = MapOf(2);
  map.servers[0].uris.assign(200, std::string(60'000, 'u'));
  const auto published = region_->Publish(map);
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, Code::kTooLarge);
  EXPECT_EQ(ReadMap()->hash_seed, 1);
}

// Every map that is seen was published, is no older than one seen before, and is of one piece.
TEST_F(ClusterRegionTest, ReadersBesideAWriterSeeWholeMaps) {
  constexpr uint64_t kLast = 20'000;
  ASSERT_TRUE(region_->Publish(MapOf(1)));
  std::jthread writer([this] {
    for (uint64_t number = 2; number <= kLast; ++number) {
      if (!region_->Publish(MapOf(number))) return;
    }
  });
  uint64_t seen = 0;
  while (seen < kLast) {
    const auto map = ReadMap();
    if (!map) continue;
    ASSERT_GE(map->version, seen);
    seen = map->version;
    ClusterMap expected = MapOf(seen);
    expected.version = seen;
    ASSERT_EQ(*map, expected);
  }
}

TEST_F(ClusterRegionTest, AnOathIsOfItsShardAndIsCleared) {
  EXPECT_EQ(OathOf(3), 0);
  region_->ShowOath(3, 7, 99);
  EXPECT_EQ(OathOf(3), verify::Oath(kCluster, 3, 7, 99));
  EXPECT_EQ(OathOf(2), 0);
  EXPECT_EQ(OathOf(4), 0);
  region_->ShowOath(verify::kSlots - 1, 1, 1);
  region_->ClearOath(3);
  EXPECT_EQ(OathOf(3), 0);
  EXPECT_NE(OathOf(verify::kSlots - 1), 0);
}

}  // namespace
}  // namespace plov::server
