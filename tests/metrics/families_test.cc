#include "metrics/families.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "metrics/text.h"

namespace plov::metrics {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using verify::Counter;
using verify::Counters;

Counters None() {
  Counters counters{};
  counters.values.fill(UINT64_MAX);
  return counters;
}

void Set(Counters* counters, Counter counter, uint64_t value) {
  counters->values[static_cast<size_t>(counter)] = value;
}

const MetricFamily* Find(const std::vector<MetricFamily>& families, std::string_view name) {
  const auto found = std::ranges::find(families, name, &MetricFamily::name);
  return found == families.end() ? nullptr : &*found;
}

TEST(Families, NamesAreInBaseUnits) {
  const auto name_of = [](Counter counter) {
    return MetricName(verify::CounterTable()[static_cast<size_t>(counter)]);
  };
  EXPECT_EQ(name_of(Counter::kItems), "plov_items");
  EXPECT_EQ(name_of(Counter::kPuts), "plov_puts_total");
  EXPECT_EQ(name_of(Counter::kCpuUs), "plov_cpu_seconds_total");
  EXPECT_EQ(name_of(Counter::kFullPercent), "plov_full_ratio");
  EXPECT_EQ(name_of(Counter::kLogCommitUsP99), "plov_log_commit_p99_seconds");
  EXPECT_EQ(name_of(Counter::kSnapshotAtUs), "plov_snapshot_timestamp_seconds");
  std::set<std::string> names;
  for (const verify::CounterInfo& info : verify::CounterTable()) {
    const std::string name = MetricName(info);
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.ends_with("_total"), info.only_grows) << name;
    for (const char* part : {"_us_", "_percent"}) EXPECT_EQ(name.find(part), std::string::npos);
  }
}

TEST(Families, ValuesAreInBaseUnitsOfEachShard) {
  std::array<Counters, 2> shards = {None(), None()};
  Set(&shards[0], Counter::kCpuUs, 1'500'000);
  Set(&shards[1], Counter::kCpuUs, 500);
  Set(&shards[1], Counter::kFullPercent, 37);
  Set(&shards[0], Counter::kStartedAtUs, 1'700'000'000'250'000);
  shards[0].text = "pid 7\nversion 1.2\n";
  const auto families = FamiliesOf(shards);
  const MetricFamily* cpu = Find(families, "plov_cpu_seconds_total");
  ASSERT_TRUE(cpu);
  EXPECT_EQ(cpu->type, MetricType::Counter);
  ASSERT_EQ(cpu->metric.size(), 2u);
  EXPECT_EQ(cpu->metric[0].label[0].value, "0");
  EXPECT_DOUBLE_EQ(cpu->metric[0].counter.value, 1.5);
  EXPECT_DOUBLE_EQ(cpu->metric[1].counter.value, 0.0005);
  const MetricFamily* full = Find(families, "plov_full_ratio");
  ASSERT_TRUE(full);
  ASSERT_EQ(full->metric.size(), 1u) << "the other shard tells none";
  EXPECT_EQ(full->metric[0].label[0].value, "1");
  EXPECT_DOUBLE_EQ(full->metric[0].gauge.value, 0.37);
  EXPECT_FALSE(Find(families, "plov_items"));
  EXPECT_DOUBLE_EQ(Find(families, "process_start_time_seconds")->metric[0].gauge.value,
                   1'700'000'000.25);
  EXPECT_EQ(Find(families, "plov_build_info")->metric[0].label[0].value, "1.2");
}

TEST(Families, ShardsOfAClusterHaveTheirNumbersThere) {
  std::array<Counters, 2> shards = {None(), None()};
  for (Counters& counters : shards) Set(&counters, Counter::kItems, 1);
  EXPECT_FALSE(Find(FamiliesOf(shards), "plov_cluster_info"));
  const std::string who = "cluster.id 00000000c0ffee01\ncluster.server a1\ncluster.shards 3,17\n";
  shards[0].text = "cluster.shard 3\n" + who;
  shards[1].text = "cluster.shard 17\n" + who;
  const auto families = FamiliesOf(shards);
  EXPECT_EQ(Find(families, "plov_items")->metric[0].label[0].value, "3");
  EXPECT_EQ(Find(families, "plov_items")->metric[1].label[0].value, "17");
  const auto& labels = Find(families, "plov_cluster_info")->metric.front().label;
  EXPECT_EQ(labels[0].name + "=" + labels[0].value, "cluster=00000000c0ffee01");
  EXPECT_EQ(labels[1].name + "=" + labels[1].value, "server=a1");
}

TEST(Families, BucketsOfTimesAddUp) {
  std::array<Counters, 1> shards = {None()};
  verify::Times& writes = shards[0].histograms[0];
  writes.counts[0] = 1;
  writes.counts[3] = 2;
  writes.counts[verify::kTimeBuckets - 1] = 4;
  writes.sum_us = 2'000'000;
  const auto families = FamiliesOf(shards);
  const auto& histogram = Find(families, "plov_write_duration_seconds")->metric[0].histogram;
  ASSERT_EQ(histogram.bucket.size(), verify::kTimeBuckets);
  EXPECT_EQ(histogram.bucket[2].cumulative_count, 1u);
  EXPECT_EQ(histogram.bucket[3].cumulative_count, 3u);
  EXPECT_DOUBLE_EQ(histogram.bucket[3].upper_bound, 8e-6);
  EXPECT_TRUE(std::isinf(histogram.bucket.back().upper_bound));
  EXPECT_EQ(histogram.bucket.back().cumulative_count, 7u);
  EXPECT_EQ(histogram.sample_count, 7u);
  EXPECT_DOUBLE_EQ(histogram.sample_sum, 2.0);
  EXPECT_FALSE(Find(families, "plov_log_commit_duration_seconds")) << "there is no log";
  Set(&shards[0], Counter::kLogMode, 0);
  EXPECT_TRUE(Find(FamiliesOf(shards), "plov_log_commit_duration_seconds"));
}

TEST(Families, AVersionIsNoMoreThanALabel) {
  std::array<Counters, 1> shards = {None()};
  shards[0].text = "version 1\"} 5\\\n";
  const auto text = PrometheusText(shards);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, testing::HasSubstr("plov_build_info{version=\"1\\\"} 5\\\\\"} 1\n"));
  EXPECT_TRUE(FamiliesOf({}).empty());
}

}  // namespace
}  // namespace plov::metrics
