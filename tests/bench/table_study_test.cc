// What plov-bench table counts, on small tables.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "bench/load/items.h"
#include "bench/table/shard.h"
#include "bench/table/study.h"

namespace plov::bench {
namespace {

TableSettings Settings() {
  TableSettings settings;
  settings.items = 10'000;
  settings.seeds = 2;
  return settings;
}

TEST(TableShard, EveryItemIsFoundWithItsValueAndNoOther) {
  for (const uint32_t value_bytes : {16u, 64u}) {  // in the bucket, in a record
    const Items items({.value_bytes_least = value_bytes, .value_bytes_most = value_bytes});
    auto shard =
        TableShard::Create({.bucket_count = 2000, .seed = 7, .record_bytes_max = 1500 * 120});
    ASSERT_TRUE(shard);
    std::string key, value;
    for (uint64_t number = 0; number < 1500; ++number) {
      items.FillKey(number, &key);
      items.FillValue(number, key, &value);
      ASSERT_TRUE(shard->Put(key, value)) << number;
    }
    TableReader reader(&*shard, 0);
    for (uint64_t number = 0; number < 3000; ++number) {
      items.FillKey(number, &key);
      const auto answer = reader.Get(key);
      ASSERT_TRUE(answer) << answer.error().message;
      ASSERT_EQ(answer->is_hit, number < 1500) << number;
      if (!answer->is_hit) continue;
      ASSERT_TRUE(items.IsValue(number, key, answer->value)) << number;
      EXPECT_EQ(answer->record_reads, value_bytes == 64 ? 1u : 0u);
    }
  }
}

TEST(TableShard, RecordThatHasNoRoomIsRefused) {
  auto shard = TableShard::Create({.bucket_count = 2000, .seed = 7, .record_bytes_max = 2 * 120});
  ASSERT_TRUE(shard);
  EXPECT_TRUE(shard->Put("key-1", std::string(70, 'v')));
  EXPECT_TRUE(shard->Put("key-2", std::string(70, 'v')));
  EXPECT_FALSE(shard->Put("key-3", std::string(70, 'v')));
}

TEST(TableStudy, CountsAgreeWithEachOther) {
  const auto study = StudyTable(Settings());
  ASSERT_TRUE(study) << study.error().message;
  ASSERT_EQ(study->rows.size(), 16u);
  for (const TableRow& row : study->rows) {
    if (row.fill_percent == 95) {
      EXPECT_TRUE(row.hit_reads.empty());
      continue;
    }
    ASSERT_EQ(row.hit_reads.size(), 2u);
    // A hit is one READ at home, and one more elsewhere; a fingerprint that matches by chance, or
    // `overflow`, adds a few in a hundred.
    const double ideal = 1 + row.displaced_percent.median() / 100;
    EXPECT_GE(row.hit_reads.median(), ideal - 1e-9) << row.fill_percent;
    EXPECT_LE(row.hit_reads.median(), ideal + 0.03) << row.fill_percent;
    EXPECT_GT(row.miss_reads.median(), 1) << row.fill_percent;
    EXPECT_LE(row.miss_reads.median(), 1.04) << row.fill_percent;
    EXPECT_LE(row.path_mean.median(), row.path_p99.median()) << row.fill_percent;
    EXPECT_LE(row.path_p99.most(), row.path_most.most()) << row.fill_percent;
  }
  for (const FullTable& full : study->full) {
    EXPECT_GT(full.fill_percent.least(), 90);
    EXPECT_LT(full.fill_percent.most(), 95);
    EXPECT_GT(full.path_most.least(), 3);
  }
  const ReadsPerGet& reads = study->reads;
  EXPECT_EQ(reads.inline_cold.median(), study->Find(64, 75)->hit_reads.median());
  EXPECT_NEAR(reads.record_cold.median(), reads.inline_cold.median() + 1, 1e-9);
  EXPECT_EQ(reads.inline_known.most(), 1);
  EXPECT_EQ(reads.record_known.most(), 1);
}

TEST(TableStudy, FullerTablesCostMore) {
  const auto study = StudyTable(Settings());
  ASSERT_TRUE(study) << study.error().message;
  for (size_t i = 1; i < 7; ++i) {  // 50 to 90 %, buckets of 64
    EXPECT_GT(study->rows[i].hit_reads.median(), study->rows[i - 1].hit_reads.median());
    EXPECT_GT(study->rows[i].displaced_percent.median(),
              study->rows[i - 1].displaced_percent.median());
  }
}

TEST(TableStudy, SeedsDiffer) {
  const auto study = StudyTable(Settings());
  ASSERT_TRUE(study);
  const Sample& reads = study->Find(64, 75)->hit_reads;
  EXPECT_LT(reads.least(), reads.most());
}

TEST(TableStudy, ClaimsAreJudgedByTheirBounds) {
  TableClaim claim{"of a thing", TableClaim::Bound::kAtMost, 1.4, {}};
  EXPECT_FALSE(claim.holds());  // not measured
  claim.measured.Add(1.4);
  EXPECT_TRUE(claim.holds());
  claim.measured.Add(1.5);
  EXPECT_FALSE(claim.holds());
  claim.bound = TableClaim::Bound::kAtLeast;
  EXPECT_TRUE(claim.holds());
}

TEST(TableStudy, VerdictsOfTextAndJsonAreThoseOfTheClaims) {
  const auto study = StudyTable(Settings());
  ASSERT_TRUE(study);
  const auto claims = ClaimsOf(*study);
  const std::string text = TextOf(PageOf(*study));
  const auto json = JsonOf(*study);
  ASSERT_EQ(json["claims"].size(), claims.size());
  for (size_t i = 0; i < claims.size(); ++i) {
    const size_t at = text.find("\n" + claims[i].what);
    ASSERT_NE(at, std::string::npos) << claims[i].what;
    const std::string line = text.substr(at + 1, text.find('\n', at + 1) - at - 1);
    EXPECT_EQ(line.ends_with(" yes"), claims[i].holds()) << line;
    EXPECT_EQ(line.ends_with(" no"), !claims[i].holds()) << line;
    EXPECT_EQ(json["claims"][i]["holds"], claims[i].holds());
  }
}

}  // namespace
}  // namespace plov::bench
