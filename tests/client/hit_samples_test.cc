// What clients tell a server in cache mode of what they found.
#include "client/hit_samples.h"

#include <gtest/gtest.h>

#include <vector>

namespace plov {
namespace {

using std::chrono::milliseconds;

constexpr fabric::Deadline kStart{std::chrono::hours(1)};
constexpr size_t kMost = verify::kHitNamesMax;

std::vector<verify::HitName> Taken(HitSamples* samples, fabric::Deadline now,
                                   uint64_t messages = 0) {
  const auto taken = samples->Take(now, messages);
  return {taken.begin(), taken.end()};
}

void Hit(HitSamples* samples, uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; ++i) samples->Hit(i << 32);
}

TEST(HitSamples, NobodyIsToldWhoDoesNotAsk) {
  HitSamples samples;
  Hit(&samples, 0, 5'000);
  EXPECT_FALSE(samples.IsDue(kStart, 1'000));
  samples.Want(true);
  Hit(&samples, 0, 10);
  EXPECT_TRUE(samples.IsDue(kStart, 0));
  samples.Want(false);
  EXPECT_FALSE(samples.IsDue(kStart, 0));
}

TEST(HitSamples, AllAreToldWhereThereIsRoom) {
  HitSamples samples;
  samples.Want(true);
  Hit(&samples, 5, 3);
  EXPECT_EQ(Taken(&samples, kStart), (std::vector<verify::HitName>{5, 6, 7}));
  EXPECT_TRUE(Taken(&samples, kStart).empty());
}

TEST(HitSamples, BeyondThatAnEvenSampleOfAll) {
  HitSamples samples;
  samples.Want(true);
  Hit(&samples, 0, 10'000);
  const auto taken = Taken(&samples, kStart);
  EXPECT_GE(taken.size(), kMost / 2);
  EXPECT_LE(taken.size(), kMost);
  for (size_t i = 1; i + 1 < taken.size(); ++i) {
    EXPECT_EQ(taken[i] - taken[i - 1], taken[i + 1] - taken[i]) << i;
  }
  EXPECT_GT(taken.back(), 9'900u);
}

TEST(HitSamples, AllAreToldAgainWhenThereAreFewer) {
  HitSamples samples;
  samples.Want(true);
  Hit(&samples, 0, 100'000);
  Taken(&samples, kStart);
  for (int i = 0; i < 10; ++i) {
    Hit(&samples, 0, 100);
    Taken(&samples, kStart);
  }
  Hit(&samples, 0, 100);
  EXPECT_EQ(Taken(&samples, kStart).size(), 100u);
}

TEST(HitSamples, OnceASecondOrWithManyMessages) {
  HitSamples samples;
  samples.Want(true);
  EXPECT_FALSE(samples.IsDue(kStart, 1'000)) << "nothing was found";
  Hit(&samples, 0, 1);
  Taken(&samples, kStart, 1'000);
  Hit(&samples, 0, kMost / 2 - 1);
  EXPECT_FALSE(samples.IsDue(kStart + milliseconds(999), 2'000));
  EXPECT_TRUE(samples.IsDue(kStart + milliseconds(1'000), 1'000));
  Hit(&samples, 0, 1);
  EXPECT_FALSE(samples.IsDue(kStart, 1'063));
  EXPECT_TRUE(samples.IsDue(kStart, 1'064));
}

}  // namespace
}  // namespace plov
