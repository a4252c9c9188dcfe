#include "client/cli/rates.h"

#include <gtest/gtest.h>

namespace plov::cli {
namespace {

using verify::Counter;

// "name value" lines of two shards.
Sample SampleAt(uint64_t second, const std::string& first, const std::string& other = "") {
  const std::string clock =
      "clock_us " + std::to_string(second * 1'000'000) + "\nstarted_at_us 1000\n";
  return Sample::Of({first + clock, other + clock});
}

TEST(Rates, AreDifferencesByTheServersClock) {
  const Sample from = SampleAt(10, "puts 100\nreported_gets 1000\ncpu_us 0\n", "puts 7\n");
  const Sample to =
      SampleAt(12, "puts 300\nreported_gets 2001000\ncpu_us 1000000\n", "puts 17\nrequests 8\n");
  const Rates rates = RatesBetween(from, to);
  EXPECT_DOUBLE_EQ(rates.seconds, 2);
  EXPECT_DOUBLE_EQ(rates.puts, 105);
  EXPECT_DOUBLE_EQ(rates.reported->gets, 1e6);
  EXPECT_DOUBLE_EQ(rates.cpu, 0.5);
  ASSERT_TRUE(rates.cpu_per_million_gets());
  EXPECT_DOUBLE_EQ(*rates.cpu_per_million_gets(), 0.5);
  ASSERT_EQ(rates.shards.size(), 2u);
  EXPECT_DOUBLE_EQ(rates.shards[0].puts, 100);
  EXPECT_DOUBLE_EQ(rates.shards[1].puts, 5);
  EXPECT_DOUBLE_EQ(rates.shards[1].requests, 4);
}

TEST(Rates, NothingIsDividedByNothing) {
  const Sample sample = SampleAt(10, "puts 100\n");
  const Rates rates = RatesBetween(sample, sample);
  EXPECT_EQ(rates.puts, 0);
  EXPECT_FALSE(rates.cpu_per_million_gets());
  EXPECT_FALSE(QuantileOf(rates.writes, 0.5));
  EXPECT_EQ(RatesBetween(SampleAt(12, "puts 5\n"), SampleAt(10, "puts 1\n")).puts, 0);
  EXPECT_TRUE(RatesBetween(Sample::Of({}), Sample::Of({})).shards.empty());
}

TEST(Rates, QuantilesAreEndsOfBuckets) {
  const Rates rates =
      RatesBetween(SampleAt(1, "writes_under_us_4 1000\n"),
                   SampleAt(2,
                            "writes_under_us_4 1000\nwrites_under_us_16 98\nwrites_under_us_64 1\n"
                            "writes_longer 1\n"));
  EXPECT_EQ(QuantileOf(rates.writes, 0), 16u);
  EXPECT_EQ(QuantileOf(rates.writes, 0.98), 16u);
  EXPECT_EQ(QuantileOf(rates.writes, 0.99), 64u);
  EXPECT_EQ(QuantileOf(rates.writes, 1), UINT64_MAX);
}

TEST(History, OneSampleIsOfTheTimeSinceTheStart) {
  History history(std::chrono::seconds(5));
  history.Add(Sample::Of({"puts 90\nclock_us 10000000\nstarted_at_us 1000000\n"}));
  EXPECT_DOUBLE_EQ(history.rates().puts, 10);
}

TEST(History, KeepsTheWindow) {
  History history(std::chrono::seconds(5));
  for (uint64_t second = 10; second <= 30; ++second) {
    history.Add(SampleAt(second, "puts " + std::to_string(second * second) + "\n"));
  }
  EXPECT_DOUBLE_EQ(history.rates().seconds, 5);
  EXPECT_DOUBLE_EQ(history.rates().puts, (30 * 30 - 25 * 25) / 5.0);
}

// One client, a million GETs a second, of which it tells each ten seconds; looked at each second.
TEST(History, GetsAreKnownFromReportToReport) {
  History history(std::chrono::seconds(5));
  for (uint64_t second = 3; second <= 60; ++second) {
    const uint64_t reported = (second + 5) / 10 * 10'000'000;
    history.Add(SampleAt(second, "reported_gets " + std::to_string(reported) + "\ncpu_us " +
                                     std::to_string(second * 1000) + "\n"));
    const Rates rates = history.rates();
    if (second > 3 && second < 15) {
      EXPECT_FALSE(rates.reported) << second;
    } else if (second > 3) {
      ASSERT_TRUE(rates.reported) << second;
      EXPECT_DOUBLE_EQ(rates.reported->gets, 1e6) << second;
      EXPECT_NEAR(*rates.cpu_per_million_gets(), 1e-3, 1e-9) << second;
    }
  }
  for (uint64_t second = 61; second <= 80; ++second) {
    history.Add(SampleAt(second, "reported_gets 60000000\ncpu_us 60000\n"));
  }
  EXPECT_EQ(history.rates().reported->gets, 0) << "nobody tells of any";
}

TEST(History, AnotherStartBeginsAnew) {
  History history(std::chrono::seconds(5));
  EXPECT_FALSE(history.Add(Sample::Of({"puts 500\nclock_us 10000000\nstarted_at_us 1\n"})));
  EXPECT_FALSE(history.Add(Sample::Of({"puts 600\nclock_us 11000000\nstarted_at_us 1\n"})));
  EXPECT_TRUE(history.Add(Sample::Of({"puts 3\nclock_us 12000000\nstarted_at_us 11500000\n"})));
  EXPECT_DOUBLE_EQ(history.rates().puts, 6);
}

TEST(History, KnowsHowLongNothingMoves) {
  History history(std::chrono::seconds(5));
  history.Add(SampleAt(10, "puts 1\n"));
  history.Add(SampleAt(14, "puts 1\n"));
  EXPECT_EQ(history.still(), std::chrono::seconds(4));
  history.Add(SampleAt(15, "puts 2\n"));
  EXPECT_EQ(history.still(), std::chrono::seconds(0));
  history.Add(SampleAt(13, "puts 2\n"));
  EXPECT_EQ(history.still(), std::chrono::seconds(0)) << "its clock is known better";
}

}  // namespace
}  // namespace plov::cli
