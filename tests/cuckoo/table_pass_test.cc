// A pass over a table that is written, grows, and moves items between buckets and stash meanwhile.
#include "cuckoo/table_pass.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <set>
#include <string>

#include "tests/cuckoo/growing_shard.h"

namespace plov::cuckoo {
namespace {

using Phase = GrowingTable::Phase;
using Progress = TablePass::Progress;
using Result = GrowingShard::Result;

struct PassWorld {
  explicit PassWorld(const GrowingShard::Options& options) : shard(options) {}

  void Meet(const verify::Bucket& bucket) { met.insert(shard.table().current().KeyOf(bucket)); }
  TablePass Pass() {
    return {&shard.table(), [this](const verify::Bucket& bucket) { Meet(bucket); }};
  }

  GrowingShard shard;
  std::multiset<std::string> met;
};

TEST(TablePass, MeetsEachItemOnceWhileNobodyWrites) {
  PassWorld world({.bucket_count = 64, .stash_pages = 1});
  uint64_t count = 0;
  while (world.shard.table().stats().stashed < 3) {
    const Form form = count % 2 == 0 ? Form::kInline : Form::kReference;
    ASSERT_EQ(world.shard.Put(KeyOf(count++), "v", form), Result::kDone);
  }
  TablePass pass = world.Pass();
  Progress progress = Progress::kMore;
  while (progress == Progress::kMore) progress = pass.Step(5);
  EXPECT_EQ(progress, Progress::kOver);
  EXPECT_EQ(world.met.size(), count);
  for (uint64_t i = 0; i < count; ++i) EXPECT_EQ(world.met.count(KeyOf(i)), 1);
}

TEST(TablePass, SaysWhichBucketFailsItsSeal) {
  PassWorld world({.bucket_count = 64});
  ASSERT_EQ(world.shard.Put(KeyOf(1), "v", Form::kInline), Result::kDone);
  world.shard.region()[world.shard.current().BucketOffset(40) + 20] ^= std::byte{1};
  TablePass pass = world.Pass();
  EXPECT_EQ(pass.Step(40), Progress::kMore);
  EXPECT_EQ(pass.Step(1), Progress::kDamaged);
}

// Items that stay, among others that come and go: whatever they do to the places of those that stay, the pass
// meets these.
class PassUnderWrites {
 public:
  explicit PassUnderWrites(uint64_t seed)
      : random_(seed),
        world_({.bucket_count = 16 + 16 * Below(3),
                .hash_seed = seed,
                .region_bytes = size_t{1} << 18,
                .stash_pages = 2}) {}

  void Run() {
    const uint64_t stay = world_.shard.current().bucket_count * (60 + Below(45)) / 100;
    uint64_t next = 0;
    for (; next < stay; ++next) Put(next);
    for (uint64_t turns = Below(40); turns > 0; --turns) Disturb(stay);
    const bool is_steady = world_.shard.table().phase() == Phase::kSteady;
    if (is_steady && Below(2) == 0) world_.shard.Prepare(world_.shard.current().bucket_count * 2);
    // One begins while the other is under way, and ends before or after it.
    std::multiset<std::string> met_by_other;
    std::optional<TablePass> other;
    const auto begin_other = [&] {
      other.emplace(&world_.shard.table(), [&](const verify::Bucket& bucket) {
        met_by_other.insert(world_.shard.table().current().KeyOf(bucket));
      });
    };
    TablePass pass = world_.Pass();
    while (pass.Step(1 + Below(3)) == Progress::kMore) {
      if (!other && Below(10) == 0) begin_other();
      if (other) other->Step(Below(6));
      for (uint64_t turns = Below(4); turns > 0; --turns) Disturb(stay);
    }
    if (!other) begin_other();
    while (other->Step(1) == Progress::kMore) Disturb(stay);
    for (uint64_t i = 0; i < stay; ++i) {
      EXPECT_GE(world_.met.count(KeyOf(i)), 1) << KeyOf(i) << " was not met";
      EXPECT_GE(met_by_other.count(KeyOf(i)), 1) << KeyOf(i) << " was not met by the other";
    }
  }
  uint64_t unstashed() const { return unstashed_; }
  uint64_t moving() const { return moving_; }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }

  void Put(uint64_t number) {
    const Form form = Below(2) == 0 ? Form::kInline : Form::kReference;
    ASSERT_EQ(world_.shard.Put(KeyOf(number), "v", form), Result::kDone);
  }

  void Disturb(uint64_t stay) {
    GrowingTable& table = world_.shard.table();
    const uint64_t other = stay + Below(12);
    const uint64_t stashed = table.stats().stashed;
    moving_ += table.phase() == Phase::kMoving ? 1 : 0;
    switch (Below(5)) {
      case 0:
      case 1:
        Put(other);
        break;
      case 2:
        world_.shard.Erase(KeyOf(other));
        break;
      case 3:
        table.Unstash(1 + Below(4));
        unstashed_ += stashed - table.stats().stashed;
        break;
      default:
        if (table.phase() != Phase::kSteady) {
          world_.shard.Advance(1 + Below(8));
        } else if (Below(6) == 0 && table.current().geometry().bucket_count < 200) {
          world_.shard.Prepare(table.current().geometry().bucket_count * 2);
        }
    }
  }

  std::mt19937_64 random_;
  PassWorld world_;
  uint64_t unstashed_ = 0;
  uint64_t moving_ = 0;
};

TEST(TablePass, MeetsWhatStaysWhereverItMoves) {
  uint64_t unstashed = 0;
  uint64_t moving = 0;
  for (uint64_t seed = 1; seed <= 3000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    PassUnderWrites run(seed);
    run.Run();
    unstashed += run.unstashed();
    moving += run.moving();
  }
  EXPECT_GT(unstashed, 100);
  EXPECT_GT(moving, 1000);
}

}  // namespace
}  // namespace plov::cuckoo
