// What loads are made of: items, which of them comes next, and how durations are counted.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "bench/load/choice.h"
#include "bench/load/histogram.h"
#include "bench/load/items.h"

namespace plov::bench {
namespace {

TEST(Items, KeysDifferAndValuesAreTheirs) {
  const Items items({.key_bytes = 11, .value_bytes_least = 0, .value_bytes_most = 40});
  std::set<std::string> keys;
  std::set<size_t> sizes;
  std::string key;
  std::string value;
  for (uint64_t number = 0; number < 2000; ++number) {
    items.FillKey(number, &key);
    EXPECT_EQ(key.size(), 11u);
    keys.insert(key);
    items.FillValue(number, key, &value);
    sizes.insert(value.size());
    EXPECT_TRUE(items.IsValue(number, key, value));
    EXPECT_FALSE(items.IsValue(number, key, value + "x"));
    if (value.empty()) continue;
    for (const size_t at : {size_t{0}, value.size() / 2, value.size() - 1}) {
      value[at] = '!';
      EXPECT_FALSE(items.IsValue(number, key, value));
      items.FillValue(number, key, &value);
    }
  }
  EXPECT_EQ(keys.size(), 2000u);
  EXPECT_EQ(sizes.size(), 41u);
}

// The frequencies of the first ranks against the formula, within five standard deviations.
void ExpectZipf(uint64_t count, double exponent) {
  constexpr int kDraws = 200'000;
  const Zipf zipf(count, exponent);
  program::Random random(7);
  std::vector<int> seen(count);
  for (int i = 0; i < kDraws; ++i) ++seen.at(zipf.Next(&random));
  double sum = 0;
  for (uint64_t rank = 1; rank <= count; ++rank) {
    sum += std::pow(static_cast<double>(rank), -exponent);
  }
  for (uint64_t rank = 0; rank < std::min<uint64_t>(count, 20); ++rank) {
    const double part = std::pow(static_cast<double>(rank + 1), -exponent) / sum;
    const double deviation = std::sqrt(kDraws * part * (1 - part)) + 1;
    EXPECT_NEAR(seen[rank], kDraws * part, 5 * deviation)
        << "rank " << rank << " of " << count << ", exponent " << exponent;
  }
}

TEST(Zipf, FrequenciesAreThoseOfTheLaw) {
  for (const double exponent : {0.3, 0.99, 1.0, 1.25, 2.68}) {
    for (const uint64_t count : {1ull, 2ull, 3ull, 1000ull}) ExpectZipf(count, exponent);
  }
}

TEST(Choice, ScrambledItemsKeepTheirFrequencies) {
  constexpr uint64_t kCount = 1000;
  Choice choice(Popularity::kZipf, 0.99, kCount, 1);
  std::vector<int> seen(kCount);
  for (int i = 0; i < 100'000; ++i) ++seen.at(choice.Next());
  std::ranges::sort(seen, std::greater());
  EXPECT_GT(seen[0], 10'000);
  EXPECT_GT(seen[kCount - 1], 0);  // every item has a rank of its own
}

TEST(Choice, TheLatestAreTheMostPopular) {
  Choice choice(Popularity::kLatest, 0.99, 100, 1);
  choice.GrowTo(150);
  std::vector<int> seen(150);
  for (int i = 0; i < 100'000; ++i) ++seen.at(choice.Next());
  EXPECT_GT(seen[149], seen[148]);
  EXPECT_GT(seen[148], seen[120]);
}

TEST(Histogram, PercentilesAreWithinOnePercent) {
  Histogram histogram;
  for (uint64_t ns = 1; ns <= 1'000'000; ++ns) histogram.Count(ns);
  for (const double part : {0.001, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const auto exact = part * 1e6;
    EXPECT_GE(static_cast<double>(histogram.Percentile(part)), exact);
    EXPECT_LE(static_cast<double>(histogram.Percentile(part)), exact * 1.01);
  }
  EXPECT_EQ(histogram.Percentile(1), 1'000'000u);
  EXPECT_EQ(histogram.most(), 1'000'000u);
  EXPECT_NEAR(histogram.mean(), 500'000.5, 1);
}

TEST(Histogram, SmallValuesAreExactAndHugeOnesAreKept) {
  Histogram histogram;
  for (uint64_t ns = 0; ns < 256; ++ns) histogram.Count(ns);
  EXPECT_EQ(histogram.Counts().size(), 256u);
  histogram.Count(UINT64_MAX);
  EXPECT_EQ(histogram.most(), Histogram::kMost);
  EXPECT_EQ(histogram.Percentile(1), Histogram::kMost);
  EXPECT_EQ(Histogram().Percentile(0.5), 0u);
}

TEST(Histogram, AddsWhatAnotherCounted) {
  Histogram one;
  Histogram other;
  Histogram again;
  for (uint64_t ns = 1; ns < 100'000; ns *= 3) one.Count(ns);
  other.Count(5);
  other.Count(123'456'789);
  one.Add(other);
  for (const auto& [ns, times] : one.Counts()) again.Count(ns, times);
  EXPECT_EQ(again.count(), one.count());
  EXPECT_EQ(again.Counts(), one.Counts());
  EXPECT_EQ(one.Percentile(1), 123'456'789u);
}

}  // namespace
}  // namespace plov::bench
