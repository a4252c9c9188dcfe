#include "server/sweeper.h"

namespace plov::server {

using verify::Bucket;
using verify::BucketKind;

size_t Sweeper::Sweep(size_t buckets, uint64_t now_seconds) {
  const cuckoo::Geometry& table = table_->current().geometry();
  if (table.generation != generation_) {
    generation_ = table.generation;
    at_ = 0;
    expiries_.EndRound(false);
  }
  const size_t bytes = buckets * table.bucket_bytes;
  for (; buckets > 0; --buckets) {
    if (at_ < table.bucket_count) {
      SweepBucket(at_, now_seconds);
    } else if (at_ - table.bucket_count < table_->stash().end()) {
      SweepStashed(at_ - table.bucket_count, now_seconds);
    }
    if (++at_ < table.bucket_count + table_->stash().end()) continue;
    at_ = 0;
    expiries_.EndRound(true);
    if (!due(now_seconds)) break;
  }
  return bytes;
}

// Whether its item has expired; notes when it will.
bool Sweeper::IsToBeErased(const Bucket& bucket, uint64_t now_seconds) {
  const verify::MaskedItem item = items_->Of(bucket);
  if (item.expiry() == 0) return false;
  if (OwnItems::IsExpired(item.expiry(), now_seconds) && items_->IsWhole(bucket)) return true;
  expiries_.See(item.expiry());
  return false;
}

void Sweeper::SweepBucket(uint64_t index, uint64_t now_seconds) {
  cuckoo::Table& table = table_->current();
  const auto bucket = table.Load(index);
  if (!bucket) return;
  if (bucket->kind() != BucketKind::kInline && bucket->kind() != BucketKind::kReference) return;
  if (!IsToBeErased(*bucket, now_seconds)) return;
  const uint64_t hash = table.HashOf(*bucket);
  const auto ways = cuckoo::WaysOf(hash, table.geometry().bucket_count);
  const uint32_t way = cuckoo::WayOf(ways, index);
  if (way != 0 && !table.Load(ways[0])) return;  // a damaged home cannot un-list it
  erase_(hash, {&table, index, way, *bucket});
}

void Sweeper::SweepStashed(uint64_t index, uint64_t now_seconds) {
  const cuckoo::Stash::Entry* entry = table_->stash().At(index);
  if (entry == nullptr) return;
  const auto bucket = table_->stash().Load(index);
  if (!bucket || !IsToBeErased(*bucket, now_seconds)) return;
  erase_(entry->hash, table_->SlotOf(*entry, *bucket));
}

}  // namespace plov::server
