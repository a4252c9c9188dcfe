// Growth that cannot finish: a bucket is damaged, or the next table cannot take every key. Nothing
// is lost or wrongly absent meanwhile, and the rest of the table works.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/cuckoo/growing_shard.h"
#include "tests/cuckoo/growth_scan.h"
#include "tests/cuckoo/heap_shard.h"

namespace plov::cuckoo {
namespace {

using Action = Lookup::Action;
using Phase = GrowingTable::Phase;
using Result = GrowingShard::Result;
using FindResult = Table::FindResult;

constexpr uint64_t kStallBuckets = 32;
constexpr uint64_t kKeyCount = 24;
constexpr uint64_t kUniverse = 60;

// A shard with damage in a bucket of one of its tables: keys for which it is one of the three ways
// may be refused; the others may not notice.
class DamagedRun {
 public:
  explicit DamagedRun(uint64_t seed)
      : shard_({.bucket_count = kStallBuckets, .hash_seed = seed}), random_(seed) {}

  GrowingShard& shard() { return shard_; }

  void Fill() {
    for (uint64_t number = 0; number < kKeyCount; ++number) Put(KeyOf(number));
  }

  void Damage(const Geometry& geometry, uint64_t index) {
    damaged_in_ = geometry;
    damaged_ = index;
    const uint64_t at = geometry.BucketOffset(index) + random_() % geometry.bucket_bytes;
    shard_.region()[at] ^= std::byte(1 + random_() % 255);
  }

  void Operate() {
    const std::string key = KeyOf(random_() % kUniverse);
    if (random_() % 2 == 0) {
      Put(key);
    } else {
      Erase(key);
    }
  }

  void CheckAll() {
    HeapReader reader(&shard_);
    for (uint64_t number = 0; number < kUniverse; ++number) {
      const std::string key = KeyOf(number);
      const auto stored = model_.find(key);
      const bool is_stored = stored != model_.end();
      Table::Slot slot;
      const FindResult verdict = shard_.table().Find(shard_.HashOf(key), key, &slot);
      if (verdict != FindResult::kCorrupt || !MayMeetDamage(key)) {
        ASSERT_EQ(verdict, is_stored ? FindResult::kFound : FindResult::kAbsent) << key;
      }
      const Answer answer = reader.Get(key);
      if (answer.action == Action::kAskServer && MayMeetDamage(key)) {
        ASSERT_TRUE(answer.suspect) << key;
        continue;
      }
      ASSERT_EQ(answer.action, is_stored ? Action::kHit : Action::kAbsent) << key;
      if (is_stored) {
        ASSERT_EQ((Stored{answer.value, answer.version}), stored->second) << key;
      }
    }
  }

  // Of the keys that are left in the old table each has something to do with the damage.
  void CheckLeft() {
    for (const auto& [key, places] : ContentsOf(&shard_, shard_.current()).places) {
      ASSERT_TRUE(MayMeetDamage(key)) << key;
    }
  }

 private:
  bool MayMeetDamage(const std::string& key) const {
    if (damaged_in_.generation == 0) return false;
    return std::ranges::count(WaysOf(shard_.HashOf(key), damaged_in_.bucket_count), damaged_) > 0;
  }

  void Put(const std::string& key) {
    const std::string value = std::to_string(random_() % 1000);
    const Form form = random_() % 2 == 0 ? Form::kInline : Form::kReference;
    const Result result = shard_.Put(key, value, form);
    if (result == Result::kDone) {
      model_[key] = {value, shard_.last_version()};
    } else if (result == Result::kCorrupt) {
      ASSERT_TRUE(MayMeetDamage(key)) << key;
    } else {
      ASSERT_FALSE(model_.contains(key)) << key;
    }
  }

  void Erase(const std::string& key) {
    const FindResult verdict = shard_.Erase(key);
    if (verdict == FindResult::kCorrupt) {
      ASSERT_TRUE(MayMeetDamage(key)) << key;
      return;
    }
    ASSERT_EQ(verdict, model_.erase(key) == 1 ? FindResult::kFound : FindResult::kAbsent) << key;
  }

  GrowingShard shard_;
  std::mt19937_64 random_;
  Model model_;
  Geometry damaged_in_;  // generation 0: not yet
  uint64_t damaged_ = 0;
};

// Whether the bucket holds an item, lists keys, or is empty: it cannot say `forward`.
TEST(GrowingTableStall, ADamagedBucketOfTheOldTableHoldsUpGrowthAndNothingElse) {
  for (uint64_t damaged = 0; damaged < kStallBuckets; ++damaged) {
    SCOPED_TRACE(damaged);
    DamagedRun run(damaged + 1);
    run.Fill();
    GrowingShard& shard = run.shard();
    run.Damage(shard.current(), damaged);
    ASSERT_TRUE(shard.Prepare(2 * kStallBuckets));
    AdvanceTo(&shard, Phase::kMoving, 8);
    EXPECT_FALSE(shard.table().stalled());
    for (int pass = 0; pass < 3; ++pass) {
      for (uint64_t i = 0; i < kStallBuckets / 4; ++i) {
        shard.Advance(4);
        ASSERT_NO_FATAL_FAILURE(run.Operate());
        ASSERT_NO_FATAL_FAILURE(run.CheckAll());
      }
      ASSERT_EQ(shard.table().phase(), Phase::kMoving);
      EXPECT_TRUE(shard.table().stalled());
      ASSERT_NO_FATAL_FAILURE(run.CheckLeft());
    }
    EXPECT_GT(shard.table().stats().corrupt, 0u);
  }
}

// It may finish or not: that depends on whether an old key is homed at the damage.
TEST(GrowingTableStall, ADamagedBucketOfTheNextTableLosesNoOtherKey) {
  int finished = 0;
  for (uint64_t damaged = 0; damaged < 2 * kStallBuckets; ++damaged) {
    SCOPED_TRACE(damaged);
    DamagedRun run(damaged + 1);
    run.Fill();
    GrowingShard& shard = run.shard();
    ASSERT_TRUE(shard.Prepare(2 * kStallBuckets));
    AdvanceTo(&shard, Phase::kMoving, 8);
    for (uint64_t moved = 0; moved < kStallBuckets / 2; moved += 8) shard.Advance(8);
    run.Damage(shard.other(), damaged);
    uint64_t corrupt = 0;
    for (int i = 0; i < 20; ++i) {
      shard.Advance(8);
      ASSERT_NO_FATAL_FAILURE(run.Operate());
      ASSERT_NO_FATAL_FAILURE(run.CheckAll());
      const uint64_t now = shard.table().stats().corrupt;
      ASSERT_GE(now, corrupt);
      corrupt = now;
    }
    if (shard.table().phase() == Phase::kMoving) {
      uint64_t steps = 0;
      while (!shard.table().stalled() && ++steps < 2 * kStallBuckets) shard.Advance(1);
      EXPECT_TRUE(shard.table().stalled());
      ASSERT_NO_FATAL_FAILURE(run.CheckLeft());
    } else {
      ASSERT_EQ(shard.table().phase(), Phase::kSteady);
      ++finished;
    }
  }
  EXPECT_GT(finished, 10);
  EXPECT_LT(finished, 60);
}

// What a growth counted is not forgotten with the old table.
TEST(GrowingTableStall, MovesAndDamageOfAFormerTableStayCounted) {
  GrowingShard shard({.bucket_count = kStallBuckets});
  for (uint64_t number = 0; number < kKeyCount; ++number) {
    ASSERT_EQ(shard.Put(KeyOf(number), "value", Form::kInline), Result::kDone);
  }
  shard.region()[shard.current().BucketOffset(3)] ^= std::byte{1};
  ASSERT_FALSE(shard.table().current().Load(3));
  shard.region()[shard.current().BucketOffset(3)] ^= std::byte{1};
  ASSERT_EQ(shard.table().stats().corrupt, 1u);
  TableStats before = shard.table().stats();
  ASSERT_GT(before.moves, 0u);
  ASSERT_TRUE(shard.Prepare(2 * kStallBuckets));
  while (shard.table().phase() != Phase::kSteady) {
    shard.Advance(1);
    const TableStats now = shard.table().stats();
    ASSERT_EQ(now.items, kKeyCount);
    ASSERT_EQ(now.corrupt, 1u);
    ASSERT_GE(now.moves, before.moves);
    before = now;
  }
}

// Keys that the next table cannot take stay and are served; when others are erased they follow.
TEST(GrowingTableStall, ATooSmallNextTableStallsUntilThereIsRoom) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    GrowingShard shard({.bucket_count = kStallBuckets, .hash_seed = seed});
    GrowthScan scan(&shard);
    Model model;
    for (uint64_t number = 0; number < kKeyCount; ++number) {
      if (shard.Put(KeyOf(number), "value", Form::kReference) != Result::kDone) continue;
      model[KeyOf(number)] = {"value", shard.last_version()};
    }
    ASSERT_GT(model.size(), 20u);
    ASSERT_TRUE(shard.Prepare(16));
    AdvanceTo(&shard, Phase::kMoving, 8);
    EXPECT_EQ(shard.table().capacity(), 16u);
    for (uint64_t step = 0; step < 3 * kStallBuckets; ++step) {
      shard.Advance(1);
      EXPECT_EQ(shard.table().stalled(), (step + 1) % kStallBuckets == 0);
      ASSERT_TRUE(scan.Check(model)) << step;
    }
    // New keys are refused, and nothing is lost by it.
    int refused = 0;
    for (uint64_t number = 1000; number < 1020; ++number) {
      const Result result = shard.Put(KeyOf(number), "new", Form::kInline);
      if (result == Result::kDone) model[KeyOf(number)] = {"new", shard.last_version()};
      refused += result == Result::kFull;
      ASSERT_TRUE(scan.Check(model)) << number;
    }
    EXPECT_GT(refused, 10);
    EXPECT_EQ(shard.table().phase(), Phase::kMoving);
    while (model.size() > 8) {
      const std::string key = model.begin()->first;
      ASSERT_EQ(shard.Erase(key), FindResult::kFound);
      model.erase(key);
      ASSERT_TRUE(scan.Check(model)) << key;
    }
    for (uint64_t step = 0; step < 2 * kStallBuckets; ++step) {
      if (shard.table().phase() != Phase::kMoving) break;
      shard.Advance(1);
      ASSERT_TRUE(scan.Check(model)) << step;
    }
    ASSERT_EQ(shard.table().phase(), Phase::kRetiring) << "one whole pass is enough";
    EXPECT_FALSE(shard.table().stalled()) << "nothing is left";
    AdvanceTo(&shard, Phase::kSteady, 8);
    ASSERT_TRUE(scan.Check(model));
  }
}

}  // namespace
}  // namespace plov::cuckoo
