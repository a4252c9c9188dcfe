#include "cuckoo/table_walk.h"

namespace plov::cuckoo {

using verify::Bucket;
using verify::BucketKind;

bool TableWalk::Follow() {
  const uint64_t generation = table_->current().geometry().generation;
  if (std::exchange(generation_, generation) == generation) return false;
  position_ = 0;
  return true;
}

uint64_t TableWalk::end() const {
  const Table* next = table_->next();
  const uint64_t next_buckets = next == nullptr ? 0 : next->geometry().bucket_count;
  return table_->current().geometry().bucket_count + table_->stash().end() + next_buckets;
}

TableWalk::Spot TableWalk::SpotOf(uint64_t position) const {
  const uint64_t buckets = table_->current().geometry().bucket_count;
  if (position < buckets) return {&table_->current(), position};
  const uint64_t index = position - buckets;
  const uint64_t stashed = table_->stash().end();
  if (index < stashed || table_->next() == nullptr) return {nullptr, index};
  return {&table_->moving_to(), index - stashed};
}

std::optional<Bucket> TableWalk::Load(const Spot& spot) const {
  if (spot.table == nullptr) {
    Stash& stash = table_->stash();
    const bool holds_item = spot.index < stash.end() && stash.At(spot.index) != nullptr;
    return holds_item ? stash.Load(spot.index) : std::nullopt;
  }
  if (spot.index >= spot.table->geometry().bucket_count) return std::nullopt;
  auto bucket = spot.table->Load(spot.index);
  const bool holds_item =
      bucket && (bucket->kind() == BucketKind::kInline || bucket->kind() == BucketKind::kReference);
  return holds_item ? bucket : std::nullopt;
}

std::optional<TableWalk::Place> TableWalk::PlaceOf(const Spot& spot, const Bucket& bucket) const {
  if (spot.table == nullptr) {
    const Stash::Entry& entry = *table_->stash().At(spot.index);
    return Place{entry.hash, table_->SlotOf(entry, bucket)};
  }
  const uint64_t hash = spot.table->HashOf(bucket);
  const auto ways = WaysOf(hash, spot.table->geometry().bucket_count);
  const uint32_t way = WayOf(ways, spot.index);
  if (way != 0 && !spot.table->Load(ways[0]))
    return std::nullopt;  // a damaged home cannot un-list it
  return Place{hash, {spot.table, spot.index, way, bucket}};
}

}  // namespace plov::cuckoo
