// The table's recovery: buckets as a former writer left them, and directories made true again.
#include <algorithm>
#include <cassert>

#include "cuckoo/table.h"

namespace plov::cuckoo {

using verify::Bucket;
using verify::BucketKind;
using verify::DirectoryEntry;
using verify::kNoEntry;

namespace {

// In `unproved_`, after a bit for each entry.
constexpr uint8_t kOverflowUnproved = 1u << verify::kDirectoryEntries;

uint8_t DirectoryOf(const Bucket& bucket) {
  uint8_t marks = bucket.overflow() ? kOverflowUnproved : 0;
  for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
    if (bucket.entry(i) != kNoEntry) marks = static_cast<uint8_t>(marks | 1u << i);
  }
  return marks;
}

}  // namespace

void Table::BeginTakeOver() { unproved_.assign(geometry_.bucket_count, 0); }

bool Table::Belongs(const Bucket& bucket, uint64_t index) const {
  if (bucket.kind() != BucketKind::kReference &&
      !(bucket.kind() == BucketKind::kInline && bucket.inline_item(geometry_.bucket_bytes))) {
    return false;
  }
  return WayOf(WaysOf(HashOf(bucket)), index) < kWays;
}

Table::Left Table::TakeOver(uint64_t index, bool forward, Bucket* bucket) {
  const uint32_t bytes = geometry_.bucket_bytes;
  verify::CopyFromShared(bucket->words(), WordsOf(index), bytes);
  const bool whole = bucket->Whole(bytes, geometry_.SeedOf(index));
  const bool empty = whole && bucket->kind() == BucketKind::kEmpty;
  if (!empty && !(whole && Belongs(*bucket, index))) {
    *bucket = Bucket();
    bucket->set_forward(forward);
    Rewrite(index, bucket);
    return Left::kDamage;
  }
  unproved_[index] = DirectoryOf(*bucket);
  if (bucket->stashed()) unproved_notes_.push_back(index);
  if (empty) return Left::kNothing;
  ++stats_.items;
  return Left::kItem;
}

void Table::Drop(uint64_t index) {
  Bucket bucket = *Load(index);
  bucket.Clear(geometry_.bucket_bytes);
  Rewrite(index, &bucket);
  --stats_.items;
}

// An entry or `overflow` that no key before proved is the key's own; without one the home gets it.
bool Table::Relist(uint64_t hash, uint64_t index) {
  const auto ways = WaysOf(hash);
  const uint64_t home = ways[0];
  assert(home != index);
  const DirectoryEntry entry{WayOf(ways, index), FingerprintOf(hash)};
  Bucket bucket = *Load(home);
  for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
    if ((unproved_[home] & 1u << i) == 0 || bucket.entry(i) != entry) continue;
    unproved_[home] = static_cast<uint8_t>(unproved_[home] & ~(1u << i));
    ++stats_.displaced;
    return true;
  }
  if (unlisted_[home] == kUnlistedMax) return false;
  if (bucket.overflow()) {
    unproved_[home] = static_cast<uint8_t>(unproved_[home] & ~kOverflowUnproved);
    ++stats_.displaced;
    if (unlisted_[home]++ == 0) ++stats_.overflowed_homes;
    return true;
  }
  List(home, &bucket, entry);
  Rewrite(home, &bucket);
  return true;
}

void Table::FinishTakeOver() {
  for (uint64_t index = 0; index < unproved_.size(); ++index) {
    if (unproved_[index] == 0) continue;
    Bucket bucket = *Load(index);
    for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
      if ((unproved_[index] & 1u << i) != 0) bucket.set_entry(i, kNoEntry);
    }
    if ((unproved_[index] & kOverflowUnproved) != 0) bucket.set_overflow(false);
    Rewrite(index, &bucket);
  }
  unproved_ = {};
}

void Table::FinishNotes() {
  for (const uint64_t home : unproved_notes_) {
    if (stashed_.contains(home)) continue;
    Bucket directory = *Load(home);
    directory.set_stashed(false);
    Rewrite(home, &directory);
  }
  unproved_notes_ = {};
}

}  // namespace plov::cuckoo
