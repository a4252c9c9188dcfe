// A growing table at rest: in every phase it holds the model, and readers with old views are told
// the truth or to read the superblock.
#include "cuckoo/growing_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/cuckoo/growing_shard.h"
#include "tests/cuckoo/growth_scan.h"
#include "tests/cuckoo/heap_shard.h"
#include "tests/support/sanitizers.h"

namespace plov::cuckoo {
namespace {

using Action = Lookup::Action;
using Phase = GrowingTable::Phase;
using Result = GrowingShard::Result;
using FindResult = Table::FindResult;

Form AnyForm(std::mt19937_64* random) {
  return (*random)() % 2 == 0 ? Form::kInline : Form::kReference;
}

// A client that keeps its view for as long as it gets answers under it.
class ViewReader {
 public:
  ViewReader(GrowingShard* shard, size_t cache_bytes)
      : shard_(shard), view_(shard->view()), reader_(shard, &view_, cache_bytes) {}

  // Under the newest view a shard at rest answers; under an old one it need not.
  Answer Get(const std::string& key) {
    Answer answer = reader_.Get(key);
    const bool is_old = view_.superblock_version != shard_->view().superblock_version;
    if (is_old && (answer.action == Action::kRefresh || answer.action == Action::kAskServer)) {
      ++refreshes_;
      view_ = shard_->view();
      answer = reader_.Get(key);
    }
    return answer;
  }

  uint64_t refreshes() const { return refreshes_; }

 private:
  GrowingShard* shard_;
  ShardView view_;
  HeapReader reader_;
  uint64_t refreshes_ = 0;
};

struct Course {
  const char* name;
  uint64_t bucket_count;
  uint32_t bucket_bytes;
  double factor;
  int growths;
  uint64_t step;  // buckets
};

void PrintTo(const Course& course, std::ostream* out) { *out << course.name; }

// A table that grows, what it must hold, and clients, one operation or step of growth at a time.
class ModelRun {
 public:
  explicit ModelRun(const Course& course)
      : shard_({.bucket_count = course.bucket_count,
                .bucket_bytes = course.bucket_bytes,
                .region_bytes = size_t{16} << 20}),
        scan_(&shard_),
        readers_{ViewReader(&shard_, 0), ViewReader(&shard_, 1024), ViewReader(&shard_, 1 << 16)},
        random_(course.bucket_count) {}

  GrowingShard& shard() { return shard_; }
  uint64_t refused() const { return refused_; }
  uint64_t refreshes() const {
    return readers_[0].refreshes() + readers_[1].refreshes() + readers_[2].refreshes();
  }

  // Up to about seven eighths of the buckets are filled.
  void Operate() {
    const std::string key = KeyOf(random_() % (shard_.current().bucket_count * 13 / 10));
    if (random_() % 3 == 0) {
      ASSERT_EQ(shard_.Erase(key),
                model_.erase(key) == 1 ? FindResult::kFound : FindResult::kAbsent);
      return;
    }
    const std::string value(random_() % (shard_.current().bucket_bytes - 48), 'v');
    const Result result = shard_.Put(key, value, AnyForm(&random_));
    if (result == Result::kDone) {
      model_[key] = {value, shard_.last_version()};
      return;
    }
    ASSERT_EQ(result, Result::kFull);
    ASSERT_FALSE(model_.contains(key)) << "an overwrite needs no space";
    ++refused_;
  }

  // All bytes, and some keys as readers see them; of large tables not every time.
  void Check() {
    const uint64_t bucket_count = shard_.current().bucket_count;
    if (bucket_count > 64 && random_() % (bucket_count / 32) != 0) return;
    ASSERT_TRUE(scan_.Check(model_)) << "in phase " << static_cast<int>(shard_.table().phase());
    for (int i = 0; i < 4; ++i) {
      const std::string key = KeyOf(random_() % (bucket_count * 13 / 10));
      const Answer answer = readers_[random_() % readers_.size()].Get(key);
      const auto stored = model_.find(key);
      ASSERT_EQ(answer.action, stored == model_.end() ? Action::kAbsent : Action::kHit) << key;
      if (stored != model_.end()) {
        ASSERT_EQ((Stored{answer.value, answer.version}), stored->second) << key;
      }
    }
  }

  void ReleaseAll() {
    while (!shard_.retired().empty()) shard_.Release(0, random_() % 2 == 0);
  }

 private:
  GrowingShard shard_;
  GrowthScan scan_;
  std::array<ViewReader, 3> readers_;
  std::mt19937_64 random_;
  Model model_;
  uint64_t refused_ = 0;
};

class GrowingTableModel : public ::testing::TestWithParam<Course> {};

TEST_P(GrowingTableModel, HoldsTheModelThroughManyGrowths) {
  const Course& course = GetParam();
  ModelRun model(course);
  GrowingShard& shard = model.shard();
  for (int growth = 0; growth < course.growths; ++growth) {
    for (uint64_t i = 0; i < 4 * shard.current().bucket_count; ++i) {
      ASSERT_NO_FATAL_FAILURE(model.Operate());
      ASSERT_NO_FATAL_FAILURE(model.Check());
    }
    const auto next_count =
        static_cast<uint64_t>(static_cast<double>(shard.current().bucket_count) * course.factor);
    ASSERT_TRUE(shard.Prepare(next_count));
    // A pass over the old table, two at most where a PUT had filled the next one: it is larger.
    while (shard.table().phase() != Phase::kSteady) {
      shard.Advance(course.step);
      ASSERT_NO_FATAL_FAILURE(model.Check());
      ASSERT_NO_FATAL_FAILURE(model.Operate());
      ASSERT_NO_FATAL_FAILURE(model.Check());
    }
    ASSERT_EQ(shard.current().bucket_count, next_count);
    model.ReleaseAll();
  }
  EXPECT_GT(model.refreshes(), static_cast<uint64_t>(course.growths));
  EXPECT_GT(shard.table().stats().moves, 50u);
}

INSTANTIATE_TEST_SUITE_P(Courses, GrowingTableModel,
                         ::testing::Values(Course{"DoubledByOne", 8, 64, 2, 8, 1},
                                           Course{"DoubledBySeven", 16, 64, 2, 7, 7},
                                           Course{"DoubledAtOnce", 16, 64, 2, 7, 1'000'000},
                                           Course{"LittleByOne", 8, 64, 1.3, 16, 1},
                                           Course{"LittleByFive", 16, 64, 1.3, 14, 5},
                                           Course{"LargeBuckets", 8, 128, 2, 7, 3},
                                           Course{"LargeBucketsLittle", 8, 128, 1.3, 14, 1},
                                           Course{"SameSizeByTwo", 24, 64, 1, 24, 2}),
                         [](const auto& course) { return std::string(course.param.name); });

void Fill(GrowingShard* shard, uint64_t count, Model* model = nullptr) {
  for (uint64_t number = 0; number < count; ++number) {
    const Form form = number % 2 == 0 ? Form::kInline : Form::kReference;
    ASSERT_EQ(shard->Put(KeyOf(number), "before", form), Result::kDone);
    if (model != nullptr) (*model)[KeyOf(number)] = {"before", shard->last_version()};
  }
}

std::vector<std::byte> ImageOf(const GrowingShard& shard, const Geometry& geometry) {
  const auto table = shard.bytes().subspan(geometry.offset, geometry.table_bytes());
  return {table.begin(), table.end()};
}

TEST(GrowingTable, StepsAreAsLongAsAskedFor) {
  GrowingShard shard({.bucket_count = 16});
  GrowingTable& table = shard.table();
  EXPECT_EQ(table.phase(), Phase::kSteady);
  EXPECT_EQ(table.capacity(), 16u);
  ASSERT_TRUE(shard.Prepare(40));
  EXPECT_EQ(table.phase(), Phase::kPreparing);
  for (const uint64_t sealed : {15u, 30u, 40u}) {
    EXPECT_EQ(table.PrepareSome(15), sealed == 40);
    EXPECT_EQ(table.prepared(), sealed);
    EXPECT_EQ(table.next(), nullptr);
    EXPECT_EQ(table.capacity(), 16u);
  }
  table.StartMoving();
  EXPECT_EQ(table.phase(), Phase::kMoving);
  ASSERT_NE(table.next(), nullptr);
  EXPECT_EQ(table.next()->geometry().generation, 2u);
  EXPECT_EQ(table.capacity(), 40u);
  EXPECT_FALSE(table.MoveSome(15));
  EXPECT_TRUE(table.MoveSome(1));
  EXPECT_TRUE(table.MoveSome(1)) << "nothing is left";
  EXPECT_EQ(table.Switch().generation, 1u);
  EXPECT_EQ(table.phase(), Phase::kRetiring);
  EXPECT_EQ(table.next(), nullptr);
  EXPECT_EQ(table.capacity(), 40u);
  EXPECT_FALSE(table.RetireSome(15));
  EXPECT_TRUE(table.RetireSome(15));
  EXPECT_EQ(table.phase(), Phase::kSteady);
  EXPECT_EQ(table.current().geometry().generation, 2u);
}

TEST(GrowingTable, WithoutHeapNothingIsPrepared) {
  if (test::kSanitized) {
    GTEST_SKIP() << "a sanitizer's heap does not run out: it ends the process";
  }
  GrowingShard shard({.bucket_count = 16});
  Geometry huge = shard.current();
  huge.generation = 2;
  huge.bucket_count = uint64_t{1} << 60;
  EXPECT_FALSE(shard.table().Prepare(huge));
  EXPECT_EQ(shard.table().phase(), Phase::kSteady);
  ASSERT_TRUE(shard.Prepare(32));
}

// A key that is there keeps its place until it travels; a new one goes to the next table.
TEST(GrowingTable, WhileKeysMoveOnlyNewOnesGoToTheNextTable) {
  GrowingShard shard({.bucket_count = 16});
  ASSERT_NO_FATAL_FAILURE(Fill(&shard, 8));
  ASSERT_TRUE(shard.Prepare(32));
  AdvanceTo(&shard, Phase::kMoving);
  for (uint64_t number = 0; number < 16; ++number) {
    ASSERT_EQ(shard.Put(KeyOf(number), "after", Form::kInline), Result::kDone);
    const Geometry& place = number < 8 ? shard.current() : shard.other();
    EXPECT_TRUE(ContentsOf(&shard, place).places.contains(KeyOf(number))) << number;
  }
  // Erased and put again it is a new one.
  ASSERT_EQ(shard.Erase(KeyOf(0)), FindResult::kFound);
  ASSERT_EQ(shard.Put(KeyOf(0), "again", Form::kReference), Result::kDone);
  EXPECT_FALSE(ContentsOf(&shard, shard.current()).places.contains(KeyOf(0)));
  EXPECT_EQ(HeapReader(&shard).Get(KeyOf(0)).value, "again");
}

TEST(GrowingTable, APreparationThatIsAbandonedLeavesNoTrace) {
  GrowingShard shard({.bucket_count = 16});
  Model model;
  ASSERT_NO_FATAL_FAILURE(Fill(&shard, 12, &model));
  GrowthScan scan(&shard);
  const auto before = ImageOf(shard, shard.current());
  for (const uint64_t buckets : {0u, 5u, 32u}) {
    const TableStats stats = shard.table().stats();
    ASSERT_TRUE(shard.Prepare(32));
    shard.table().PrepareSome(buckets);
    ASSERT_TRUE(scan.Check(model));
    shard.Abandon();
    EXPECT_EQ(shard.table().phase(), Phase::kSteady);
    EXPECT_EQ(shard.table().stats().moves, stats.moves);
    EXPECT_EQ(ImageOf(shard, shard.current()), before);
    ASSERT_TRUE(scan.Check(model));
  }
  ASSERT_TRUE(shard.Prepare(24));
  AdvanceTo(&shard, Phase::kSteady, 3);
  EXPECT_TRUE(scan.Check(model));
}

TEST(GrowingTable, RetiredMeansEveryBucketAndNothingElse) {
  GrowingShard shard({.bucket_count = 16});
  ASSERT_NO_FATAL_FAILURE(Fill(&shard, 12));
  ASSERT_TRUE(shard.Prepare(32));
  AdvanceTo(&shard, Phase::kRetiring);
  const Geometry old = shard.other();
  const auto after = ImageOf(shard, shard.current());
  for (uint64_t retired = 0; retired < 16; ++retired) {
    const auto buckets = ContentsOf(&shard, old).buckets;
    for (uint64_t index = 0; index < 16; ++index) {
      EXPECT_EQ(buckets[index]->kind() == verify::BucketKind::kRetired, index < retired);
    }
    EXPECT_EQ(shard.table().RetireSome(1), retired == 15);
  }
  EXPECT_EQ(ContentsOf(&shard, old).buckets[15]->kind(), verify::BucketKind::kRetired);
  EXPECT_EQ(ImageOf(shard, shard.current()), after);
}

}  // namespace
}  // namespace plov::cuckoo
