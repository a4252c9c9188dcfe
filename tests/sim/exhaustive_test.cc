// Every interleaving of one write with one GET, in cases of all kinds.

#include "tests/sim/exhaustive.h"

#include <gtest/gtest.h>

namespace plov::sim {

namespace {

// Runs a kind of case under several hash functions, which place the same keys elsewhere.
CaseResult RunSeeds(Case what, uint64_t seeds) {
  CaseResult sum;
  for (what.seed = 1; what.seed <= seeds; ++what.seed) {
    const CaseResult result = RunCase(what);
    EXPECT_EQ(result.verdict, "") << "seed " << what.seed;
    EXPECT_GT(result.interleavings, result.stores);
    sum.interleavings += result.interleavings;
    sum.displacements += result.displacements;
    sum.torn += result.torn;
    sum.hits += result.hits;
    sum.misses += result.misses;
  }
  std::cout << sum.interleavings << " interleavings\n";
  return sum;
}

}  // namespace

TEST(Exhaustive, ChoicesAreAllCombinations) {
  Choices choices;
  std::string seen;
  do {
    seen += std::to_string(choices.Choose(2));
    if (choices.Choose(3) == 1) seen += std::to_string(choices.Choose(2) + 5);
    seen += ' ';
  } while (choices.Advance());
  EXPECT_EQ(seen, "0 05 06 0 1 15 16 1 ");
}

TEST(Exhaustive, AnOverwrittenInlineItemIsTheOldOrTheNew) {
  const CaseResult sum = RunSeeds({.cut = Cut::kHalves, .steps = 5}, 4);
  EXPECT_GT(sum.torn, 0);
  EXPECT_EQ(sum.misses, 0);
}

TEST(Exhaustive, AnOverwrittenRecordIsTheOldOrTheNew) {
  const CaseResult sum = RunSeeds({.value_bytes = 40}, 3);
  EXPECT_EQ(sum.misses, 0);
}

TEST(Exhaustive, AKnownRecordIsTheOldOrTheNew) {
  const CaseResult sum = RunSeeds({.value_bytes = 40, .known = true}, 3);
  EXPECT_EQ(sum.misses, 0);
}

TEST(Exhaustive, ADeletedItemIsThereOrNot) {
  const CaseResult sum =
      RunSeeds({.write = Case::Write::kDelete, .cut = Cut::kHalves, .steps = 5}, 4);
  EXPECT_GT(sum.hits, 0);
  EXPECT_GT(sum.misses, 0);
}

TEST(Exhaustive, ADeletedKnownItemIsThereOrNot) {
  const CaseResult sum =
      RunSeeds({.write = Case::Write::kDelete, .value_bytes = 40, .known = true}, 4);
  EXPECT_GT(sum.hits, 0);
  EXPECT_GT(sum.misses, 0);
}

TEST(Exhaustive, ANewItemIsThereOrNotWhateverMovesForIt) {
  const CaseResult sum = RunSeeds({.items = 6, .write = Case::Write::kPutNew}, 12);
  EXPECT_GT(sum.displacements, 0);
  EXPECT_GT(sum.hits, 0);
  EXPECT_GT(sum.misses, 0);
}

TEST(Exhaustive, AnItemThatMayMoveForAnotherIsNeverAbsent) {
  const CaseResult sum =
      RunSeeds({.items = 6, .write = Case::Write::kPutNew, .same_key = false}, 12);
  EXPECT_GT(sum.displacements, 0);
  EXPECT_EQ(sum.misses, 0);
}

TEST(Exhaustive, AnItemIsNotTouchedByADeleteOfAnother) {
  const CaseResult sum =
      RunSeeds({.items = 7, .write = Case::Write::kDelete, .same_key = false}, 8);
  EXPECT_EQ(sum.misses, 0);
}

}  // namespace plov::sim
