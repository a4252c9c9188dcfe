// Readers against a table that grows (R5), at every store: the memory after each store of two whole
// growths is kept, and real Lookups READ now this, now a later one. Keys are present throughout, so
// no reader may ever miss one; and a superblock that a bucket calls old must be another by then.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "cuckoo/lookup.h"
#include "cuckoo/table.h"
#include "tests/watched/watched_words.h"

namespace plov::cuckoo {
namespace {

using verify::Bucket;
using Action = Lookup::Action;

constexpr uint64_t kIncarnation = 7;
constexpr uint32_t kBytes = verify::kBucketBytesMin;
// Tight, so that keys are displaced in each.
constexpr std::array<uint64_t, 3> kBucketCounts = {16, 18, 20};
constexpr size_t kKeys = 13;

// The writer, and all that readers could ever have seen of it.
class Growing {
 public:
  explicit Growing(uint64_t seed) : seed_(seed) {
    uint64_t offset = 0;
    for (size_t i = 0; i < kBucketCounts.size(); ++i) {
      geometries_.push_back(
          Geometry::Of({i + 1, offset, kBucketCounts[i], kBytes, 0}, kIncarnation));
      offset += geometries_.back().table_bytes();
    }
    region_.resize(offset / verify::kWordBytes);
    for (const Geometry& geometry : geometries_) {
      tables_.push_back(
          std::make_unique<Table>(Table::Create(bytes(), geometry, seed, &rewrites_).value()));
      tables_.back()->Format();
    }
    for (size_t i = 0; i < kKeys; ++i) {
      keys_.push_back("k" + std::to_string(i));
      const verify::ItemView item{keys_[i], "v", i + 1, 0, 0};
      Bucket bucket;
      bucket.SetInline(item, kBytes);
      EXPECT_TRUE(tables_[0]->Insert(HashOf(keys_[i]), bucket));
    }
    Publish(0, 0);
    verify::store_observer = [this](auto, auto) { Keep(); };
    Grow(0);
    Grow(1);
    verify::store_observer = nullptr;
  }
  ~Growing() { verify::store_observer = nullptr; }

  size_t times() const { return memories_.size(); }
  const std::vector<std::string>& keys() const { return keys_; }
  uint64_t HashOf(const std::string& key) const { return HashKey(key, seed_); }
  const ShardView& ViewAt(size_t time) const { return views_[view_at_[time]]; }
  Bucket BucketAt(size_t time, uint64_t offset) const {
    Bucket bucket;
    std::memcpy(bucket.words(), &memories_[time][offset / verify::kWordBytes], kBytes);
    return bucket;
  }

 private:
  std::byte* bytes() { return std::as_writable_bytes(std::span(region_)).data(); }

  void Keep() {
    memories_.push_back(region_);
    view_at_.push_back(views_.size() - 1);
  }

  void Publish(size_t first, size_t last) {
    ShardView view;
    view.superblock_version = views_.size() + 1;
    view.incarnation = kIncarnation;
    view.hash_seed = seed_;
    view.region_bytes = region_.size() * verify::kWordBytes;
    view.shard_count = 1;
    view.tables[0] = geometries_[first];
    if (last != first) view.tables[1] = geometries_[last];
    views_.push_back(view);
    Keep();
  }

  template <typename Change>
  void Rewrite(size_t table, uint64_t index, Change change) {
    Bucket bucket = tables_[table]->Load(index).value();
    change(&bucket);
    bucket.set_version(bucket.version() + 1);
    bucket.Seal(kBytes, geometries_[table].SeedOf(index));
    verify::StoreBucket(verify::WordsAt(bytes(), geometries_[table].BucketOffset(index)), bucket,
                        kBytes);
  }

  void Grow(size_t table) {
    Publish(table, table + 1);
    Table& old = *tables_[table];
    for (uint64_t home = 0; home < kBucketCounts[table]; ++home) {
      Rewrite(table, home, [](Bucket* bucket) { bucket->set_forward(true); });
      for (const std::string& key : keys_) {
        const uint64_t hash = HashOf(key);
        Table::Slot slot;
        if (HomeOf(hash, kBucketCounts[table]) != home) continue;
        ASSERT_EQ(old.Find(hash, key, &slot), Table::FindResult::kFound);
        ASSERT_TRUE(tables_[table + 1]->Insert(hash, slot.bucket));
        old.Erase(hash, slot);
      }
    }
    Publish(table + 1, table + 1);
    for (uint64_t index = 0; index < kBucketCounts[table]; ++index) {
      Rewrite(table, index, [](Bucket* bucket) { bucket->Retire(kBytes); });
    }
  }

  uint64_t seed_;
  std::vector<uint64_t> region_;
  std::vector<Geometry> geometries_;
  Rewrites rewrites_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::vector<std::string> keys_;
  std::vector<ShardView> views_;
  std::vector<std::vector<uint64_t>> memories_;
  std::vector<size_t> view_at_;
};

struct Ended {
  Action action;
  bool stale_for_ever = false;  // told to refresh, and there was nothing newer
};

// One GET that begins at `time` with the view of a moment before, and drifts through time.
Ended Get(const Growing& growing, const std::string& key, LocationCache* cache,
          std::mt19937_64* random) {
  size_t time = (*random)() % growing.times();
  ShardView view = growing.ViewAt((*random)() % (time + 1));
  // Readers at rest, at a walk and at a run through what the writer does.
  const size_t pace = std::array<size_t, 3>{1, 12, 400}[(*random)() % 3];
  LookupStats stats;
  Lookup lookup;
  const Lookup::Context context{&view, cache, &stats, [] { return uint64_t{1}; }};
  Action action = lookup.Start(&context, key, growing.HashOf(key), 1);
  std::vector<Bucket> buckets(200);
  for (Bucket& bucket : buckets) {
    if (action == Action::kRefresh) {
      if (growing.ViewAt(time).superblock_version == view.superblock_version) {
        return {action, true};
      }
      view = growing.ViewAt(time);
      action = lookup.Start(&context, key, growing.HashOf(key), 1);
    }
    if (action != Action::kRead && action != Action::kPause) return {action};
    time = std::min(time + (*random)() % pace + 1, growing.times() - 1);
    bucket = growing.BucketAt(time, lookup.want().offset);
    action = lookup.FeedBucket(&bucket);
  }
  return {action};
}

TEST(GrowthInterleaving, NoKeyIsEverMissed) {
  std::mt19937_64 random(1);
  uint64_t asked = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const Growing growing(seed);
    for (const size_t cache_bytes : {size_t{0}, size_t{4096}}) {
      LocationCache cache(cache_bytes);
      for (int i = 0; i < 50'000; ++i) {
        const std::string& key = growing.keys()[random() % kKeys];
        const Ended ended = Get(growing, key, &cache, &random);
        ASSERT_FALSE(ended.stale_for_ever) << "an honest server published before";
        ASSERT_NE(ended.action, Action::kAbsent) << key << " was there throughout";
        asked += ended.action == Action::kAskServer;
        ASSERT_TRUE(ended.action == Action::kHit || ended.action == Action::kAskServer);
      }
    }
  }
  EXPECT_LT(asked, 4000) << "of 400,000";
}

TEST(GrowthInterleaving, AnAbsentKeyIsAlwaysAbsent) {
  std::mt19937_64 random(2);
  const Growing growing(5);
  LocationCache cache(0);
  for (int i = 0; i < 50'000; ++i) {
    const Ended ended = Get(growing, "a" + std::to_string(i % 100), &cache, &random);
    ASSERT_FALSE(ended.stale_for_ever);
    ASSERT_TRUE(ended.action == Action::kAbsent || ended.action == Action::kAskServer);
  }
}

}  // namespace
}  // namespace plov::cuckoo
