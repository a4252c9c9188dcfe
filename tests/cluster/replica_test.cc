// Replicas under simulated faults. Each run is some 15 epochs' worth of them, then a time without, in which writes have
// to be acknowledged again.
//
// PLOV_SEEDS: how many runs of each test, 20 unless given, few under the sanitizers. PLOV_SEED: this one alone.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/cluster/replica_world.h"
#include "tests/support/environment.h"
#include "tests/support/sanitizers.h"

namespace plov::test {
namespace {

void RunSeeds(uint64_t lease_us, bool loses_memory, bool has_logs = false) {
  constexpr int kSteps = 60'000;
  const uint64_t only = NumberFrom("PLOV_SEED", 0);
  const uint64_t seeds = NumberFrom("PLOV_SEEDS", kSanitized ? 4 : 20);
  ReplicaCounts sum;
  for (uint64_t seed = only != 0 ? only : 1; seed <= (only != 0 ? only : seeds); ++seed) {
    ReplicaWorld world(
        {.seed = seed, .lease_us = lease_us, .loses_memory = loses_memory, .has_logs = has_logs});
    world.Run(kSteps);
    const bool has_recovered = world.Recovers(kSteps);
    ASSERT_EQ(world.wrong(), "") << "PLOV_SEED=" << seed;
    // Where memory was lost, a late compare-and-set may name it alone.
    ASSERT_TRUE(has_recovered || loses_memory) << "PLOV_SEED=" << seed;
    for (const auto count : kReplicaCounts) sum.*count += world.counts().*count;
  }
  std::printf(
      "epochs %lu, writes %lu; GETs %lu, of them leased %lu, of a former primary's memory %lu, by "
      "message %lu, refused %lu; memory lost %lu, full %lu, kept %lu; handed over %lu, left %lu; "
      "power cuts %lu; returned %lu, not for long %lu, writes forgotten %lu; safe times %lu\n",
      sum.epochs, sum.acknowledged, sum.gets, sum.leased, sum.deposed_gets, sum.answered,
      sum.refused, sum.lost, sum.full, sum.came_back, sum.handed_over, sum.have_left,
      sum.power_cuts, sum.returned, sum.lacked, sum.forgotten, sum.safe_times);
  for (const auto count : kReplicaCounts) {
    const bool is_of_loss = count == &ReplicaCounts::lost || count == &ReplicaCounts::full;
    const bool is_none = (count == &ReplicaCounts::leased && lease_us == 0) ||
                         (is_of_loss && !loses_memory) ||
                         (count == &ReplicaCounts::power_cuts && !has_logs);
    EXPECT_EQ(sum.*count == 0, is_none);
  }
}

TEST(Replicas, StrictReadersSeeNoFormerPrimary) { RunSeeds(0, false); }
TEST(Replicas, LeasedReadersSeeNoFormerPrimary) { RunSeeds(20'000, false); }
TEST(Replicas, StrictReadersSeeNoLostMemory) { RunSeeds(0, true); }
TEST(Replicas, LeasedReadersSeeNoLostMemory) { RunSeeds(20'000, true); }
TEST(Replicas, StrictReadersSeeNoCutOfAllPower) { RunSeeds(0, false, true); }
TEST(Replicas, LeasedReadersSeeNoCutOfAllPower) { RunSeeds(20'000, false, true); }
TEST(Replicas, ReadersSeeNoCutOfPowerAndNoLostDisk) { RunSeeds(0, true, true); }

}  // namespace
}  // namespace plov::test
