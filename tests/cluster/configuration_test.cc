// Values of a cluster: what was encoded is decoded, exactly; what makes no sense is refused by its field's name.
#include "cluster/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cluster/coordinator.h"
#include "tests/cluster/values.h"

namespace plov::test {
namespace {

using cluster::DecodeConfig;
using cluster::DecodeServer;
using cluster::DecodeShard;
using cluster::Encode;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// `value` with its field replaced, or without it where `with` is discarded.
std::string Changed(const auto& value, const char* pointer, const char* with) {
  Json json = Json::parse(Encode(value));
  const Json::json_pointer at(pointer);
  json.at(at);  // there is one
  if (*with == '\0') {
    json.at(at.parent_pointer()).erase(at.back());
  } else {
    json.at(at) = Json::parse(with);
  }
  return json.dump();
}

// That it is refused, with that in the message.
void ExpectRefused(const auto& decoded, const std::string& text) {
  ASSERT_FALSE(decoded) << text;
  EXPECT_EQ(decoded.error().code, Code::kProtocol);
  EXPECT_THAT(decoded.error().message, HasSubstr(text));
}

TEST(Configuration, GoldenTexts) {
  EXPECT_EQ(
      Encode(WholeConfig()),
      R"({"format":1,"cluster":"fedcba9876543210","hash_seed":"8000000000000001","shards":64,)"
      R"("replicas":2,"min_replicas":1,"lease_ms":250,"detect_ms":300,"drop_ms":80,"rate_error_ppm":100000})");
  EXPECT_EQ(Encode(WholeServer()),
            R"({"cluster":"fedcba9876543210","life":"ffffffffffffffff",)"
            R"("uris":["rdma://a1:7777","shm:/run/plov/a1/sock"],"zone":"r1",)"
            R"("memory_bytes":18446744073709551615,"shards_max":32})");
  EXPECT_EQ(
      Encode(WholeShard()),
      R"({"cluster":"fedcba9876543210","epoch":7,"slot_first":256,"slot_last":511,"primary":"b1",)"
      R"("in_sync":[{"server":"a1","incarnation":"1111111111111111"},)"
      R"({"server":"b1","incarnation":"fffffffffffffffe"}],)"
      R"("joining":[{"server":"c1","incarnation":"0000000000000003"}],"proposal":"9e3779b97f4a7c15"})");
}

TEST(Configuration, WhatWasEncodedIsDecodedExactly) {
  EXPECT_EQ(*DecodeConfig(Encode(WholeConfig())), WholeConfig());
  EXPECT_EQ(*DecodeServer(Encode(WholeServer())), WholeServer());
  EXPECT_EQ(*DecodeShard(Encode(WholeShard())), WholeShard());
  cluster::Config strict = WholeConfig();
  strict.lease = std::chrono::milliseconds(0);
  strict.hash_seed = 0;
  strict.shards = cluster::kSlots;
  strict.repair_after = std::chrono::hours(7 * 24);
  EXPECT_EQ(*DecodeConfig(Encode(strict)), strict);
  cluster::Server lone = WholeServer();
  lone.zone = "";
  lone.uris.resize(1);
  EXPECT_EQ(*DecodeServer(Encode(lone)), lone);
  cluster::Shard last = WholeShard();
  last.slot_first = last.slot_last = cluster::kSlots - 1;
  last.epoch = INT64_MAX;
  last.joining.clear();
  EXPECT_EQ(*DecodeShard(Encode(last)), last);
}

TEST(Configuration, UnknownFieldsAreIgnored) {
  std::string data = Encode(WholeShard());
  data.insert(1, R"("later":{"a":[1,2.5,null]},)");
  EXPECT_EQ(*DecodeShard(data), WholeShard());
}

TEST(Configuration, EveryFieldIsNeededAndHasItsType) {
  const Json config = Json::parse(Encode(WholeConfig()));
  const Json server = Json::parse(Encode(WholeServer()));
  const Json shard = Json::parse(Encode(WholeShard()));
  for (const char* wrong :
       {"", "null", "true", "-1", "1.5", "1e3", "{}", "[[]]", "\"?\"", "18446744073709551616"}) {
    for (const auto& [name, _] : config.items()) {
      ExpectRefused(DecodeConfig(Changed(WholeConfig(), ("/" + name).c_str(), wrong)), name + ": ");
    }
    for (const auto& [name, _] : server.items()) {
      ExpectRefused(DecodeServer(Changed(WholeServer(), ("/" + name).c_str(), wrong)), name + ": ");
    }
    for (const auto& [name, _] : shard.items()) {
      ExpectRefused(DecodeShard(Changed(WholeShard(), ("/" + name).c_str(), wrong)), name);
    }
  }
}

TEST(Configuration, FormatOfALaterReleaseIsNamed) {
  ExpectRefused(DecodeConfig(Changed(WholeConfig(), "/format", "2")), "format: is 2, of a later");
}

TEST(Configuration, ConfigOutOfRangeIsRefused) {
  for (const auto& [pointer, with] : {std::pair{"/shards", "0"},
                                      {"/shards", "16385"},
                                      {"/replicas", "0"},
                                      {"/replicas", "9"},
                                      {"/min_replicas", "0"},
                                      {"/min_replicas", "3"},
                                      {"/lease_ms", "60001"},
                                      {"/detect_ms", "9"},
                                      {"/drop_ms", "600001"},
                                      {"/rate_error_ppm", "500001"},
                                      {"/cluster", "\"0000000000000000\""},
                                      {"/cluster", "\"fedcba987654321\""},
                                      {"/cluster", "\"+edcba9876543210\""},
                                      {"/cluster", "\"fedcba98765432100\""}}) {
    ExpectRefused(DecodeConfig(Changed(WholeConfig(), pointer, with)), pointer + 1);
  }
  cluster::Config config = WholeConfig();
  config.repair_after = std::chrono::hours(7 * 24) + std::chrono::milliseconds(1);
  ExpectRefused(DecodeConfig(Encode(config)), "repair_after_ms");
}

TEST(Configuration, ServerOutOfRangeIsRefused) {
  const std::string long_uri = "[\"" + std::string(cluster::kUriBytesMax + 1, 'u') + "\"]";
  for (const auto& [pointer, with] :
       {std::pair<const char*, std::string>{"/life", "\"0000000000000000\""},
        {"/uris", "[]"},
        {"/uris", "[\"\"]"},
        {"/uris", "[\"a b\"]"},
        {"/uris", "[\"a\\n\"]"},
        {"/uris", "[7]"},
        {"/uris", long_uri},
        {"/zone", "\"a/b\""},
        {"/shards_max", "4294967296"}}) {
    ExpectRefused(DecodeServer(Changed(WholeServer(), pointer, with.c_str())), pointer + 1);
  }
}

TEST(Configuration, ShardThatMakesNoSenseIsRefused) {
  for (const auto& [pointer, with, text] :
       {std::tuple{"/epoch", "0", "epoch"},
        {"/epoch", "9223372036854775808", "epoch"},
        {"/slot_first", "16384", "slot_first"},
        {"/slot_last", "16384", "slot_last"},
        {"/slot_last", "255", "slot_last: is before"},
        {"/primary", "\"c1\"", "primary: is not in in_sync"},
        {"/primary", "\"..\"", "primary"},
        {"/in_sync", "[]", "in_sync"},
        {"/in_sync/1/server", "\"a1\"", "in_sync: has a server twice"},
        {"/in_sync/1/server", "7", "in_sync[1].server"},
        {"/in_sync/0/incarnation", "\"0000000000000000\"", "in_sync[0].incarnation"},
        {"/in_sync/0/incarnation", "", "in_sync[0].incarnation: is missing"},
        {"/in_sync/0", "7", "in_sync[0].server"},
        {"/joining/0/server", "\"a1\"", "joining: has a server twice"},
        {"/proposal", "\"0000000000000000\"", "proposal"}}) {
    ExpectRefused(DecodeShard(Changed(WholeShard(), pointer, with)), text);
  }
  cluster::Shard crowded = WholeShard();
  for (uint32_t i = 0; i < cluster::kMembersMax; ++i) {
    crowded.in_sync.push_back({"m" + std::to_string(i), 1});
  }
  ExpectRefused(DecodeShard(Encode(crowded)), "in_sync");
}

TEST(Configuration, WhatIsNoObjectIsRefused) {
  for (const std::string& data :
       {std::string(), std::string("{"), std::string("[]"), std::string("7"), std::string("{}x"),
        std::string("{\"cluster\":\"\xff\"}"), std::string(1000, '['), std::string("\0", 1),
        std::string(cluster::kDataBytesMax + 1, ' ')}) {
    EXPECT_FALSE(DecodeShard(data));
    EXPECT_FALSE(DecodeServer(data));
    EXPECT_FALSE(DecodeConfig(data));
  }
}

TEST(Configuration, EveryPartOfAValueIsRefused) {
  const std::string data = Encode(WholeShard());
  for (size_t bytes = 0; bytes < data.size(); ++bytes) {
    EXPECT_FALSE(DecodeShard(std::string_view(data).substr(0, bytes))) << bytes;
  }
}

TEST(Configuration, AnotherClustersDataAreNamed) {
  EXPECT_TRUE(cluster::CheckCluster(kClusterId, kClusterId));
  ExpectRefused(cluster::CheckCluster(kClusterId, 1), "data of another cluster");
}

TEST(Configuration, DataOlderThanTheServersAreNamed) {
  EXPECT_TRUE(cluster::CheckEpoch(WholeShard(), 7));
  ExpectRefused(cluster::CheckEpoch(WholeShard(), 8), "older than the servers");
}

TEST(Configuration, SlotsAreNumberedAsShardsAre) {
  EXPECT_EQ(cluster::SlotOf(0), 0u);
  EXPECT_EQ(cluster::SlotOf(0xffffffff), cluster::kSlots - 1);
  EXPECT_EQ(cluster::SlotOf(0x80000000), cluster::kSlots / 2);
  EXPECT_EQ(cluster::SlotOf(0xffffffff00000000), 0u);
}

}  // namespace
}  // namespace plov::test
