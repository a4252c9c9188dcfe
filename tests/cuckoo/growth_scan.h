// GrowthScan: the invariants of cuckoo/growing_table.h, judged by reading all bytes of both tables.
// Shares no code with the table but the hash and the bucket format.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/cuckoo/growing_shard.h"
#include "tests/cuckoo/table_scan.h"

namespace plov::cuckoo {

// At rest, between two operations or steps of growth.
class GrowthScan {
 public:
  explicit GrowthScan(GrowingShard* shard) : shard_(shard) {}

  ::testing::AssertionResult Check(const Model& model) {
    const std::string wrong = WrongShard(model);
    if (wrong.empty()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << wrong;
  }

 private:
  using Phase = GrowingTable::Phase;

  std::string WrongShard(const Model& model) {
    const Phase phase = shard_->table().phase();
    const Contents current = ContentsOf(shard_, shard_->current());
    Contents other{.hash_seed = 0, .buckets = {}, .places = {}, .copies = {}};
    if (phase == Phase::kMoving || phase == Phase::kRetiring) {
      other = ContentsOf(shard_, shard_->other());
    } else if (phase == Phase::kPreparing) {
      const std::string wrong = WrongPreparation();
      if (!wrong.empty()) return wrong;
    }
    std::string wrong = phase == Phase::kMoving ? WrongKeysBetween(current, other, model)
                                                : WrongKeysIn(current, model);
    if (wrong.empty() && phase == Phase::kRetiring) wrong = WrongOld(other);
    if (wrong.empty() && phase != Phase::kMoving) wrong = WrongNew(current);
    if (wrong.empty() && phase == Phase::kMoving) wrong = WrongNew(other);
    if (wrong.empty()) wrong = WrongStats(current, other, model);
    if (wrong.empty()) wrong = WrongVersions(current, other);
    return wrong;
  }

  std::string WrongPreparation() const {
    Geometry prepared = shard_->other();
    prepared.bucket_count = shard_->table().prepared();
    for (const auto& bucket : ContentsOf(shard_, prepared).buckets) {
      if (!bucket) return "a prepared bucket is not whole";
      if (bucket->kind() != verify::BucketKind::kEmpty) return "a prepared bucket is not empty";
    }
    return {};
  }

  static std::string WrongKeysIn(const Contents& current, const Model& model) {
    for (const auto& [key, stored] : model) {
      const std::string wrong = WrongKey(current, key, stored);
      if (!wrong.empty()) return wrong;
    }
    return current.places.size() == model.size() ? "" : "a key is held that was erased";
  }

  // Invariants 1 and 2.
  std::string WrongKeysBetween(const Contents& old, const Contents& next, const Model& model) {
    if (generation_ != shard_->other().generation) travelled_.clear();
    generation_ = shard_->other().generation;
    for (const auto& [key, stored] : model) {
      const bool is_in_old = old.places.contains(key);
      if (is_in_old && next.places.contains(key)) return key + " is in both tables";
      const std::string wrong = WrongKey(is_in_old ? old : next, key, stored);
      if (!wrong.empty()) return wrong;
      if (is_in_old && travelled_.contains(key)) return key + " came back to the old table";
      if (!is_in_old && !old.buckets[old.WaysOf(key)[0]]->forward()) {
        return key + " is in the next table and its home does not forward";
      }
    }
    if (old.places.size() + next.places.size() != model.size()) return "an erased key is held";
    for (const auto& [key, places] : next.places) travelled_.insert(key);
    return {};
  }

  // Invariant 3.
  static std::string WrongOld(const Contents& old) {
    for (const auto& bucket : old.buckets) {
      if (!bucket) return "an old bucket is not whole";
      const bool is_retired = bucket->kind() == verify::BucketKind::kRetired;
      if (!is_retired && bucket->kind() != verify::BucketKind::kEmpty) return "an old key is left";
      if (!is_retired && !bucket->forward()) return "an old bucket neither forwards nor is retired";
    }
    return {};
  }

  static std::string WrongNew(const Contents& newest) {
    for (const auto& bucket : newest.buckets) {
      if (!bucket) return "a bucket is not whole";
      if (bucket->forward()) return "a bucket of the newest table forwards";
      if (bucket->kind() == verify::BucketKind::kRetired) return "the newest table is retired";
    }
    return {};
  }

  std::string WrongStats(const Contents& current, const Contents& other, const Model& model) {
    const Directories first(current), second(other);
    if (!first.wrong.empty()) return "current: " + first.wrong;
    if (!second.wrong.empty()) return "other: " + second.wrong;
    const TableStats stats = shard_->table().stats();
    if (stats.items != model.size()) return "stats: items";
    if (stats.displaced != first.displaced_count + second.displaced_count) {
      return "stats: displaced";
    }
    if (stats.overflowed_homes != first.overflow_count + second.overflow_count) {
      return "stats: overflowed_homes";
    }
    if (stats.moves < stats_.moves) return "stats: moves decrease";
    if (stats.corrupt != 0) return "stats: corrupt";
    stats_ = stats;
    return {};
  }

  std::string WrongVersions(const Contents& current, const Contents& other) {
    std::string wrong = versions_[shard_->current().generation].Wrong(current);
    if (wrong.empty() && !other.buckets.empty()) {
      wrong = versions_[shard_->other().generation].Wrong(other);
    }
    return wrong;
  }

  GrowingShard* shard_;
  uint64_t generation_ = 0;          // that keys travelled to last
  std::set<std::string> travelled_;  // were seen there
  TableStats stats_;
  std::map<uint64_t, VersionWatch> versions_;  // by generation
};

}  // namespace plov::cuckoo
