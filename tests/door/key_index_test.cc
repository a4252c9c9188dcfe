// KeyIndex: names in the order of their positions, each once; those that memory does not suffice for are missing from
// one position on.

#include "door/redis/key_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace plov::door::redis {
namespace {

std::string NameOf(int number) { return "name " + std::to_string(number); }

std::set<std::string> NamesOf(const KeyIndex& index) {
  std::set<std::string> names;
  for (const KeyIndex::Entry& entry : index.entries()) names.emplace(entry.name());
  return names;
}

TEST(KeyIndex, HasEachNameOnceInTheOrderOfPositions) {
  Budget budget(size_t{64} << 20);
  KeyIndex index(0, &budget);
  std::set<std::string> names;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = NameOf(i % 7000);
    names.insert(name);
    ASSERT_TRUE(index.Add(name));
  }
  index.Finish();
  EXPECT_TRUE(index.has_all());
  EXPECT_EQ(index.entries().size(), names.size());
  EXPECT_EQ(NamesOf(index), names);
  EXPECT_TRUE(std::ranges::is_sorted(index.entries(), {}, &KeyIndex::Entry::position));
  for (const KeyIndex::Entry& entry : index.entries()) {
    ASSERT_EQ(entry.position(), KeyIndex::PositionOf(entry.name()));
    ASSERT_LE(index.entries()[index.Find(entry.position())].position(), entry.position());
  }
  EXPECT_EQ(index.Find(KeyIndex::kEnd), names.size());
}

TEST(KeyIndex, PositionsAreTheSameForEver) {
  EXPECT_EQ(KeyIndex::PositionOf("name 1"), 187885525786480);
  EXPECT_LT(KeyIndex::PositionOf(std::string(1024, '\xff')), KeyIndex::kEnd);
}

TEST(KeyIndex, PartsOfWhatDoesNotFitAreTheWhole) {
  constexpr int kNames = 60'000;
  Budget budget(size_t{2} << 20);
  std::set<std::string> names;
  int parts = 0;
  for (uint64_t from = 0; from < KeyIndex::kEnd; ++parts) {
    KeyIndex index(from, &budget);
    for (int i = 0; i < kNames; ++i) ASSERT_TRUE(index.Add(NameOf(i)));
    index.Finish();
    EXPECT_LE(budget.used_bytes(), budget.limit_bytes());
    EXPECT_FALSE(index.has_all());
    ASSERT_GT(index.to(), from);
    for (const KeyIndex::Entry& entry : index.entries()) ASSERT_TRUE(index.Has(entry.position()));
    names.merge(NamesOf(index));
    from = index.to();
  }
  EXPECT_GT(parts, 3);
  EXPECT_EQ(names.size(), kNames);
  EXPECT_EQ(budget.used_bytes(), 0);
}

// What comes several times takes memory that is found again.
TEST(KeyIndex, ANameThatComesOftenKeepsNoOtherOut) {
  Budget budget(size_t{2} << 20);
  KeyIndex index(0, &budget);
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(index.Add(NameOf(i % 2000)));
  index.Finish();
  EXPECT_TRUE(index.has_all());
  EXPECT_EQ(index.entries().size(), 2000);
}

TEST(KeyIndex, WithoutMemoryThereIsNone) {
  Budget budget(size_t{1} << 20);
  ASSERT_TRUE(budget.Charge(size_t{900} << 10));
  {
    KeyIndex index(0, &budget);
    bool has_memory = true;
    for (int i = 0; i < 1000 && has_memory; ++i) has_memory = index.Add(NameOf(i));
    EXPECT_FALSE(has_memory);
  }
  EXPECT_EQ(budget.used_bytes(), size_t{900} << 10);
}

}  // namespace
}  // namespace plov::door::redis
