// The region of a cluster's server: golden bytes, oaths that nobody else has, and maps that are refused.
#include "verify/cluster_map.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/verify/tears.h"
#include "verify/seal.h"

namespace plov::verify {
namespace {

constexpr uint64_t kCluster = 0x1122334455667788;
constexpr uint64_t kLife = 0x99aabbccddeeff01;

ClusterMap Small() {
  return {.version = 7,
          .hash_seed = 0x0123456789abcdef,
          .lease_us = 250'000,
          .rate_error_ppm = 100'000,
          .servers = {{"a1", {"shm:a", "rdma://h:1"}}, {"b", {"shm:bb"}}},
          .shards = {{.epoch = 3,
                      .slot_first = 0,
                      .slot_last = 9999,
                      .number = 1,
                      .primary = 1,
                      .in_sync = {{0xabc, 1}, {0xdef, 0}}},
                     {.epoch = 9,
                      .slot_first = 10000,
                      .slot_last = kSlots - 1,
                      .number = 0,
                      .primary = 0,
                      .in_sync = {{0x55, 0}}}}};
}

std::vector<std::byte> Bytes(const ClusterMap& map) { return EncodeMap(map, kCluster, kLife); }
bool IsWhole(std::span<const std::byte> bytes) {
  return DecodeMap(bytes, kCluster, kLife).has_value();
}

// Under a good seal, as a server would write it that means harm or is broken.
template <typename Change>
bool TakesSealed(Change change) {
  ClusterMap map = Small();
  change(&map);
  return IsWhole(Bytes(map));
}

TEST(ClusterMap, Golden) {
  EXPECT_EQ(ToHex(Bytes(Small())),
            "88723dc38800bd56 0700000000000000 c000000002000000 02000000a0860100 "
            "efcdab8967452301 90d0030000000000 0000000000000000 0000000000000000 "
            "0200020061310500 73686d3a610a0072 646d613a2f2f683a 3100000000000000 "
            "0100010062060073 686d3a6262000000 "
            "0300000000000000 00000f2702010100 bc0a000000000000 0100000000000000 "
            "ef0d000000000000 0000000000000000 "
            "0900000000000000 1027ff3f01000000 5500000000000000 0000000000000000");
}

TEST(ClusterMap, SaysWhatItWasGiven) {
  EXPECT_EQ(DecodeMap(Bytes(Small()), kCluster, kLife), Small());
  const auto bytes = Bytes(Small());
  const auto head = std::span(bytes).first<kMapHeadBytes>();
  EXPECT_EQ(GuessMapBytes(head), bytes.size());
  EXPECT_EQ(GuessMapVersion(head), 7);
}

TEST(ClusterMap, IsOfOneClusterAndLife) {
  EXPECT_FALSE(DecodeMap(Bytes(Small()), kCluster + 1, kLife));
  EXPECT_FALSE(DecodeMap(Bytes(Small()), kCluster, kLife + 1));
}

TEST(ClusterMap, ATornOneIsRefused) {
  const Image before = Bytes(Small());
  ClusterMap later = Small();
  later.version = 9;
  later.hash_seed = 5;
  later.lease_us = 6;
  for (auto& shard : later.shards) shard.epoch += 5;
  later.servers = {{"a2", {"shm:A", "rdma://H:2"}}, {"c", {"shm:cc"}}};
  later.shards[1].in_sync[0] = {0x99, 1};
  EXPECT_TRUE(RejectsEverySplice(before, Bytes(later), IsWhole));
  EXPECT_TRUE(RejectsEveryByteChange(before, IsWhole, {.every_value = false}));
  EXPECT_TRUE(RejectsEveryOtherLength(before, IsWhole));
}

TEST(ClusterMap, ZerosAreNone) {
  const Image zeros(kMapHeadBytes);
  EXPECT_EQ(GuessMapBytes(std::span(zeros).first<kMapHeadBytes>()), 0);
  EXPECT_FALSE(IsWhole(zeros));
}

TEST(ClusterMap, WhatMakesNoSenseIsRefusedUnderAGoodSeal) {
  ASSERT_TRUE(TakesSealed([](ClusterMap*) {}));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->version = 0; }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[0].epoch = 0; }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[0].primary = 2; }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[1].in_sync.clear(); }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[0].in_sync[0].incarnation = 0; }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[0].in_sync[0].server = 2; }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[0].number = 0; })) << "twice";
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[0].number = kSlots; }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[0].slot_last = 9998; })) << "a gap";
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[1].slot_first = 9999; })) << "twice";
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards[1].slot_last = kSlots; }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards.pop_back(); }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->shards.clear(); }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->servers[1].uris.clear(); }));
  EXPECT_FALSE(TakesSealed([](ClusterMap* map) { map->servers[1].id.clear(); }));
}

TEST(ClusterMap, TheLargestFitsItsPlace) {
  ClusterMap map = Small();
  map.servers.assign(1000, {std::string(32, 'i'), {std::string(64, 'u'), std::string(64, 'v')}});
  map.shards.clear();
  for (uint16_t slot = 0; slot < kSlots; ++slot) {
    map.shards.push_back({.epoch = UINT64_MAX,
                          .slot_first = slot,
                          .slot_last = slot,
                          .number = slot,
                          .in_sync = std::vector<ClusterMap::Member>(16, {slot + 1ULL, 999})});
  }
  const auto bytes = Bytes(map);
  EXPECT_LE(bytes.size(), kMapBytesMax);
  EXPECT_EQ(DecodeMap(bytes, kCluster, kLife), map);
}

TEST(Oath, IsOfOneConfigurationAlone) {
  std::set<uint64_t> oaths;
  size_t count = 0;
  for (const uint64_t cluster : {kCluster, kCluster + 1}) {
    for (uint32_t shard = 0; shard < 4; ++shard) {
      for (uint64_t epoch = 1; epoch < 100; ++epoch) {
        for (const uint64_t incarnation : {uint64_t{1}, uint64_t{2}, epoch << 32}) {
          const uint64_t oath = Oath(cluster, shard, epoch, incarnation);
          EXPECT_NE(oath, 0);
          oaths.insert(oath);
          ++count;
        }
      }
    }
  }
  EXPECT_EQ(oaths.size(), count);
  EXPECT_EQ(Oath(kCluster, 1, 2, 3), 8000354576793594756U) << "all programs of a cluster";
}

TEST(ClusterHead, AnyChangeIsRefused) {
  const ClusterHead head = MakeClusterHead(kCluster, kLife);
  const Image image = ImageOf(&head, sizeof(head));
  EXPECT_EQ(ToHex(image),
            "b63a7a71d5882ed7 706c6f76636c0001 0100000000100000 8877665544332211 "
            "01ffeeddccbbaa99 0010020100000000");
  EXPECT_TRUE(RejectsEveryByteChange(image, [](std::span<const std::byte> bytes) {
    ClusterHead copy;
    std::memcpy(&copy, bytes.data(), sizeof(copy));
    return CheckClusterHead(copy).has_value();
  }));
}

TEST(ClusterHead, SaysWhatIsWrong) {
  ClusterHead head{};
  const auto message = [&head] { return CheckClusterHead(head).error().message; };
  EXPECT_EQ(message(), "the server is not in a cluster");
  head = MakeClusterHead(kCluster, kLife);
  EXPECT_TRUE(CheckClusterHead(head));
  head.format = 2;
  EXPECT_NE(message().find("format version 2, this client reads 1"), std::string::npos);
  head.format = kClusterFormat;
  head.life = 0;
  EXPECT_NE(message().find("damaged"), std::string::npos);
}

}  // namespace
}  // namespace plov::verify
