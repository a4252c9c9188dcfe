#include "cuckoo/table.h"

#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/cuckoo/heap_shard.h"
#include "tests/cuckoo/table_scan.h"

namespace plov::cuckoo {
namespace {

using Action = Lookup::Action;
using Result = HeapShard::Result;
using FindResult = Table::FindResult;

std::vector<std::byte> ImageOf(const HeapShard& shard) {
  const auto table = shard.bytes().subspan(shard.geometry().offset, shard.geometry().table_bytes());
  return {table.begin(), table.end()};
}

// A table and what it must hold, under random operations.
class ModelRun {
 public:
  ModelRun(const HeapShard::Options& options, uint64_t seed)
      : shard_(options), scan_(&shard_), reader_(&shard_), random_(seed) {}

  void Step(size_t key_count) {
    const std::string key = "key" + std::to_string(random_() % key_count);
    if (random_() % 3 == 0) {
      ASSERT_EQ(shard_.Erase(key),
                model_.erase(key) == 1 ? FindResult::kFound : FindResult::kAbsent);
      return;
    }
    const size_t value_bytes_max = shard_.geometry().bucket_bytes - 48;
    const std::string value(random_() % value_bytes_max, static_cast<char>(random_()));
    const Form form = random_() % 2 == 0 ? Form::kInline : Form::kReference;
    const auto before = ImageOf(shard_);
    const uint64_t moves = shard_.table().stats().moves;
    const Result result = shard_.Put(key, value, form);
    if (result == Result::kDone) {
      model_[key] = {value, shard_.last_version()};
      moved_ += shard_.table().stats().moves != moves;
      return;
    }
    ++refused_;
    ASSERT_EQ(result, Result::kFull);
    ASSERT_FALSE(model_.contains(key)) << "an overwrite needs no space";
    ASSERT_EQ(ImageOf(shard_), before);
    ASSERT_EQ(shard_.table().stats().moves, moves);
  }

  void CheckAll(size_t key_count) {
    ASSERT_TRUE(scan_.Check(model_));
    for (size_t i = 0; i < key_count; ++i) {
      const std::string key = "key" + std::to_string(i);
      const Answer answer = reader_.Get(key);
      const auto stored = model_.find(key);
      ASSERT_EQ(answer.action, stored == model_.end() ? Action::kAbsent : Action::kHit) << key;
      if (stored != model_.end()) {
        ASSERT_EQ((Stored{answer.value, answer.version}), stored->second) << key;
      }
    }
  }

  uint64_t moved() const { return moved_; }
  uint64_t refused() const { return refused_; }

 private:
  HeapShard shard_;
  TableScan scan_;
  HeapReader reader_;
  std::mt19937_64 random_;
  Model model_;
  uint64_t moved_ = 0;
  uint64_t refused_ = 0;
};

struct Shape {
  uint64_t bucket_count;
  uint32_t bucket_bytes;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.bucket_count << "Of" << shape.bucket_bytes;
}

class TableModel : public ::testing::TestWithParam<Shape> {};

std::string ShapeName(const ::testing::TestParamInfo<Shape>& info) {
  return std::to_string(info.param.bucket_count) + "Of" + std::to_string(info.param.bucket_bytes);
}

using TinyTable = TableModel;

TEST_P(TinyTable, HoldsTheModelAfterEveryOperation) {
  const size_t key_count = 2 * GetParam().bucket_count;
  uint64_t moved = 0, refused = 0;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    ModelRun run({.bucket_count = GetParam().bucket_count,
                  .bucket_bytes = GetParam().bucket_bytes,
                  .hash_seed = seed},
                 seed);
    for (int step = 0; step < 2000; ++step) {
      ASSERT_NO_FATAL_FAILURE(run.Step(key_count)) << "seed " << seed << " step " << step;
      ASSERT_NO_FATAL_FAILURE(run.CheckAll(key_count)) << "seed " << seed << " step " << step;
    }
    moved += run.moved();
    refused += run.refused();
  }
  EXPECT_GT(moved, 100u);
  EXPECT_GT(refused, 100u);
}

INSTANTIATE_TEST_SUITE_P(Table, TinyTable,
                         ::testing::Values(Shape{8, 64}, Shape{8, 128}, Shape{13, 64},
                                           Shape{32, 64}, Shape{32, 128}),
                         ShapeName);

using MidTable = TableModel;

TEST_P(MidTable, HoldsTheModel) {
  const size_t key_count = GetParam().bucket_count * 5 / 4;
  ModelRun run({.bucket_count = GetParam().bucket_count,
                .bucket_bytes = GetParam().bucket_bytes,
                .record_area_bytes = size_t{16} << 20},
               9);
  for (int step = 0; step < 40'000; ++step) {
    ASSERT_NO_FATAL_FAILURE(run.Step(key_count)) << step;
    if (step % 2000 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(run.CheckAll(key_count)) << step;
  }
  ASSERT_NO_FATAL_FAILURE(run.CheckAll(key_count));
  EXPECT_GT(run.moved(), 1000u);
}

INSTANTIATE_TEST_SUITE_P(Table, MidTable, ::testing::Values(Shape{1000, 64}, Shape{777, 128}),
                         ShapeName);

TEST(Table, NothingVerifiesBeforeFormat) {
  HeapShard shard({});
  std::vector<uint64_t> zeros(shard.bytes().size() / verify::kWordBytes);
  Rewrites rewrites;
  Table raw =
      Table::Create(std::as_writable_bytes(std::span(zeros)).data(), shard.geometry(), 1, &rewrites)
          .value();
  for (uint64_t index = 0; index < shard.geometry().bucket_count; ++index) {
    EXPECT_FALSE(raw.Load(index));
  }
  EXPECT_EQ(raw.stats().corrupt, shard.geometry().bucket_count);
  raw.Format();
  for (uint64_t index = 0; index < shard.geometry().bucket_count; ++index) {
    const auto bucket = raw.Load(index);
    ASSERT_TRUE(bucket);
    EXPECT_EQ(bucket->kind(), verify::BucketKind::kEmpty);
    EXPECT_FALSE(bucket->has_directory() || bucket->forward());
  }
}

TEST(Table, AnOverwriteChangesItsBucketOnly) {
  HeapShard shard({});
  ASSERT_EQ(shard.Put("here", "old", Form::kInline), Result::kDone);
  ASSERT_EQ(shard.Put("other", "value", Form::kReference), Result::kDone);
  Table::Slot slot;
  ASSERT_EQ(shard.table().Find(shard.HashOf("here"), "here", &slot), FindResult::kFound);
  auto expected = ImageOf(shard);
  ASSERT_EQ(shard.Put("here", "new", Form::kReference), Result::kDone);
  const auto now = ImageOf(shard);
  const auto at = static_cast<ptrdiff_t>(slot.index * verify::kBucketBytesMin);
  std::copy_n(now.begin() + at, verify::kBucketBytesMin, expected.begin() + at);
  EXPECT_EQ(now, expected);
  EXPECT_EQ(shard.BucketAt(slot.index).version(), slot.bucket.version() + 1);
  EXPECT_EQ(HeapReader(&shard).Get("here").value, "new");
}

// Puts `count` keys of one home into an otherwise empty table.
std::vector<std::string> FillOneHome(HeapShard* shard, uint64_t home, size_t count) {
  std::vector<std::string> keys;
  for (uint64_t next = 0; keys.size() < count;) {
    keys.push_back(NextKey(&next, [&](const auto& key) { return shard->WaysOf(key)[0] == home; }));
    EXPECT_EQ(shard->Put(keys.back(), "value", Form::kInline), Result::kDone);
  }
  return keys;
}

TEST(Table, OverflowComesWithTheFourthDisplacedKeyAndGoesAgain) {
  constexpr uint64_t kHome = 5;
  HeapShard shard({.bucket_count = 128});
  TableScan scan(&shard);
  HeapReader reader(&shard);
  const auto keys = FillOneHome(&shard, kHome, 24);
  Model model;
  for (const auto& key : keys) model[key] = {"value", model.size() + 1};
  ASSERT_TRUE(scan.Check(model));
  EXPECT_TRUE(shard.BucketAt(kHome).overflow());
  EXPECT_EQ(shard.table().stats().displaced, keys.size() - 1);
  EXPECT_EQ(shard.table().stats().overflowed_homes, 1u);
  for (const auto& key : keys) {
    for (const auto& [held, stored] : model) {
      ASSERT_EQ(reader.Get(held).version, stored.version) << held;
    }
    ASSERT_EQ(shard.Erase(key), FindResult::kFound);
    model.erase(key);
    ASSERT_TRUE(scan.Check(model)) << "without " << key;
    ASSERT_EQ(reader.Get(key).action, Action::kAbsent);
  }
  EXPECT_FALSE(shard.BucketAt(kHome).has_directory());
}

// More keys of one home than a byte can count: refused like those of a full table. Only somebody
// who knows the hash seed can bring this about.
TEST(Table, AHomeRefusesMoreKeysThanItCounts) {
  constexpr uint64_t kHome = 5;
  HeapShard shard({.bucket_count = 1024});
  TableScan scan(&shard);
  Model model;
  uint64_t next = 0, refused = 0;
  const auto put_one_more = [&] {
    const auto is_home = [&](const auto& key) { return shard.WaysOf(key)[0] == kHome; };
    const std::string key = NextKey(&next, is_home);
    const auto before = ImageOf(shard);
    if (shard.Put(key, "value", Form::kInline) == Result::kDone) {
      model[key] = {"value", shard.last_version()};
      return;
    }
    ++refused;
    EXPECT_EQ(ImageOf(shard), before);
  };
  for (int i = 0; i < 300; ++i) put_one_more();
  EXPECT_TRUE(scan.Check(model));
  EXPECT_GE(model.size(), 255u);
  EXPECT_GT(refused, 0u);
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(shard.Erase(model.begin()->first), FindResult::kFound);
    model.erase(model.begin());
  }
  refused = 0;
  put_one_more();
  EXPECT_EQ(refused, 0u) << "there is room again";
  EXPECT_TRUE(scan.Check(model));
}

// Their directory entries are equal, and it does not matter whose is taken away.
TEST(Table, KeysWithEqualEntriesDoNotUnlistEachOther) {
  constexpr uint64_t kHome = 3;
  for (const size_t erased : {0u, 1u}) {
    HeapShard shard({.bucket_count = 64});
    FillOneHome(&shard, kHome, 1);
    uint64_t next = 0;
    const auto alike = [&](const auto& key) {
      return shard.WaysOf(key)[0] == kHome && FingerprintOf(shard.HashOf(key)) == 77;
    };
    const std::string keys[] = {NextKey(&next, alike), NextKey(&next, alike)};
    for (const auto& key : keys) ASSERT_EQ(shard.Put(key, key, Form::kInline), Result::kDone);
    const auto home = shard.BucketAt(kHome);
    ASSERT_EQ(home.entry(0), home.entry(1));
    ASSERT_EQ(shard.Erase(keys[erased]), FindResult::kFound);
    EXPECT_EQ(HeapReader(&shard).Get(keys[erased]).action, Action::kAbsent);
    EXPECT_EQ(HeapReader(&shard).Get(keys[1 - erased]).value, keys[1 - erased]);
  }
}

TEST(Table, KeysWithOneHashAreToldApart) {
  HeapShard shard({});
  const uint64_t hash = shard.HashOf("one");
  for (const char* key : {"one", "two", "three"}) {
    Table::Slot slot;
    EXPECT_EQ(shard.table().Find(hash, key, &slot), FindResult::kAbsent);
    verify::Bucket item;
    const verify::ItemView view{key, key, 100u + static_cast<uint8_t>(key[1]), 0, 0};
    item.SetReference(shard.WriteRecord(view, hash), verify::kBucketBytesMin);
    ASSERT_TRUE(shard.table().Insert(hash, item));
  }
  Table::Slot slot;
  ASSERT_EQ(shard.table().Find(hash, "two", &slot), FindResult::kFound);
  shard.table().Erase(hash, slot);
  EXPECT_EQ(shard.table().Find(hash, "two", &slot), FindResult::kAbsent);
  EXPECT_EQ(shard.table().Find(hash, "one", &slot), FindResult::kFound);
  EXPECT_EQ(shard.table().Find(hash, "three", &slot), FindResult::kFound);
}

}  // namespace
}  // namespace plov::cuckoo
