#include "cuckoo/growing_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace plov::cuckoo {

using verify::BucketKind;

GrowingTable::GrowingTable(std::byte* region, const Geometry& geometry, uint64_t hash_seed,
                           uint64_t* journal)
    : region_(region),
      hash_seed_(hash_seed),
      journal_(journal),
      current_(std::make_unique<Table>(region, geometry, hash_seed, journal)) {}

// The old table first, as readers do; a key that is in neither is absent.
Table::Verdict GrowingTable::Find(uint64_t hash, std::string_view key, Table::Slot* slot) {
  const auto verdict = current_->Find(hash, key, slot);
  if (verdict != Table::Verdict::kAbsent || phase_ != Phase::kMoving) return verdict;
  return other_->Find(hash, key, slot);
}

// While keys move, new ones go to the next table at once, after their old home has said so.
bool GrowingTable::Insert(uint64_t hash, const verify::Bucket& item) {
  if (phase_ != Phase::kMoving) return current_->Insert(hash, item);
  if (!current_->Forward(HomeOf(hash, current_->geometry().bucket_count))) return false;
  return other_->Insert(hash, item);
}

void GrowingTable::Prepare(const Geometry& geometry) {
  assert(phase_ == Phase::kSteady && geometry.generation > current_->geometry().generation);
  assert(geometry.bucket_bytes == current_->geometry().bucket_bytes);
  other_ = std::make_unique<Table>(region_, geometry, hash_seed_, journal_);
  phase_ = Phase::kPreparing;
  cursor_ = 0;
}

bool GrowingTable::PrepareSome(uint64_t buckets) {
  assert(phase_ == Phase::kPreparing);
  const uint64_t count = std::min(buckets, other_->geometry().bucket_count - cursor_);
  other_->Format(cursor_, count);
  cursor_ += count;
  return cursor_ == other_->geometry().bucket_count;
}

void GrowingTable::Abandon() {
  assert(phase_ == Phase::kPreparing);
  other_.reset();
  phase_ = Phase::kSteady;
}

void GrowingTable::StartMoving() {
  assert(phase_ == Phase::kPreparing && cursor_ == other_->geometry().bucket_count);
  phase_ = Phase::kMoving;
  cursor_ = 0;
  left_ = 0;
  stalled_ = false;
}

void GrowingTable::Resume(const Geometry& geometry) {
  Prepare(geometry);
  cursor_ = geometry.bucket_count;
  StartMoving();
}

// One bucket: as a home it says `forward`, and what it holds moves. False when it has to stay.
bool GrowingTable::MoveOne(uint64_t index) {
  if (!current_->Forward(index)) return false;
  const auto bucket = current_->Load(index);
  if (bucket->kind() == BucketKind::kEmpty) return true;
  const uint64_t hash = current_->HashOf(*bucket);
  const auto ways = WaysOf(hash, current_->geometry().bucket_count);
  const auto way = static_cast<uint32_t>(std::ranges::find(ways, index) - ways.begin());
  if (way != 0 && !current_->Forward(ways[0])) return false;
  if (!other_->Insert(hash, *bucket)) return false;
  current_->Erase(hash, {current_.get(), index, way, *bucket});
  return true;
}

bool GrowingTable::MoveSome(uint64_t buckets) {
  assert(phase_ == Phase::kMoving);
  const uint64_t count = current_->geometry().bucket_count;
  stalled_ = false;
  for (uint64_t i = 0; i < buckets && cursor_ < count; ++i) {
    if (!MoveOne(cursor_)) ++left_;
    ++cursor_;
  }
  if (cursor_ < count) return false;
  stalled_ = left_ > 0;
  if (!stalled_) return true;
  cursor_ = 0;
  left_ = 0;
  return false;
}

Geometry GrowingTable::Switch() {
  assert(phase_ == Phase::kMoving && cursor_ == current_->geometry().bucket_count);
  std::swap(current_, other_);
  phase_ = Phase::kRetiring;
  cursor_ = 0;
  return other_->geometry();
}

bool GrowingTable::RetireSome(uint64_t buckets) {
  assert(phase_ == Phase::kRetiring);
  const uint64_t end = std::min(cursor_ + buckets, other_->geometry().bucket_count);
  for (; cursor_ < end; ++cursor_) other_->Retire(cursor_);
  if (cursor_ < other_->geometry().bucket_count) return false;
  past_.moves += other_->stats().moves;
  past_.corrupt += other_->stats().corrupt;
  other_.reset();
  phase_ = Phase::kSteady;
  return true;
}

uint64_t GrowingTable::capacity() const {
  const Table& filled = phase_ == Phase::kMoving ? *other_ : *current_;
  return filled.geometry().bucket_count;
}

TableStats GrowingTable::stats() const {
  TableStats sum = past_;
  for (const Table* table : {current_.get(), other_.get()}) {
    if (table == nullptr) continue;
    const TableStats& stats = table->stats();
    sum.items += stats.items;
    sum.displaced += stats.displaced;
    sum.overflowed_homes += stats.overflowed_homes;
    sum.moves += stats.moves;
    sum.corrupt += stats.corrupt;
  }
  return sum;
}

}  // namespace plov::cuckoo
