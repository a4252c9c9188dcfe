#include "cuckoo/stash.h"

#include <algorithm>
#include <cassert>

namespace plov::cuckoo {

using verify::Bucket;
using verify::BucketKind;

// Of a superblock that somebody made there may be empty ones between them.
size_t Stash::extents() const {
  size_t count = verify::kStashExtentsMax;
  while (count > 0 && geometry_.memory.extents[count - 1].bytes == 0) --count;
  return count;
}

verify::StashExtent Stash::NextPart(uint64_t bytes_max) const {
  uint64_t at = geometry_.memory.bytes;
  for (const verify::StashExtent& extent : geometry_.memory.extents) {
    if (at < extent.bytes) return {extent.offset + at, std::min(bytes_max, extent.bytes - at)};
    at -= extent.bytes;
  }
  return {0, 0};
}

void Stash::Extend(const verify::StashExtent& part) {
  const uint64_t first = geometry_.bucket_count();
  geometry_.memory.bytes += part.bytes;
  Bucket empty;
  for (uint64_t index = first; index < geometry_.bucket_count(); ++index) {
    empty.Seal(geometry_.bucket_bytes, geometry_.SeedOf(index));
    verify::StoreBucket(WordsOf(index), empty, geometry_.bucket_bytes);
  }
}

Stash::Entry* Stash::Find(std::string_view key) {
  const auto found = keys_.find(key);
  return found == keys_.end() ? nullptr : &found->second;
}

Stash::Entry* Stash::At(uint64_t index) {
  const Keys::iterator key = by_index_[index];
  return key == keys_.end() ? nullptr : &key->second;
}

std::optional<Bucket> Stash::Load(uint64_t index) const {
  if (const Bucket* kept = rewrites_->Find(WordsOf(index))) return *kept;
  Bucket bucket;
  verify::CopyFromShared(bucket.words(), WordsOf(index), geometry_.bucket_bytes);
  if (!bucket.Whole(geometry_.bucket_bytes, geometry_.SeedOf(index))) return std::nullopt;
  return bucket;
}

void Stash::Rewrite(uint64_t index, Bucket* bucket) {
  bucket->set_version(bucket->version() + 1);
  bucket->Seal(geometry_.bucket_bytes, geometry_.SeedOf(index));
  rewrites_->Store(WordsOf(index), {StashGeometry::kGeneration, index}, *bucket,
                   geometry_.bucket_bytes);
}

void Stash::Add(std::string_view key, uint64_t hash, const Bucket& item, uint64_t generation) {
  assert(!full());
  uint64_t index = end();
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  }
  KeepAt(key, {index, hash, generation, generation});
  Replace(index, item);
  ++added_;
}

void Stash::KeepAt(std::string_view key, const Entry& entry) {
  const auto [at, added] = keys_.try_emplace(std::string(key), entry);
  assert(added);
  heap_bytes_ += HeapBytes(key.size());
  if (end() <= entry.index) by_index_.resize(entry.index + 1, keys_.end());
  by_index_[entry.index] = at;
}

// What fails its seal is written anew as a whole; only its version is lost with it.
void Stash::Replace(uint64_t index, const Bucket& item) {
  Bucket bucket = Load(index).value_or(Bucket());
  bucket.TakeItem(item, geometry_.bucket_bytes);
  Rewrite(index, &bucket);
}

void Stash::Remove(uint64_t index) {
  Replace(index, Bucket());
  heap_bytes_ -= HeapBytes(by_index_[index]->first.size());
  keys_.erase(by_index_[index]);
  by_index_[index] = keys_.end();
  free_.push_back(index);
}

void Stash::Clear() {
  assert(size() == 0);
  geometry_.memory = {};
  by_index_.clear();
  free_.clear();
}

TableRecovery::Left Stash::TakeOver(uint64_t index, Bucket* bucket) {
  const auto left = Load(index);
  *bucket = left.value_or(Bucket());
  if (left && bucket->kind() == BucketKind::kEmpty) return TableRecovery::Left::kNothing;
  const bool is_item = bucket->kind() == BucketKind::kReference ||
                       (bucket->kind() == BucketKind::kInline &&
                        bucket->inline_item(geometry_.bucket_bytes).has_value());
  if (left && is_item) return TableRecovery::Left::kItem;
  Drop(index);
  return TableRecovery::Left::kDamage;
}

void Stash::Drop(uint64_t index) { Replace(index, Bucket()); }

void Stash::FinishTakeOver() {
  by_index_.resize(geometry_.bucket_count(), keys_.end());
  for (uint64_t index = 0; index < end(); ++index) {
    if (by_index_[index] == keys_.end()) free_.push_back(index);
  }
}

}  // namespace plov::cuckoo
