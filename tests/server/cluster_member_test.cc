// What a server of a cluster hosts and shows, by the values that the coordinator holds, and which are refused.
#include "server/cluster_member.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "server/cluster_join.h"
#include "tests/server/cluster_values.h"
#include "tests/support/folder.h"

namespace plov::server {
namespace {

using test::FileOf;
using test::kClusterNumber;
using test::kClusterSeed;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using verify::kSlots;

// Four shards that are not in the order of their slots; c1 has none.
cluster::Values Whole() {
  return test::ValuesOf(
      {{"a1", "shm:/a"}, {"b1", "shm:/b"}, {"c1", "shm:/c"}},
      {{8192, 9000, "a1"}, {0, 4999, "b1"}, {9001, kSlots - 1, "a1"}, {5000, 8191, "b1"}});
}

std::string Refused(const cluster::Values& values, const std::string& id = "a1") {
  const auto member = MemberOf(values, id);
  return member ? "accepted" : member.error().message;
}

TEST(ClusterMember, HostsTheShardsOfItsId) {
  const auto member = MemberOf(Whole(), "a1");
  ASSERT_TRUE(member) << member.error().message;
  EXPECT_THAT(member->uris, ElementsAre("shm:/a"));
  const ShardSet expected{.hosted = {{0, {8192, 9000, kSlots}}, {2, {9001, kSlots - 1, kSlots}}},
                          .count = 4,
                          .cluster_id = kClusterNumber,
                          .hash_seed = kClusterSeed};
  EXPECT_EQ(member->shards, expected);
  EXPECT_EQ(member->view.Lines(&member->shards),
            "cluster.id fedcba9876543210\ncluster.server a1\ncluster.shards 0,2\n");
}

TEST(ClusterMember, MayHostNone) {
  const auto member = MemberOf(Whole(), "c1");
  ASSERT_TRUE(member) << member.error().message;
  EXPECT_TRUE(member->shards.hosted.empty());
  EXPECT_TRUE(member->shards.is_of_cluster());
  EXPECT_THAT(member->view.Lines(&member->shards), HasSubstr("cluster.shards none\n"));
  EXPECT_EQ(member->view.map, MemberOf(Whole(), "a1")->view.map);
}

TEST(ClusterMember, NumbersThatFollowEachOtherAreShownAsARange) {
  const ClusterView view{"a1", 1, {}};
  const ShardSet shards{.hosted = {{0}, {1}, {2}, {5}, {7}, {8}}, .count = 9};
  EXPECT_THAT(view.Lines(&shards), HasSubstr("cluster.shards 0-2,5,7-8\n"));
  EXPECT_EQ(view.Lines(nullptr), "cluster.id 0000000000000001\ncluster.server a1\n");
}

TEST(ClusterMember, ShowsTheWholeMap) {
  const verify::ClusterMap map = MemberOf(Whole(), "b1")->view.map;
  EXPECT_EQ(map.hash_seed, kClusterSeed);
  EXPECT_EQ(map.lease_us, 250'000u);
  EXPECT_EQ(map.rate_error_ppm, 100'000u);
  const std::vector<verify::ClusterMap::Server> servers = {
      {"a1", {"shm:/a"}}, {"b1", {"shm:/b"}}, {"c1", {"shm:/c"}}};
  EXPECT_EQ(map.servers, servers);
  const std::vector<verify::ClusterMap::Shard> shards = {{8, 0, 4999, 1, 0, {{101, 1}}},
                                                         {10, 5000, 8191, 3, 0, {{103, 1}}},
                                                         {7, 8192, 9000, 0, 0, {{100, 0}}},
                                                         {9, 9001, kSlots - 1, 2, 0, {{102, 0}}}};
  EXPECT_EQ(map.shards, shards);
  verify::ClusterMap published = map;
  published.version = 1;
  EXPECT_EQ(verify::DecodeMap(verify::EncodeMap(published, kClusterNumber, 5), kClusterNumber, 5),
            published);
}

TEST(ClusterMember, OneServerMayHaveAllSlotsInOneShard) {
  const auto member = MemberOf(test::ValuesOf({{"a1", "shm:/a"}}, {{0, kSlots - 1, "a1"}}), "a1");
  ASSERT_TRUE(member) << member.error().message;
  EXPECT_TRUE(member->shards.hosted.front().slots.has_all());
}

TEST(ClusterMember, AnIdThatIsNoneNamesThoseThatAre) {
  EXPECT_EQ(Refused(Whole(), "d1"), "servers/ has no d1: it has a1, b1, c1");
}

TEST(ClusterMember, SlotsHaveToBeCoveredOnce) {
  cluster::Values values = Whole();
  values.shards[3].slot_first = 5001;
  EXPECT_EQ(Refused(values), "shards: slots 5000 to 5000 belong to no shard");
  values = Whole();
  values.shards[3].slot_first = 4999;
  EXPECT_EQ(Refused(values), "shards/3: slot 4999 is another shard's, too");
  values = Whole();
  values.shards[2].slot_last = kSlots - 2;
  EXPECT_EQ(Refused(values), "shards: slots 16383 to 16383 belong to no shard");
  values = Whole();
  values.shards[1].slot_first = 1;
  EXPECT_EQ(Refused(values), "shards: slots 0 to 0 belong to no shard");
}

TEST(ClusterMember, ReplicasAreRefused) {
  cluster::Values values = Whole();
  values.shards[1].in_sync.push_back({"a1", 5});
  EXPECT_THAT(Refused(values), HasSubstr("shards/1: has 2 replicas, 0 of them joining"));
  values = Whole();
  values.shards[1].joining.push_back({"a1", 5});
  EXPECT_THAT(Refused(values), HasSubstr("shards/1: has 2 replicas, 1 of them joining"));
  values = Whole();
  values.config.replicas = 2;
  EXPECT_THAT(Refused(values), HasSubstr("config: replicas is 2: without a coordinator"));
}

TEST(ClusterMember, ShardsHaveToBeThoseOfTheConfigOnServersThatAreThere) {
  cluster::Values values = Whole();
  values.shards.erase(3);
  EXPECT_EQ(Refused(values), "shards/3: is missing: the config has 4 shards");
  values = Whole();
  values.config.shards = 3;
  EXPECT_EQ(Refused(values), "shards/3: the config has 3 shards, so the last one is 2");
  values = Whole();
  values.servers.erase("b1");
  EXPECT_EQ(Refused(values), "shards/1: its primary b1 is not below servers/");
}

// What a file says to plovd.
class ClusterJoin : public ::testing::Test {
 protected:
  void Write(const std::string& text) const { std::ofstream(file_) << text; }
  // The file of Whole() with one text in the place of another.
  void WriteWith(const std::string& old, const std::string& other) const {
    std::string text = FileOf(Whole());
    const size_t at = text.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    Write(text.replace(at, old.size(), other));
  }
  std::expected<Options, Error> Join(const std::vector<std::string>& more = {}) const {
    const std::string cluster = "--cluster=static:" + file_;
    std::vector<const char*> arguments = {"plovd", cluster.c_str(), "--id=a1"};
    for (const std::string& argument : more) arguments.push_back(argument.c_str());
    auto options = ParseOptions(static_cast<int>(arguments.size()), arguments.data());
    if (!options) return options;
    if (auto joined = JoinCluster(&*options); !joined) return std::unexpected(joined.error());
    return options;
  }
  std::string Refusal() const {
    const auto joined = Join();
    return joined ? "accepted" : joined.error().message;
  }

  test::TemporaryFolder folder_;
  const std::string file_ = folder_.path() + "/cluster.json";
};

TEST_F(ClusterJoin, TakesUrisAndShardsOfTheFile) {
  Write(FileOf(Whole()));
  const auto options = Join();
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->server.uris, ElementsAre("shm:/a"));
  EXPECT_EQ(options->server.shards.hosted.size(), 2u);
  EXPECT_EQ(options->server.cluster->server_id, "a1");
  EXPECT_THAT(Join({"--listen=shm:other"})->server.uris, ElementsAre("shm:other"));
  EXPECT_EQ(options->server.WarmPathOf(0), ".0");
}

TEST_F(ClusterJoin, OfASingleServerChangesNothing) {
  Options options;
  ASSERT_TRUE(JoinCluster(&options));
  EXPECT_FALSE(options.server.cluster);
  EXPECT_EQ(options.server.shards, ShardSet::Of(1));
}

TEST_F(ClusterJoin, MemoryIsForAllHostedShards) {
  Write(FileOf(Whole()));
  EXPECT_TRUE(Join({"--memory=32M"}));
  const auto small = Join({"--memory=31M"});
  ASSERT_FALSE(small);
  EXPECT_THAT(small.error().message, HasSubstr("--memory of 31 MiB is too small for the 2 shards"));
}

TEST_F(ClusterJoin, SaysWhatIsWrongWithTheFile) {
  EXPECT_THAT(Refusal(), HasSubstr("--cluster static:" + file_));
  EXPECT_THAT(Refusal(), HasSubstr("there is no such file"));
  Write("{\n\"config\": {,}}");
  EXPECT_THAT(Refusal(), HasSubstr("line 2: is no JSON"));
  Write("{}");
  EXPECT_THAT(Refusal(), HasSubstr("has no \"config\""));
  WriteWith("\"format\":1", "\"format\":2");
  EXPECT_THAT(Refusal(), HasSubstr("config: "));
  EXPECT_THAT(Refusal(), HasSubstr("format: is 2, of a later release"));
  WriteWith("[\"shm:/a\"]", "[]");
  EXPECT_THAT(Refusal(), HasSubstr("servers/a1: "));
  EXPECT_THAT(Refusal(), HasSubstr("uris: is not an array of 1 to"));
  WriteWith("\"shards/2\"", "\"shards/02\"");
  EXPECT_THAT(Refusal(), HasSubstr("shards/02: is not a shard's number"));
  WriteWith("\"shards/2\"", "\"shards/99999999999\"");
  EXPECT_THAT(Refusal(), HasSubstr("shards/99999999999: is not a shard's number"));
  WriteWith("\"shards/2\"", "\"shards/2/x\"");
  EXPECT_THAT(Refusal(), HasSubstr("shards/2: is missing"));
  WriteWith("\"slot_first\":8192", "\"slot_first\":16384");
  EXPECT_THAT(Refusal(), HasSubstr("shards/0: "));
  WriteWith("\"shards/1\": {\"cluster\":\"fedc", "\"shards/1\": {\"cluster\":\"fedd");
  EXPECT_THAT(Refusal(), HasSubstr("shards/1: data of another cluster"));
  std::filesystem::remove(file_);
  std::filesystem::create_directory(file_);
  EXPECT_THAT(Refusal(), HasSubstr(file_));
}

}  // namespace
}  // namespace plov::server
