#include "log/commit_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

namespace plov::log {
namespace {

TEST(CommitTimes, NoneIsZero) {
  const CommitTimes times;
  EXPECT_EQ(times.Quantile(0.5), 0u);
  EXPECT_EQ(times.Quantile(1), 0u);
  EXPECT_EQ(times.max_us(), 0u);
}

TEST(CommitTimes, OneIsEveryQuantile) {
  for (uint64_t us = 0; us < 5000; ++us) {
    CommitTimes times;
    times.Add(us);
    for (const double part : {0.0, 0.5, 0.99, 1.0}) EXPECT_EQ(times.Quantile(part), us);
    EXPECT_EQ(times.max_us(), us);
  }
}

TEST(CommitTimes, AHundredFastOnesAndASlowOneAreToldApart) {
  CommitTimes times;
  for (int i = 0; i < 99; ++i) times.Add(7);
  times.Add(1'000'000);
  EXPECT_EQ(times.Quantile(0.5), 7u);
  EXPECT_EQ(times.Quantile(0.99), 7u);
  EXPECT_EQ(times.Quantile(0.999), 1'000'000u);
  EXPECT_EQ(times.max_us(), 1'000'000u);
}

TEST(CommitTimes, AQuantileIsNeverTooLowAndAtMostAnEighthTooHigh) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    CommitTimes times;
    std::vector<uint64_t> all(1 + random() % 1000);
    for (uint64_t& us : all) {
      us = random() >> (24 + random() % 40);  // up to 12 days
      times.Add(us);
    }
    std::ranges::sort(all);
    for (const double part : {0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
      const double rank = std::ceil(part * static_cast<double>(all.size()));
      const uint64_t exact = all[static_cast<size_t>(rank) - 1];
      EXPECT_GE(times.Quantile(part), exact);
      EXPECT_LE(times.Quantile(part), exact + exact / 8);
    }
    EXPECT_EQ(times.max_us(), all.back());
  }
}

TEST(CommitTimes, AYearIsCounted) {
  constexpr uint64_t kYear = uint64_t{365} * 24 * 3600 * 1'000'000;
  CommitTimes times;
  times.Add(kYear);
  EXPECT_EQ(times.max_us(), kYear);
  EXPECT_GT(times.Quantile(0.5), 0u);
  EXPECT_EQ(times.Quantile(1), times.Quantile(0.5));
}

TEST(CommitTimes, OneThreadReadsWhileAnotherAdds) {
  CommitTimes times;
  std::jthread adds([&times] {
    for (uint64_t us = 0; us < 20'000; ++us) times.Add(us % 1000);
  });
  for (int i = 0; i < 200; ++i) EXPECT_LT(times.Quantile(0.99), 1000u);
  adds.join();
  EXPECT_EQ(times.max_us(), 999u);
}

}  // namespace
}  // namespace plov::log
