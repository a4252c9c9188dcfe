// The invariants of cuckoo/growing_table.h after every single bucket rewrite, inside the operations
// and the steps of growth too.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "tests/cuckoo/growing_shard.h"
#include "tests/cuckoo/table_scan.h"
#include "tests/watched/watched_words.h"

namespace plov::cuckoo {
namespace {

using Phase = GrowingTable::Phase;
using verify::Store;

// Looks at both tables after each seal that is published in one of them.
class GrowthWatch {
 public:
  explicit GrowthWatch(GrowingShard* shard) : shard_(shard) {
    verify::store_observer = [this](Store store, const uint64_t* word) { OnStore(store, word); };
  }
  ~GrowthWatch() { verify::store_observer = nullptr; }
  GrowthWatch(const GrowthWatch&) = delete;
  GrowthWatch& operator=(const GrowthWatch&) = delete;

  // The key that the writer works on; of all others the model says what is held.
  void Begin(const Model* model, std::string key) {
    model_ = model;
    key_ = std::move(key);
  }

  const std::string& wrong() const { return wrong_; }
  uint64_t rewrites() const { return rewrites_; }
  uint64_t in_both() const { return in_both_; }

 private:
  bool IsIn(const Geometry& geometry, const uint64_t* word) const {
    const auto offset =
        static_cast<uint64_t>(reinterpret_cast<const std::byte*>(word) - shard_->bytes().data());
    return offset >= geometry.offset && offset - geometry.offset < geometry.table_bytes();
  }

  void OnStore(Store store, const uint64_t* word) {
    const Phase phase = shard_->table().phase();
    const bool has_two = phase == Phase::kMoving || phase == Phase::kRetiring;
    if (store != Store::kSeal || !wrong_.empty()) return;
    if (!IsIn(shard_->current(), word) && !(has_two && IsIn(shard_->other(), word))) return;
    ++rewrites_;
    const Contents current = ContentsOf(shard_, shard_->current());
    if (phase == Phase::kMoving) {
      const Contents next = ContentsOf(shard_, shard_->other());
      wrong_ = WrongWhileMoving(current, next);
    } else {
      wrong_ = WrongKeys(current, nullptr);
      if (wrong_.empty()) wrong_ = WrongFlags(current, false);
    }
    if (wrong_.empty() && phase == Phase::kRetiring) {
      wrong_ = WrongOld(ContentsOf(shard_, shard_->other()));
    }
  }

  // A key that nobody is inserting or erasing is where a reader finds it, with its last value.
  std::string WrongKeys(const Contents& first, const Contents* second) {
    for (const auto& [key, stored] : *model_) {
      if (key == key_) continue;
      if (!first.IsReachable(key) && (second == nullptr || !second->IsReachable(key))) {
        return key + " is absent";
      }
      const std::pair item(stored.value, stored.version);
      for (const Contents* table : {&first, second}) {
        if (table == nullptr || !table->places.contains(key)) continue;
        const auto& copies = table->copies.at(key);
        if (copies.size() != 1 || *copies.begin() != item) return key + ": copies";
      }
    }
    return {};
  }

  // Readers send no one to a table that is not published, and say that a table is history only
  // when another is known.
  std::string WrongFlags(const Contents& contents, bool may_forward) const {
    for (const auto& bucket : contents.buckets) {
      if (!bucket) return "a bucket is not whole";
      if (bucket->kind() == verify::BucketKind::kRetired) return "a table in use is retired";
      if (bucket->forward() && !may_forward) return "a bucket forwards to nowhere";
    }
    return {};
  }

  // Invariants 1 and 2.
  std::string WrongWhileMoving(const Contents& old, const Contents& next) {
    const std::array<Geometry, 2>& published = shard_->view().tables;
    const bool is_published = published[0].generation == shard_->current().generation &&
                              published[1].generation == shard_->other().generation;
    std::string wrong = WrongFlags(old, is_published);
    if (wrong.empty()) wrong = WrongFlags(next, false);
    if (wrong.empty()) wrong = WrongKeys(old, &next);
    if (!wrong.empty()) return wrong;
    if (generation_ != shard_->other().generation) in_old_.reset();
    generation_ = shard_->other().generation;
    for (const auto& [key, places] : next.places) {
      if (!old.buckets[old.WaysOf(key)[0]]->forward()) return key + " travelled unannounced";
      if (!old.places.contains(key)) continue;
      ++in_both_;
      if (old.copies.at(key) != next.copies.at(key)) return key + " differs between the tables";
    }
    std::set<std::string> now;
    for (const auto& [key, places] : old.places) {
      if (in_old_ && !in_old_->contains(key)) return key + " came to the old table";
      now.insert(key);
    }
    in_old_ = std::move(now);
    return {};
  }

  // Invariant 3.
  std::string WrongOld(const Contents& old) const {
    for (const auto& bucket : old.buckets) {
      if (!bucket) return "an old bucket is not whole";
      const bool is_retired = bucket->kind() == verify::BucketKind::kRetired;
      if (!is_retired && !bucket->forward()) return "an old bucket neither forwards nor is retired";
      if (!is_retired && bucket->kind() != verify::BucketKind::kEmpty) return "an old key is left";
      if (is_retired && shard_->view().tables[0].generation != shard_->current().generation) {
        return "a table that is published first is retired";
      }
    }
    return {};
  }

  GrowingShard* shard_;
  const Model* model_ = nullptr;
  std::string key_;
  uint64_t generation_ = 0;                      // that keys travel to
  std::optional<std::set<std::string>> in_old_;  // keys, while they travel
  std::string wrong_;
  uint64_t rewrites_ = 0;
  uint64_t in_both_ = 0;
};

struct Shape {
  std::array<uint64_t, 3> bucket_counts;
  uint32_t bucket_bytes;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.bucket_counts[0] << "Of" << shape.bucket_bytes;
}

class GrowthStores : public ::testing::TestWithParam<Shape> {};

TEST_P(GrowthStores, InvariantsHoldAfterEveryRewrite) {
  const Shape& shape = GetParam();
  GrowingShard shard({.bucket_count = shape.bucket_counts[0], .bucket_bytes = shape.bucket_bytes});
  GrowthWatch watch(&shard);
  Model model;
  std::mt19937_64 random(shape.bucket_counts[0]);
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = "key" + std::to_string(random() % (shape.bucket_counts[0] * 5 / 4));
    const uint64_t what = random() % 8;
    watch.Begin(&model, what < 5 ? key : "");
    if (what < 2) {
      shard.Erase(key);
      model.erase(key);
    } else if (what < 5) {
      const Form form = random() % 2 == 0 ? Form::kInline : Form::kReference;
      const std::string value = std::to_string(step);
      if (shard.Put(key, value, form) == GrowingShard::Result::kDone) {
        model[key] = {value, shard.last_version()};
      }
    } else if (shard.table().phase() != Phase::kSteady) {
      shard.Advance(1 + random() % 2);
    } else {
      while (!shard.retired().empty()) shard.Release(0, false);
      ASSERT_TRUE(shard.Prepare(shape.bucket_counts[random() % shape.bucket_counts.size()]));
    }
    ASSERT_EQ(watch.wrong(), "") << "step " << step << ", " << key;
  }
  EXPECT_GT(watch.rewrites(), 10'000u);
  EXPECT_GT(watch.in_both(), 1000u) << "no key was seen to travel";
  EXPECT_GT(shard.current().generation, 50u);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GrowthStores,
                         ::testing::Values(Shape{{8, 8, 8}, 64}, Shape{{16, 32, 24}, 64},
                                           Shape{{16, 21, 32}, 128}, Shape{{20, 26, 15}, 64}));

}  // namespace
}  // namespace plov::cuckoo
