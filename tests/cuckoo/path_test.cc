#include "cuckoo/path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "verify/seal.h"

namespace plov::cuckoo {
namespace {

using Kind = Occupant::Kind;
using Path = std::vector<uint64_t>;

// Buckets by index; what is not named is fixed.
class Buckets {
 public:
  void SetEmpty(uint64_t index) { occupants_[index] = {Kind::kNone, {}}; }
  void SetFixed(uint64_t index) { occupants_[index] = {Kind::kFixed, {}}; }
  void SetItem(uint64_t index, std::array<uint64_t, kWays> ways) {
    occupants_[index] = {Kind::kMovable, ways};
  }

  Occupant At(uint64_t index) const {
    const auto found = occupants_.find(index);
    return found == occupants_.end() ? Occupant{Kind::kFixed, {}} : found->second;
  }

  Path Find(PathSearch* search, const std::vector<uint64_t>& roots) const {
    const auto path = search->Find(roots, [this](uint64_t index) { return At(index); });
    return {path.begin(), path.end()};
  }

  // The moves on a shortest path, by a search that remembers what it has seen; -1 when none.
  int Distance(const std::vector<uint64_t>& roots) const {
    std::map<uint64_t, int> distances;
    std::deque<uint64_t> queue;
    const auto reach = [&](uint64_t index, int distance) {
      if (distances.try_emplace(index, distance).second) queue.push_back(index);
    };
    for (const uint64_t root : roots) reach(root, 0);
    for (; !queue.empty(); queue.pop_front()) {
      const uint64_t index = queue.front();
      const Occupant occupant = At(index);
      if (occupant.kind == Kind::kNone) return distances[index];
      if (occupant.kind == Kind::kFixed) continue;
      for (const uint64_t way : occupant.ways) reach(way, distances[index] + 1);
    }
    return -1;
  }

 private:
  std::map<uint64_t, Occupant> occupants_;
};

bool IsPath(const Buckets& buckets, const std::vector<uint64_t>& roots, const Path& path) {
  if (std::ranges::find(roots, path.front()) == roots.end()) return false;
  if (buckets.At(path.back()).kind != Kind::kNone) return false;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const Occupant occupant = buckets.At(path[i]);
    if (occupant.kind != Kind::kMovable) return false;
    if (std::ranges::find(occupant.ways, path[i + 1]) == occupant.ways.end()) return false;
  }
  return std::set(path.begin(), path.end()).size() == path.size();
}

// Ways as a table of `bucket_count` would have them, the item's own bucket among them.
std::array<uint64_t, kWays> RandomWays(uint64_t index, uint64_t bucket_count,
                                       std::mt19937_64* random) {
  for (;;) {
    const auto ways = WaysOf((*random)(), bucket_count);
    if (std::ranges::find(ways, index) != ways.end()) return ways;
  }
}

TEST(Path, AFreeRootNeedsNoMove) {
  Buckets buckets;
  buckets.SetItem(1, {1, 4, 5});
  buckets.SetEmpty(2);
  buckets.SetEmpty(4);
  PathSearch search;
  EXPECT_EQ(buckets.Find(&search, {1, 2, 3}), (Path{2}));
}

TEST(Path, OneMoveFreesARoot) {
  Buckets buckets;
  buckets.SetItem(1, {4, 1, 5});
  buckets.SetItem(2, {6, 2, 7});
  buckets.SetItem(3, {3, 8, 9});
  buckets.SetEmpty(8);
  PathSearch search;
  EXPECT_EQ(buckets.Find(&search, {1, 2, 3}), (Path{3, 8}));
}

TEST(Path, IsAShortestOne) {
  constexpr uint64_t kBucketCount = 40;
  std::mt19937_64 random(1);
  std::map<int, int> lengths;
  PathSearch search;
  for (int round = 0; round < 20'000; ++round) {
    Buckets buckets;
    const uint64_t empty_count = random() % 4;
    for (uint64_t index = 0; index < kBucketCount; ++index) {
      if (random() % 8 == 0) {
        buckets.SetFixed(index);
      } else {
        buckets.SetItem(index, RandomWays(index, kBucketCount, &random));
      }
    }
    for (uint64_t i = 0; i < empty_count; ++i) buckets.SetEmpty(random() % kBucketCount);
    const auto ways = WaysOf(random(), kBucketCount);
    const std::vector<uint64_t> roots(ways.begin(), ways.end());
    const int distance = buckets.Distance(roots);
    const Path path = buckets.Find(&search, roots);
    ++lengths[distance];
    // The tree of a search has three roots and two branches at each node: all paths of up to eight
    // moves fit into the budget.
    if (path.empty() && distance > 8) continue;
    ASSERT_EQ(static_cast<int>(path.size()) - 1, distance) << "round " << round;
    ASSERT_TRUE(distance < 0 || IsPath(buckets, roots, path)) << "round " << round;
  }
  for (int length = -1; length <= 4; ++length) EXPECT_GT(lengths[length], 20) << length;
}

TEST(Path, EmptyWhenAllIsFull) {
  constexpr uint64_t kBucketCount = 30;
  std::mt19937_64 random(2);
  Buckets buckets;
  for (uint64_t index = 0; index < kBucketCount; ++index) {
    buckets.SetItem(index, RandomWays(index, kBucketCount, &random));
  }
  PathSearch search;
  EXPECT_TRUE(buckets.Find(&search, {0, 1, 2}).empty());
  buckets.SetEmpty(29);
  EXPECT_FALSE(buckets.Find(&search, {0, 1, 2}).empty()) << "an earlier search is left over";
}

TEST(Path, FixedOccupantsAreNotMoved) {
  Buckets buckets;
  buckets.SetItem(1, {1, 4, 5});
  buckets.SetFixed(2);
  buckets.SetFixed(3);
  buckets.SetFixed(4);
  buckets.SetItem(5, {5, 6, 2});
  buckets.SetItem(6, {6, 7, 5});
  buckets.SetEmpty(7);
  PathSearch search;
  EXPECT_EQ(buckets.Find(&search, {1, 2, 3}), (Path{1, 5, 6, 7}));
  buckets.SetFixed(6);
  EXPECT_TRUE(buckets.Find(&search, {1, 2, 3}).empty());
}

// A full table without end: the search gives up after its budget and not before.
TEST(Path, AsksAboutNoMoreBucketsThanItsBudget) {
  constexpr uint64_t kBucketCount = uint64_t{1} << 40;
  PathSearch search;
  size_t asked = 0;
  const auto full = [&asked](uint64_t index) {
    ++asked;
    return Occupant{Kind::kMovable, WaysOf(verify::Mix(index), kBucketCount)};
  };
  const std::array<uint64_t, kWays> roots{1, 2, 3};
  for (size_t round = 1; round <= 3; ++round) {
    EXPECT_TRUE(search.Find(roots, full).empty());
    EXPECT_EQ(asked, round * kPathNodesMax);
  }
}

// A hole on the last bucket of the budget is found, one behind it is not.
TEST(Path, FindsAHoleUpToTheEndOfItsBudget) {
  constexpr uint64_t kBucketCount = uint64_t{1} << 40;
  const std::array<uint64_t, kWays> roots{1, 2, 3};
  PathSearch search;
  for (const size_t hole : {size_t{1}, kPathNodesMax / 2, kPathNodesMax, kPathNodesMax + 1}) {
    size_t asked = 0;
    const auto path = search.Find(roots, [&](uint64_t index) {
      if (++asked == hole) return Occupant{Kind::kNone, {}};
      return Occupant{Kind::kMovable, WaysOf(verify::Mix(index), kBucketCount)};
    });
    EXPECT_EQ(path.empty(), hole > kPathNodesMax) << hole;
  }
}

}  // namespace
}  // namespace plov::cuckoo
