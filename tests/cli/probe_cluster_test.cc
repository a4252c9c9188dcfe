// What doctor says of the values that a coordinator holds; of running servers tests/cluster/demo.sh does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/probes.h"
#include "tests/cluster/placed_values.h"

namespace plov::cli {
namespace {

using test::ValuesOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

// "note cluster zones: ..." of each finding.
std::vector<std::string> Said(const cluster::Values& values) {
  Findings findings;
  ProbeValues(values, "zk://z/plov", &findings);
  std::vector<std::string> lines;
  for (const Finding& finding : findings.all()) {
    const bool is_ok = finding.severity == Severity::kOk;
    const bool is_note = finding.severity == Severity::kNote;
    lines.push_back((is_ok     ? "ok "
                     : is_note ? "note "
                               : "PROBLEM ") +
                    finding.subject + ": " + finding.meaning + " / " + finding.mend);
  }
  return lines;
}

MATCHER(IsOk, "") { return arg.starts_with("ok "); }

// Of three servers, each shard begun.
cluster::Values Whole() {
  auto values = ValuesOf({{"a", "r1"}, {"b", "r2"}, {"c", "r1"}}, {{"a", "b"}, {"b", "c"}});
  values.config.replicas = 2;
  for (const uint32_t number : {0U, 1U}) values.empty_starts[number].is_taken = true;
  for (auto& [id, server] : values.servers) server.memory_bytes = 800;
  return values;
}

TEST(ProbeCluster, WholeOneHasNothingToMend) {
  EXPECT_THAT(Said(Whole()), Each(IsOk()));
  EXPECT_THAT(Said(Whole()), Contains(HasSubstr("cluster shards: all have their replicas")));
}

TEST(ProbeCluster, ShardsThatAreNotWholeAreNamed) {
  auto values = Whole();
  values.running.erase("a");
  EXPECT_THAT(Said(values), Contains(HasSubstr("PROBLEM cluster shards: fewer replicas than there "
                                               "should be: 0 / plov cluster repair zk://z/plov")));
  values.running.erase("b");
  EXPECT_THAT(Said(values), Contains(HasSubstr("PROBLEM cluster shards: no replica runs: 0")));
  EXPECT_THAT(Said(values), Not(Contains(HasSubstr("all have"))));
  values = Whole();
  values.empty_starts[1].is_taken = false;
  EXPECT_THAT(Said(values), Contains(HasSubstr("wait for the server that begins them: 1")));
  values = Whole();
  values.placements[1].servers = {"a", "b"};
  EXPECT_THAT(Said(values), Contains(HasSubstr("note cluster shards: are on their way: 1 / plov "
                                               "cluster watch zk://z/plov")));
}

TEST(ProbeCluster, WhatMakesALossLikelierIsSaid) {
  auto values = Whole();
  values.config.replicas = 1;
  EXPECT_THAT(Said(values), Contains(HasSubstr("note cluster replicas: one of each shard")));
  values = Whole();
  values.servers["c"].zone = "r2";
  EXPECT_THAT(Said(values), Contains(HasSubstr("two replicas in one zone: 1 / plov cluster "
                                               "balance")));
  values = Whole();
  values.servers["c"].memory_bytes = 400;
  EXPECT_THAT(Said(values),
              Contains(HasSubstr("note cluster memory: c has 50 B for a shard and ")));
  values = Whole();
  values.servers["a"].shards_max = 1;
  EXPECT_THAT(Said(values), Contains(HasSubstr("note cluster room: should ")));
}

}  // namespace
}  // namespace plov::cli
