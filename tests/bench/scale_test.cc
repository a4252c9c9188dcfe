// Which points `plov-bench scale` measures, and what a study of them shows.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "bench/scale/study.h"

namespace plov::bench {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(ScalePoints, ItemsGoToAHundredMillionOrWhatFits) {
  const auto all = PointsOf(ScaleAxis::kItems, 1000 * kGiB);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all.front().items, 10'000u);
  EXPECT_EQ(all.back().items, 100'000'000u);
  const auto some = PointsOf(ScaleAxis::kItems, 14 * kGiB);
  ASSERT_EQ(some.size(), 6u);
  EXPECT_LE(some[4].need_bytes(), 14 * kGiB);
  EXPECT_GT(some[4].items, some[3].items);
  EXPECT_GT(some[5].need_bytes(), 14 * kGiB);  // stays, to be named as skipped
  EXPECT_EQ(PointsOf(ScaleAxis::kItems, kGiB).size(), 5u);
}

TEST(ScalePoints, LargeValuesAreFewerItems) {
  const auto points = PointsOf(ScaleAxis::kValues, kGiB);
  EXPECT_EQ(points.front().value_bytes, 8u);
  EXPECT_EQ(points.front().items, 1'000'000u);
  EXPECT_EQ(points.back().value_bytes, 1u << 20);
  for (const ScalePoint& point : points) {
    EXPECT_LE(point.payload_bytes(), kGiB);
    EXPECT_GE(point.items, 1000u);
    EXPECT_EQ(point.clients, 1u);
  }
}

TEST(ScalePoints, NeedGrowsWithEverything) {
  ScalePoint base;
  for (const ScaleAxis axis : {ScaleAxis::kItems, ScaleAxis::kClients, ScaleAxis::kShards}) {
    const auto points = PointsOf(axis, 1000 * kGiB);
    for (size_t i = 1; i < points.size(); ++i) {
      EXPECT_GT(points[i].need_bytes(), points[i - 1].need_bytes()) << NameOf(axis);
    }
  }
  EXPECT_GT(base.server_bytes(), base.payload_bytes());
}

// The first point of the items' axis fits, the second does not.
ScaleStudy Sample() {
  ScaleStudy study;
  study.settings.axes = {ScaleAxis::kItems};
  study.settings.memory_bytes = kGiB;
  double rate = 1000;
  for (const ScalePoint& point : PointsOf(ScaleAxis::kItems, kGiB)) {
    ScaleRow row;
    row.point = point;
    if (study.rows.size() == 4) row.skipped = "needs too much";
    for (PaceResult& pace : row.paces) {
      pace.per_second.Add(rate);
      pace.p50_us.Add(1);
      pace.p99_us.Add(2);
    }
    rate /= 2;
    study.rows.push_back(std::move(row));
  }
  return study;
}

TEST(ScaleStudy, RatiosAreToTheFirstPoint) {
  const std::string text = TextOf(PageOf(Sample()));
  EXPECT_NE(text.find("\n    10,000  1.00 "), std::string::npos) << text;
  EXPECT_NE(text.find("\n   100,000  0.50 "), std::string::npos) << text;
}

TEST(ScaleStudy, SkippedPointsAreNamedWithTheReason) {
  const ScaleStudy study = Sample();
  EXPECT_NE(TextOf(PageOf(study)).find("skipped: 100,000,000 items"), std::string::npos);
  const auto json = JsonOf(study);
  EXPECT_EQ(json["points"][4]["skipped"], "needs too much");
  EXPECT_FALSE(json["points"][4].contains("paces"));
  EXPECT_EQ(json["points"][1]["paces"][0]["per_second"], 500.0);
}

}  // namespace
}  // namespace plov::bench
