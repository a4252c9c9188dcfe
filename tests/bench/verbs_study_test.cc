// A study of verbs with a measurer that has no device.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/verbs/study.h"

namespace plov::bench {
namespace {

// Rates grow with the window and by the round; messages over UD are small.
class FakeMeasurer final : public Measurer {
 public:
  std::string device() const override { return "fake0"; }

  std::expected<RunResult, Error> Measure(const Run& run) override {
    ++calls;
    if (run.combination->has_ud() && run.bytes > 1024) {
      return Fail(Code::kInvalidArgument, "a SEND over UD is one packet");
    }
    if (fails_at == calls) return Fail(Code::kCorrupt, "the reply to request 3 is wrong");
    RunResult result;
    result.seconds = 1;
    result.operations = 1000 * run.window + rounds[calls % rounds.size()];
    result.median_us = 20;
    result.p99_us = 90;
    result.server_cpu_us = run.combination->request == By::kNothing ? 0 : 7;
    result.reads = 1;
    return result;
  }

  uint64_t calls = 0;
  uint64_t fails_at = 0;
  std::vector<uint64_t> rounds = {0};
};

VerbsSettings Settings() {
  VerbsSettings settings;
  for (const Combination& one : kCombinations) settings.combinations.push_back(&one);
  settings.bytes = {64, 4096};
  settings.windows = {1, 8};
  settings.rounds = 3;
  return settings;
}

TEST(VerbsStudy, EveryRowIsMeasuredInEveryRound) {
  FakeMeasurer measurer;
  const auto study = Study(&measurer, Settings());
  ASSERT_TRUE(study);
  EXPECT_EQ(study->rows.size(), kCombinations.size() * 4);
  for (const VerbsRow& row : study->rows) {
    EXPECT_EQ(row.rate.size(), row.unsupported.empty() ? 3u : 0u) << row.combination->name;
    EXPECT_EQ(row.median_us.size(), row.unsupported.empty() && row.window == 1 ? 3u : 0u);
  }
}

TEST(VerbsStudy, WhatCannotBeIsToldWithItsReasonAndTriedOnce) {
  FakeMeasurer measurer;
  const auto study = Study(&measurer, Settings());
  ASSERT_TRUE(study);
  const Combination* herd = FindCombination("WRITE_UC/SEND_UD");
  for (const VerbsRow& row : study->rows) {
    const bool is_too_large = row.combination == herd && row.bytes == 4096;
    EXPECT_EQ(row.unsupported, is_too_large ? "a SEND over UD is one packet" : "");
  }
  EXPECT_EQ(measurer.calls, 3 * 26u + 2);
  const std::string tables = TextOf(PageOf(*study));
  EXPECT_NE(tables.find("  not supported\n"), std::string::npos) << tables;
  EXPECT_NE(tables.find("  a SEND over UD is one packet\n"), std::string::npos) << tables;
  const auto json = JsonOf(*study);
  const auto& last = json["results"].back();
  EXPECT_EQ(last["unsupported"], "a SEND over UD is one packet");
  EXPECT_FALSE(last.contains("per_second"));
}

TEST(VerbsStudy, WrongReplyEndsTheStudy) {
  FakeMeasurer measurer;
  measurer.fails_at = 5;
  const auto study = Study(&measurer, Settings());
  ASSERT_FALSE(study);
  EXPECT_EQ(study.error().code, Code::kCorrupt);
  EXPECT_EQ(measurer.calls, 5u);
}

TEST(VerbsStudy, MedianOfTheRoundsIsShown) {
  FakeMeasurer measurer;
  measurer.rounds = {90, 500, 0};  // one row: the rounds as they come are 500, 0, 90
  VerbsSettings settings = Settings();
  settings.combinations.resize(1);
  settings.bytes = {64};
  settings.windows = {1};
  const auto study = Study(&measurer, settings);
  ASSERT_TRUE(study);
  const auto json = JsonOf(*study);
  EXPECT_EQ(json["device"], "fake0");
  EXPECT_EQ(json["results"][0]["per_second"], 1090.0);
  EXPECT_EQ(json["results"][0]["per_second_least"], 1000.0);
  EXPECT_EQ(json["results"][0]["per_second_most"], 1500.0);
  EXPECT_NE(TextOf(PageOf(*study)).find(" 1,090 "), std::string::npos);
}

TEST(VerbsStudy, PlotIsOfTheMiddleSize) {
  FakeMeasurer measurer;
  const auto study = Study(&measurer, Settings());
  ASSERT_TRUE(study);
  const program::Json parts = JsonOf(PageOf(*study))["parts"];
  EXPECT_EQ(parts[1]["title"], "Requests by window, 64 bytes, fake0");
  EXPECT_EQ(parts[1]["curves"][0]["points"],
            program::Json::parse(R"([{"x":1.0,"y":1000.0},{"x":8.0,"y":8000.0}])"));
}

}  // namespace
}  // namespace plov::bench
