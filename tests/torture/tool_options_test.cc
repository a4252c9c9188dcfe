// The options of plov-torture that say whose memory GETs READ, and where the servers of a cluster listen; tests/torture/*.sh have the others.

#include "torture/tool_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "torture/own_cluster.h"

namespace plov::torture {
namespace {

using testing::HasSubstr;

std::expected<ToolOptions, Error> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "plov-torture");
  return ParseToolOptions(static_cast<int>(words.size()), words.data());
}

std::string Refused(const std::vector<const char*>& words) {
  const auto options = Parse(words);
  return options ? "" : options.error().message;
}

TEST(ToolOptions, GetsOfAClusterReadThePrimaryOrAnyReplica) {
  const auto of_default = Parse({"--cluster", "4"});
  ASSERT_TRUE(of_default);
  EXPECT_FALSE(of_default->reads_any_replica());
  const auto primary = Parse({"--cluster", "4", "--read-from", "primary"});
  ASSERT_TRUE(primary);
  EXPECT_FALSE(primary->reads_any_replica());
  const auto any = Parse({"--cluster", "4", "--read-from", "any-replica"});
  ASSERT_TRUE(any);
  EXPECT_EQ(any->max_age, std::chrono::seconds(1));
  const auto aged = Parse({"--cluster", "4", "--read-from", "any-replica", "--max-age", "700ms"});
  ASSERT_TRUE(aged);
  EXPECT_EQ(aged->max_age, std::chrono::milliseconds(700));
}

TEST(ToolOptions, AnyReplicaIsForClusters) {
  EXPECT_THAT(Refused({"--read-from", "any-replica"}), HasSubstr("--read-from needs --cluster"));
  EXPECT_THAT(Refused({"--read-from", "primary"}), HasSubstr("--read-from needs --cluster"));
  EXPECT_THAT(Refused({"--max-age", "1s"}), HasSubstr("--max-age needs --cluster"));
  EXPECT_THAT(Refused({"--server", "shm:default", "--read-from", "any-replica"}),
              HasSubstr("without --server"));
}

TEST(ToolOptions, AMaxAgeIsOfAnyReplica) {
  EXPECT_THAT(Refused({"--cluster", "4", "--max-age", "1s"}),
              HasSubstr("--max-age needs --read-from any-replica"));
  EXPECT_THAT(Refused({"--cluster", "4", "--read-from", "replica"}),
              HasSubstr("--read-from is primary or any-replica"));
  for (const char* text : {"0", "", "11s", "x"}) {
    EXPECT_THAT(Refused({"--cluster", "4", "--read-from", "any-replica", "--max-age", text}),
                HasSubstr("--max-age"));
  }
}

TEST(ToolOptions, SilencesAreOfAClusterAndNotForEver) {
  const auto options = Parse({"--cluster", "3", "--detect", "3s", "--drop", "1500ms"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->detect, std::chrono::seconds(3));
  EXPECT_EQ(options->drop, std::chrono::milliseconds(1500));
  EXPECT_THAT(Refused({"--detect", "3s"}), HasSubstr("--detect needs --cluster"));
  EXPECT_THAT(Refused({"--cluster", "3", "--drop", "61s"}), HasSubstr("--drop"));
}

TEST(ToolOptions, TransactionsAreOfServersThatTakeCommits) {
  const auto options = Parse({"--transactions", "--log", "/tmp/log", "--commit", "acked"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_TRUE(options->transactions);
  EXPECT_FALSE(Parse({})->transactions);
  EXPECT_THAT(Refused({"--transactions", "--cluster", "3"}), HasSubstr("not for a cluster"));
  EXPECT_THAT(Refused({"--transactions", "--server", "cluster:shm:a"}),
              HasSubstr("not for a cluster"));
  EXPECT_THAT(Refused({"--transactions", "--log", "/tmp/log", "--commit", "async"}),
              HasSubstr("strict or acked"));
}

TEST(ToolOptions, ServersOfAClusterListenOnPortsSideBySide) {
  const auto options = Parse({"--cluster", "3", "--listen", "rdma://10.0.0.1:65533"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(OwnCluster::UriOf(options->listen, 0), "rdma://10.0.0.1:65533");
  EXPECT_EQ(OwnCluster::UriOf("rdma://[fe80::1]:7777", 2), "rdma://[fe80::1]:7779");
  for (const char* first : {"rdma://10.0.0.1:65534", "rdma://10.0.0.1",
                            "rdma://10.0.0.1:", "rdma://10.0.0.1:0", "rdma://10.0.0.1:7x",
                            "rdma://10.0.0.1:4294967296", "shm:/tmp/a:7777", "rdma://:", "rdma:"}) {
    EXPECT_THAT(Refused({"--cluster", "3", "--listen", first}),
                HasSubstr("--listen with --cluster is rdma://HOST:PORT"))
        << first;
  }
}

}  // namespace
}  // namespace plov::torture
