// Workloads: presets, clusters and replays as they are read.

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>
#include <string>

#include "bench/load/presets.h"
#include "bench/load/source.h"

namespace plov::bench {
namespace {

Workload Preset(const std::string& name) {
  auto workload = FindPreset(name);
  EXPECT_TRUE(workload) << name << ": " << workload.error().message;
  return workload.value_or(Workload());
}

TEST(Presets, MixesAreThoseOfYcsbAndHerd) {
  EXPECT_DOUBLE_EQ(Preset("ycsb-a").mix.part(Kind::kPut), 0.5);
  EXPECT_DOUBLE_EQ(Preset("ycsb-b").mix.part(Kind::kGet), 0.95);
  EXPECT_DOUBLE_EQ(Preset("ycsb-c").mix.part(Kind::kGet), 1);
  EXPECT_NEAR(Preset("ycsb-d").mix.part(Kind::kInsert), 0.05, 1e-9);
  EXPECT_EQ(Preset("ycsb-d").popularity, Popularity::kLatest);
  EXPECT_DOUBLE_EQ(Preset("ycsb-f").mix.part(Kind::kModify), 0.5);
  EXPECT_EQ(Preset("ycsb-a").shape.value_bytes_most, 1000u);
  EXPECT_EQ(Preset("ycsb-a").exponent, 0.99);
  EXPECT_EQ(Preset("herd-50").shape.key_bytes, 16u);
  EXPECT_EQ(Preset("herd-95").shape.value_bytes_least, 32u);
  EXPECT_EQ(Preset("herd-95").popularity, Popularity::kUniform);
}

TEST(Presets, ScansAreRefusedWithTheReason) {
  const auto workload = FindPreset("ycsb-e");
  ASSERT_FALSE(workload);
  EXPECT_NE(workload.error().message.find("hash table has no order"), std::string::npos);
}

TEST(Presets, UnknownNamesAreAnsweredWithTheKnownOnes) {
  for (const char* name : {"", "ycsb", "ycsb-g", "twitter", "Ycsb-a"}) {
    const auto workload = FindPreset(name);
    ASSERT_FALSE(workload) << name;
    EXPECT_NE(workload.error().message.find("herd-95"), std::string::npos);
  }
  for (const char* name : {"twitter:", "twitter:0", "twitter:5", "twitter:55", "twitter:1x"}) {
    const auto workload = FindPreset(name);
    ASSERT_FALSE(workload) << name;
    EXPECT_NE(workload.error().message.find("without 5"), std::string::npos);
  }
}

TEST(Clusters, AllOfTheTableAreSane) {
  const auto clusters = ParseClusters(ClustersCsv());
  ASSERT_TRUE(clusters) << clusters.error().message;
  EXPECT_EQ(clusters->size(), 53u);
  std::set<uint32_t> numbers;
  for (const Cluster& cluster : *clusters) {
    numbers.insert(cluster.number);
    EXPECT_GE(cluster.key_bytes, Items::kKeyBytesMin);
    EXPECT_LE(cluster.key_bytes, Replay::kKeyBytesMax);
    EXPECT_GE(cluster.value_bytes, 1u);
    EXPECT_LE(cluster.value_bytes, Replay::kValueBytesMax);
    EXPECT_LT(cluster.exponent.value_or(0), 3);
    const Workload workload = Preset("twitter:" + std::to_string(cluster.number));
    EXPECT_NEAR(workload.mix.total(), 1, 0.04) << workload.name;
    EXPECT_GT(workload.items, 0u);
    EXPECT_EQ(workload.popularity,
              cluster.exponent.value_or(0) > 0 ? Popularity::kZipf : Popularity::kUniform);
  }
  EXPECT_EQ(numbers.size(), 53u);
  EXPECT_FALSE(numbers.contains(5));
}

TEST(Clusters, OperationsAreThoseOfThePaper) {
  const Workload workload = Preset("twitter:23");  // set, get, incr, delete
  EXPECT_DOUBLE_EQ(workload.mix[Kind::kSwap], 0.30);
  EXPECT_DOUBLE_EQ(workload.mix[Kind::kDelete], 0.02);
  EXPECT_DOUBLE_EQ(workload.mix[Kind::kPut], 0.31);
  const Workload gets = Preset("twitter:11");
  EXPECT_DOUBLE_EQ(gets.mix[Kind::kGet], 0.97);
  EXPECT_DOUBLE_EQ(gets.mix[Kind::kAdd], 0.02);
  EXPECT_DOUBLE_EQ(gets.mix[Kind::kSwap], 0.01);
  EXPECT_EQ(Preset("twitter:37").shape.value_bytes_least, 20134u);
}

TEST(Clusters, LinesThatDescribeNoneAreNamed) {
  for (const char* line :
       {"1,2,80", "x,2,80,267,1,1,1,1,\"a:1, b:1\",0,\"get:1\",1.0,0",
        "1,2,80,267,1,1,1,1,a,0,get,1.0,0", "1,2,80,267,1,1,1,1,a,0,get:1,x,0"}) {
    const auto clusters = ParseClusters(std::string("head\n") + line + "\n");
    ASSERT_FALSE(clusters) << line;
    EXPECT_NE(clusters.error().message.find("line 2"), std::string::npos);
  }
}

std::expected<Replay, Error> Parse(const std::string& text) {
  std::istringstream lines(text);
  return Replay::Parse(&lines, "FILE");
}

TEST(Replay, BothFormsAreRead) {
  const auto replay = Parse(
      "# a comment\n\nget user,1\nput b 17\r\n"
      "0,k 1,3,99,7,set,60\n1,k,2,1,50,7,incr,0\n2,gone,4,0,7,gets,0\n");
  ASSERT_TRUE(replay) << replay.error().message;
  ASSERT_EQ(replay->size(), 5u);
  EXPECT_EQ((*replay)[0].key, "user,1");
  EXPECT_EQ((*replay)[1].kind, Kind::kPut);
  EXPECT_EQ((*replay)[1].value_bytes, 17u);
  EXPECT_EQ((*replay)[2].key, "k 1");
  EXPECT_EQ((*replay)[2].value_bytes, 99u);
  EXPECT_EQ((*replay)[3].key, "k,2");
  EXPECT_EQ((*replay)[3].kind, Kind::kSwap);
  EXPECT_EQ((*replay)[4].kind, Kind::kGet);
  EXPECT_EQ(replay->value_bytes_most(), 99u);
  EXPECT_DOUBLE_EQ(replay->item_bytes(), (1 + 17 + 3 + 99 + 3 + 50) / 3.0);
}

TEST(Replay, WhatIsWrongIsToldWithItsLine) {
  const std::string longest(1025, 'k');
  for (const std::string& line :
       {std::string("got a"), std::string("get"), std::string("get a b"), std::string("put a"),
        std::string("put a 1 2"), std::string("put a -1"), std::string("put a 1x"),
        std::string("put a 16777217"), "get " + longest, std::string("1,a,2,3,4,get"),
        std::string("0,a,1,2,3,jump,0"), std::string("0,,1,2,3,get,0"),
        std::string("0,a,1,x,3,get,0")}) {
    const auto replay = Parse("get a\n" + line + "\n");
    ASSERT_FALSE(replay) << line;
    EXPECT_EQ(replay.error().code, Code::kInvalidArgument);
    EXPECT_TRUE(replay.error().message.starts_with("FILE:2: ")) << replay.error().message;
    EXPECT_EQ(replay.error().message.find('\n'), std::string::npos);
  }
  EXPECT_FALSE(Parse("# nothing\n"));
  const auto none = Replay::Read("/nonexistent/file");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("/nonexistent/file"), std::string::npos);
}

TEST(Source, OperationsComeInTheirShares) {
  constexpr int kDraws = 100'000;
  for (const char* name : {"ycsb-a", "ycsb-c", "ycsb-d", "ycsb-f", "twitter:14", "twitter:23"}) {
    Workload workload = Preset(name);
    workload.items = 100;
    workload.shape.value_bytes_least = workload.shape.value_bytes_most = 8;
    Source source(workload, 0, 1, 1);
    std::array<int, kKinds> seen{};
    Operation operation;
    for (int i = 0; i < kDraws; ++i) {
      ASSERT_TRUE(source.Next(&operation));
      ++seen.at(static_cast<size_t>(operation.kind));
      ASSERT_EQ(operation.key.size(), workload.shape.key_bytes);
      ASSERT_TRUE(!Writes(operation.kind) || source.IsRight(operation, operation.value));
      ASSERT_TRUE(operation.kind == Kind::kInsert || operation.number < 100);
    }
    for (size_t i = 0; i < kKinds; ++i) {
      const double part = workload.mix.part(static_cast<Kind>(i));
      EXPECT_NEAR(seen[i], kDraws * part, 5 * std::sqrt(kDraws * part * (1 - part)) + 1e-6) << name;
    }
  }
}

TEST(Source, ClientsInsertItemsOfTheirOwnInTurn) {
  Workload workload = Preset("ycsb-d");
  workload.items = 100;
  workload.mix = {};
  workload.mix[Kind::kInsert] = 1;
  std::set<uint64_t> numbers;
  for (uint32_t index = 0; index < 3; ++index) {
    Source source(workload, index, 3, 1);
    Operation operation;
    for (int i = 0; i < 10 && source.Next(&operation); ++i) numbers.insert(operation.number);
  }
  EXPECT_EQ(numbers.size(), 30u);
  EXPECT_EQ(*numbers.begin(), 100u);
  EXPECT_EQ(*numbers.rbegin(), 129u);
}

TEST(Source, ClientsShareAReplayByKey) {
  auto replay = Parse("put a 1\nput b 2\nput c 3\nput d 4\nget a\nget b\nget c\nget d\n");
  ASSERT_TRUE(replay);
  Workload workload;
  workload.replay = std::make_shared<const Replay>(std::move(*replay));
  int count = 0;
  for (uint32_t index = 0; index < 3; ++index) {
    Source source(workload, index, 3, 1);
    std::set<std::string> written;
    for (Operation operation; source.Next(&operation); ++count) {
      if (Writes(operation.kind)) written.insert(operation.key);
      EXPECT_TRUE(written.contains(operation.key));
    }
  }
  EXPECT_EQ(count, 8);
}

}  // namespace
}  // namespace plov::bench
