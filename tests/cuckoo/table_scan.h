// TableScan: the invariants of cuckoo/table.h, judged by reading all of a table's bytes. Shares no
// code with the table but the hash and the bucket format.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cuckoo/heap_shard.h"

namespace plov::cuckoo {

struct Stored {
  std::string value;
  uint64_t version;

  bool operator==(const Stored&) const = default;
};
using Model = std::map<std::string, Stored>;

// Every bucket of a table at one instant, and where its keys are.
struct Contents {
  uint64_t hash_seed;
  std::vector<std::optional<verify::Bucket>> buckets;  // nullopt: torn
  std::map<std::string, std::vector<uint64_t>> places;
  std::map<std::string, std::set<std::pair<std::string, uint64_t>>> copies;  // value, version

  uint64_t HashOf(const std::string& key) const { return HashKey(key, hash_seed); }
  std::array<uint64_t, kWays> WaysOf(const std::string& key) const {
    return cuckoo::WaysOf(HashOf(key), buckets.size());
  }

  // True when a reader that goes by the directory finds the key.
  bool IsReachable(const std::string& key) const {
    const auto found = places.find(key);
    if (found == places.end()) return false;
    const auto ways = WaysOf(key);
    const auto& home = buckets[ways[0]];
    return std::ranges::any_of(found->second, [&](uint64_t index) {
      if (index == ways[0] || (home && home->overflow())) return true;
      const uint32_t way = index == ways[1] ? 1 : 2;
      const verify::DirectoryEntry entry{way, FingerprintOf(HashOf(key))};
      return home &&
             (home->entry(0) == entry || home->entry(1) == entry || home->entry(2) == entry);
    });
  }
};

inline Contents ContentsOf(ShardMemory* shard, const Geometry& geometry) {
  Contents contents{
      .hash_seed = shard->view().hash_seed, .buckets = {}, .places = {}, .copies = {}};
  for (uint64_t index = 0; index < geometry.bucket_count; ++index) {
    verify::Bucket bucket;
    verify::CopyFromShared(bucket.words(),
                           verify::WordsAt(shard->region(), geometry.BucketOffset(index)),
                           geometry.bucket_bytes);
    if (!bucket.Whole(geometry.bucket_bytes, geometry.SeedOf(index))) {
      contents.buckets.push_back(std::nullopt);
      continue;
    }
    contents.buckets.push_back(bucket);
    std::optional<verify::MaskedItem> item;
    if (bucket.kind() == verify::BucketKind::kInline) {
      item = bucket.inline_item(geometry.bucket_bytes);
    } else if (bucket.kind() == verify::BucketKind::kReference) {
      const verify::Reference to = bucket.reference();
      item = verify::CheckRecord(shard->bytes().subspan(to.offset, to.record_bytes),
                                 shard->view().record_seed);
      if (!item) {
        contents.places["(a record that is not whole)"].push_back(index);
        continue;
      }
    }
    if (!item) continue;
    const std::string key = item->key();
    contents.places[key].push_back(index);
    contents.copies[key].emplace(item->value(), item->version());
  }
  return contents;
}

inline Contents ContentsOf(HeapShard* shard) { return ContentsOf(shard, shard->geometry()); }

// A key at rest is held once, in a bucket of its own, with its last value.
inline std::string WrongKey(const Contents& contents, const std::string& key,
                            const Stored& stored) {
  const auto found = contents.places.find(key);
  if (found == contents.places.end()) return key + " is held nowhere";
  if (found->second.size() != 1) return key + " is held more than once";
  if (!std::ranges::count(contents.WaysOf(key), found->second[0])) return key + " is astray";
  if (contents.copies.at(key).begin()->first != stored.value) return key + ": wrong value";
  if (contents.copies.at(key).begin()->second != stored.version) return key + ": wrong version";
  if (!contents.IsReachable(key)) return key + " is not listed";
  return {};
}

// What the directories of a table at rest say, and what the writer should have counted.
class Directories {
 public:
  explicit Directories(const Contents& contents) : displaced_(DisplacedOf(contents)) {
    for (uint64_t index = 0; wrong.empty() && index < contents.buckets.size(); ++index) {
      const std::string what = CheckBucket(contents.buckets[index], &displaced_[index]);
      if (!what.empty()) wrong = "bucket " + std::to_string(index) + what;
    }
  }

  std::string wrong;
  uint64_t displaced_count = 0;
  uint64_t overflow_count = 0;

 private:
  struct Displaced {
    uint32_t way;
    uint32_t fingerprint;
    auto operator<=>(const Displaced&) const = default;
  };
  using ByHome = std::map<uint64_t, std::multiset<Displaced>>;

  static ByHome DisplacedOf(const Contents& contents) {
    ByHome displaced;
    for (const auto& [key, indexes] : contents.places) {
      const auto ways = contents.WaysOf(key);
      for (const uint64_t index : indexes) {
        if (index == ways[0]) continue;
        const uint32_t way = index == ways[1] ? 1 : 2;
        displaced[ways[0]].insert({way, FingerprintOf(contents.HashOf(key))});
      }
    }
    return displaced;
  }

  // Every entry stands for a displaced key of its own; overflow says that there are more of them
  // than entries.
  std::string CheckBucket(const std::optional<verify::Bucket>& bucket,
                          std::multiset<Displaced>* unlisted) {
    if (!bucket) return " is not whole";
    displaced_count += unlisted->size();
    for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
      const auto [way, fingerprint] = bucket->entry(i);
      if (way == 0 && fingerprint == 0) continue;
      const auto found = unlisted->find({way, fingerprint});
      if (found == unlisted->end()) return " has a stale directory entry";
      unlisted->erase(found);
    }
    if (bucket->overflow() && unlisted->empty()) return " has a stale overflow";
    if (!bucket->overflow() && !unlisted->empty()) return " lacks an entry or overflow";
    overflow_count += bucket->overflow() ? 1 : 0;
    return {};
  }

  ByHome displaced_;
};

// Looks at one table again and again: its bytes change only together with a version that grows.
class VersionWatch {
 public:
  std::string Wrong(const Contents& contents) {
    for (uint64_t index = 0; index < last_.size(); ++index) {
      const verify::Bucket &before = last_[index], &now = *contents.buckets[index];
      const bool same =
          std::equal(before.words(), before.words() + verify::kBucketWordsMax, now.words());
      if (now.version() < before.version() || same != (now.version() == before.version())) {
        return "bucket " + std::to_string(index) + " changed without a greater version";
      }
    }
    last_.clear();
    for (const auto& bucket : contents.buckets) last_.push_back(*bucket);
    return {};
  }

 private:
  std::vector<verify::Bucket> last_;
};

class TableScan {
 public:
  explicit TableScan(HeapShard* shard) : shard_(shard) {}

  // The table at rest, between two operations, holds exactly the model.
  ::testing::AssertionResult Check(const Model& model) {
    const Contents contents = ContentsOf(shard_);
    std::string wrong = WrongKeys(contents, model);
    if (wrong.empty()) wrong = WrongDirectories(contents);
    if (wrong.empty()) wrong = versions_.Wrong(contents);
    if (wrong.empty()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << wrong;
  }

 private:
  std::string WrongKeys(const Contents& contents, const Model& model) const {
    for (const auto& [key, stored] : model) {
      const std::string wrong = WrongKey(contents, key, stored);
      if (!wrong.empty()) return wrong;
    }
    if (contents.places.size() != model.size()) return "a key is held that was erased";
    return {};
  }

  // The statistics are what is there.
  std::string WrongDirectories(const Contents& contents) const {
    const Directories directories(contents);
    if (!directories.wrong.empty()) return directories.wrong;
    for (const auto& bucket : contents.buckets) {
      if (bucket->forward()) return "a bucket forwards";
    }
    const TableStats& stats = shard_->table().stats();
    if (stats.items != contents.places.size()) return "stats: items";
    if (stats.displaced != directories.displaced_count) return "stats: displaced";
    if (stats.overflowed_homes != directories.overflow_count) return "stats: overflowed_homes";
    if (stats.corrupt != 0) return "stats: corrupt";
    return {};
  }

  HeapShard* shard_;
  VersionWatch versions_;
};

}  // namespace plov::cuckoo
