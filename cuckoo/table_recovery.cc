#include "cuckoo/table_recovery.h"

#include <cassert>

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

TableRecovery::TableRecovery(Table* table)
    : table_(table), unproved_(table->geometry().bucket_count, 0) {}

bool TableRecovery::Belongs(const Bucket& bucket, uint64_t index) const {
  if (bucket.kind() != BucketKind::kReference &&
      !(bucket.kind() == BucketKind::kInline &&
        bucket.inline_item(table_->geometry_.bucket_bytes))) {
    return false;
  }
  return WayOf(table_->WaysOf(table_->HashOf(bucket)), index) < kWays;
}

TableRecovery::Left TableRecovery::TakeOver(uint64_t index, bool forward, Bucket* bucket) {
  const uint32_t bytes = table_->geometry_.bucket_bytes;
  verify::CopyFromShared(bucket->words(), table_->WordsOf(index), bytes);
  const bool whole = bucket->Whole(bytes, table_->geometry_.SeedOf(index));
  const bool empty = whole && bucket->kind() == BucketKind::kEmpty;
  if (!empty && !(whole && Belongs(*bucket, index))) {
    *bucket = Bucket();
    bucket->set_forward(forward);
    table_->Rewrite(index, bucket);
    return Left::kDamage;
  }
  unproved_[index] = DirectoryOf(*bucket);
  if (bucket->stashed()) noted_.push_back(index);
  if (empty) return Left::kNothing;
  ++table_->stats_.items;
  return Left::kItem;
}

void TableRecovery::Drop(uint64_t index) {
  Bucket bucket = *table_->Load(index);
  bucket.Clear(table_->geometry_.bucket_bytes);
  table_->Rewrite(index, &bucket);
  --table_->stats_.items;
}

// An entry or `overflow` that no key before proved is the key's own; without one the home gets it.
bool TableRecovery::Relist(uint64_t hash, uint64_t index) {
  const auto ways = table_->WaysOf(hash);
  const uint64_t home = ways[0];
  assert(home != index);
  const DirectoryEntry entry{WayOf(ways, index), FingerprintOf(hash)};
  Bucket bucket = *table_->Load(home);
  for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
    if ((unproved_[home] & 1u << i) == 0 || bucket.entry(i) != entry) continue;
    unproved_[home] = static_cast<uint8_t>(unproved_[home] & ~(1u << i));
    ++table_->stats_.displaced;
    return true;
  }
  if (table_->unlisted_[home] == Table::kUnlistedMax) return false;
  if (bucket.overflow()) {
    unproved_[home] = static_cast<uint8_t>(unproved_[home] & ~kOverflowUnproved);
    ++table_->stats_.displaced;
    if (table_->unlisted_[home]++ == 0) ++table_->stats_.overflowed_homes;
    return true;
  }
  table_->List(home, &bucket, entry);
  table_->Rewrite(home, &bucket);
  return true;
}

void TableRecovery::Finish() {
  for (uint64_t index = 0; index < unproved_.size(); ++index) {
    if (unproved_[index] == 0) continue;
    Bucket bucket = *table_->Load(index);
    for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
      if ((unproved_[index] & 1u << i) != 0) bucket.set_entry(i, kNoEntry);
    }
    if ((unproved_[index] & kOverflowUnproved) != 0) bucket.set_overflow(false);
    table_->Rewrite(index, &bucket);
  }
}

void TableRecovery::FinishNotes() {
  for (const uint64_t home : noted_) {
    if (table_->stashed_.contains(home)) continue;
    Bucket directory = *table_->Load(home);
    directory.set_stashed(false);
    table_->Rewrite(home, &directory);
  }
}

}  // namespace plov::cuckoo
