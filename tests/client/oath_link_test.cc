// Which READs a look at the oaths of a server's shards takes.
#include "client/oath_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace plov {
namespace {

TEST(OathRuns, HaveAllShardsInFewShortReads) {
  for (const uint32_t step : {1u, 20u, 63u, 64u, 65u, 500u, 1000u}) {
    std::set<uint32_t> shards;
    for (uint32_t shard = 7; shard < verify::kSlots && shards.size() < 40; shard += step) {
      shards.insert(shard);
    }
    const auto runs = OathRunsOf(shards);
    EXPECT_LE(runs.size(), kOathRunsMax);
    if (step < 64) {
      EXPECT_EQ(runs.size(), 1u);
    }
    for (const uint32_t shard : shards) {
      EXPECT_EQ(std::ranges::count_if(
                    runs, [&](const OathRun& run) { return shard - run.first < run.oaths.size(); }),
                1);
    }
    EXPECT_TRUE(shards.contains(runs.front().first));
  }
  EXPECT_EQ(OathRunsOf({3, 9, 5000, 5001}).size(), 2u);
  EXPECT_EQ(OathRunsOf({3, 9, 5000, 5001}).back().oaths.size(), 2u);
}

}  // namespace
}  // namespace plov
