// The invariants of cuckoo/table.h after every single bucket rewrite, inside the operations too.
#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "tests/cuckoo/heap_shard.h"
#include "tests/cuckoo/table_scan.h"
#include "tests/watched/watched_words.h"

namespace plov::cuckoo {
namespace {

using verify::Store;

// Looks at the whole table after each seal that is published in it.
class RewriteWatch {
 public:
  explicit RewriteWatch(HeapShard* shard) : shard_(shard), before_(ContentsOf(shard)) {
    verify::store_observer = [this](Store store, const uint64_t* word) { OnStore(store, word); };
  }
  ~RewriteWatch() { verify::store_observer = nullptr; }
  RewriteWatch(const RewriteWatch&) = delete;
  RewriteWatch& operator=(const RewriteWatch&) = delete;

  // The key that the writer works on; of all others the model says what is held.
  void Begin(const Model* model, std::string key) {
    model_ = model;
    key_ = std::move(key);
  }

  const std::string& wrong() const { return wrong_; }
  uint64_t rewrites() const { return rewrites_; }
  uint64_t twice_held() const { return twice_held_; }

 private:
  void OnStore(Store store, const uint64_t* word) {
    if (store != Store::kSeal || !wrong_.empty()) return;
    const Geometry& geometry = shard_->geometry();
    const auto offset =
        static_cast<uint64_t>(reinterpret_cast<const std::byte*>(word) - shard_->bytes().data());
    if (offset >= geometry.BucketOffset(geometry.bucket_count)) return;  // a record's
    ++rewrites_;
    const uint64_t index = (offset - geometry.offset) / geometry.bucket_bytes;
    Contents now = ContentsOf(shard_);
    wrong_ = WrongRewrite(now, index);
    if (wrong_.empty()) wrong_ = WrongKeys(now);
    if (wrong_.empty()) wrong_ = WrongHome(now, index);
    before_ = std::move(now);
  }

  // Invariant 3. Other buckets are as they were: one rewrite is one bucket.
  std::string WrongRewrite(const Contents& now, uint64_t rewritten) const {
    for (uint64_t index = 0; index < now.buckets.size(); ++index) {
      if (!now.buckets[index]) return "bucket " + std::to_string(index) + " is not whole";
      const uint32_t expected = before_.buckets[index]->version() + (index == rewritten ? 1 : 0);
      if (now.buckets[index]->version() != expected) {
        return "bucket " + std::to_string(index) + " has not its version";
      }
    }
    return {};
  }

  // Invariants 1 and 2, for every key that nobody is inserting or erasing.
  std::string WrongKeys(const Contents& now) {
    for (const auto& [key, stored] : *model_) {
      const auto found = now.places.find(key);
      if (key == key_) continue;
      if (found == now.places.end()) return key + " is absent";
      if (found->second.size() > 2 || now.copies.at(key).size() != 1) return key + ": copies";
      if (*now.copies.at(key).begin() != std::pair(stored.value, stored.version)) {
        return key + ": wrong item";
      }
      if (!now.IsReachable(key)) return key + " is not where it is listed";
      twice_held_ += found->second.size() == 2;
    }
    return {};
  }

  // Invariant 4: what a reader might overlook is always between two versions of the home. A key
  // that appears away from home was listed before (W4) or its home is rewritten before it
  // disappears from where it was (W5).
  std::string WrongHome(const Contents& now, uint64_t rewritten) {
    for (const auto& [key, indexes] : now.places) {
      const uint64_t home = shard_->WaysOf(key)[0];
      if (rewritten == home) moving_.erase(key);
      const auto earlier = before_.places.find(key);
      if (earlier == before_.places.end()) {
        if (!now.IsReachable(key)) return key + " came before it was listed";
      } else if (indexes.size() > earlier->second.size()) {
        if (rewritten != home) moving_.insert(key);
      } else if (indexes.size() < earlier->second.size() && moving_.contains(key)) {
        return key + " moved and its home kept its version";
      }
    }
    for (const auto& [key, indexes] : before_.places) {
      const bool is_gone = !now.places.contains(key);
      if (is_gone && !before_.IsReachable(key)) {
        return key + " was un-listed before it went";
      }
    }
    return {};
  }

  HeapShard* shard_;
  Contents before_;
  const Model* model_ = nullptr;
  std::string key_;
  std::set<std::string> moving_;  // held twice, the home not yet rewritten
  std::string wrong_;
  uint64_t rewrites_ = 0;
  uint64_t twice_held_ = 0;
};

struct Shape {
  uint64_t bucket_count;
  uint32_t bucket_bytes;
};

void PrintTo(const Shape& shape, std::ostream* out) {
  *out << shape.bucket_count << "Of" << shape.bucket_bytes;
}

class TableStores : public ::testing::TestWithParam<Shape> {};

TEST_P(TableStores, InvariantsHoldAfterEveryRewrite) {
  const auto [bucket_count, bucket_bytes] = GetParam();
  HeapShard shard({.bucket_count = bucket_count,
                   .bucket_bytes = bucket_bytes,
                   .record_area_bytes = size_t{8} << 20});
  RewriteWatch watch(&shard);
  Model model;
  std::mt19937_64 random(bucket_count);
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = "key" + std::to_string(random() % (bucket_count * 5 / 4));
    watch.Begin(&model, key);
    if (random() % 5 < 2) {
      shard.Erase(key);
      model.erase(key);
    } else {
      const Form form = random() % 2 == 0 ? Form::kInline : Form::kReference;
      const std::string value = std::to_string(step);
      if (shard.Put(key, value, form) == HeapShard::Result::kDone) {
        model[key] = {value, shard.last_version()};
      }
    }
    ASSERT_EQ(watch.wrong(), "") << "step " << step << ", " << key;
  }
  EXPECT_GT(watch.rewrites(), 20'000u);
  EXPECT_GT(watch.twice_held(), 1000u) << "no move was seen";
}

INSTANTIATE_TEST_SUITE_P(Shapes, TableStores,
                         ::testing::Values(Shape{8, 64}, Shape{16, 64}, Shape{16, 128},
                                           Shape{40, 64}));

}  // namespace
}  // namespace plov::cuckoo
