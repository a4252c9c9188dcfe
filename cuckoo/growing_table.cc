#include "cuckoo/growing_table.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace plov::cuckoo {

using verify::Bucket;
using verify::BucketKind;

GrowingTable::GrowingTable(Table first, const StashGeometry& stash, StashRoom stash_room,
                           Records* records)
    : stash_(first.region(), stash, first.rewrites()),
      stash_room_(std::move(stash_room)),
      records_(records),
      current_(std::make_unique<Table>(std::move(first))) {}

// The old table first, as readers do; a key that is in neither is stashed or absent.
Table::FindResult GrowingTable::Find(uint64_t hash, std::string_view key, Table::Slot* slot) {
  auto found = current_->Find(hash, key, slot);
  if (found == Table::FindResult::kAbsent && phase_ == Phase::kMoving) {
    found = other_->Find(hash, key, slot);
  }
  return found == Table::FindResult::kAbsent ? FindStashed(hash, key, slot) : found;
}

// Which key is in which bucket is known; a record that says something else is damaged.
Table::FindResult GrowingTable::FindStashed(uint64_t hash, std::string_view key,
                                            Table::Slot* slot) {
  const Stash::Entry* entry = stash_.Find(key);
  if (entry == nullptr) return Table::FindResult::kAbsent;
  const auto bucket = stash_.Load(entry->index);
  if (!bucket) return Table::FindResult::kCorrupt;
  *slot = SlotOf(*entry, *bucket);
  const auto found = current_->Holds(*bucket, hash, key);
  return found == Table::FindResult::kCorrupt ? found : Table::FindResult::kFound;
}

// While keys move, new ones go to the next table at once, after their old home has said so.
bool GrowingTable::Insert(uint64_t hash, const verify::Bucket& item) {
  if (phase_ == Phase::kMoving) {
    if (!current_->Forward(HomeOf(hash, current_->geometry().bucket_count))) return false;
  }
  return filled().Insert(hash, item) || InsertInStash(&filled(), hash, item, false);
}

// W10, insert: the home says so first, then the key is there.
bool GrowingTable::InsertInStash(Table* table, uint64_t hash, const verify::Bucket& item,
                                 bool grows) {
  const std::string key = table->KeyOf(item);
  if (!stash_room_ || !stash_room_(key.size(), grows)) return false;
  if (!table->NoteStashed(hash)) return false;
  stash_.Add(key, hash, item, table->geometry().generation);
  return true;
}

void GrowingTable::Replace(const Table::Slot& slot, const verify::Bucket& item) {
  if (slot.way == Table::kStashed) return stash_.Replace(slot.index, item);
  slot.table->Replace(slot, item);
}

// W10, delete: the key goes first, then its homes say so.
void GrowingTable::Erase(uint64_t hash, const Table::Slot& slot) {
  if (slot.way != Table::kStashed) {
    unstash_left_ = stash_.end();
    return slot.table->Erase(hash, slot);
  }
  const Stash::Entry entry = *stash_.At(slot.index);
  stash_.Remove(slot.index);
  if (entry.IsNotedIn(current_->geometry().generation)) current_->UnnoteStashed(hash);
  if (phase_ == Phase::kMoving && entry.IsNotedIn(other_->geometry().generation)) {
    other_->UnnoteStashed(hash);
  }
}

bool GrowingTable::Unstash(uint64_t count) {
  if (phase_ == Phase::kMoving || stash_.size() == 0 || unstash_left_ == 0) return false;
  for (; count > 0 && unstash_left_ > 0; --count, --unstash_left_) {
    unstash_at_ = (unstash_at_ + 1) % stash_.end();
    UnstashOne(unstash_at_);
  }
  return true;
}

// W10, move: the key is in its bucket first.
void GrowingTable::UnstashOne(uint64_t index) {
  const Stash::Entry* entry = stash_.At(index);
  if (entry == nullptr) return;
  const auto item = stash_.Load(index);
  if (!item || !current_->InsertIfFree(entry->hash, *item)) return;
  Erase(entry->hash, SlotOf(*entry, *item));
  for (Table::PassPlace* pass : passes_) pass->meet(*item);
}

void GrowingTable::Enter(Table::PassPlace* pass, Table* table) {
  Leave(pass);
  passes_.push_back(pass);
  table->Enter(pass);
}

void GrowingTable::Leave(Table::PassPlace* pass) {
  std::erase(passes_, pass);
  for (Table* table : {current_.get(), other_.get()}) {
    if (table != nullptr) table->Leave(pass);
  }
}

void GrowingTable::KeepStashed(uint64_t index, const verify::Bucket& item) {
  const uint64_t hash = current_->HashOf(item);
  const uint64_t from = current_->geometry().generation;
  uint64_t to = from;
  current_->NoteStashed(hash);
  if (phase_ == Phase::kMoving) {
    other_->NoteStashed(hash);
    to = other_->geometry().generation;
  }
  stash_.KeepAt(current_->KeyOf(item), {index, hash, from, to});
}

void GrowingTable::FinishStash() {
  stash_.FinishTakeOver();
  unstash_left_ = stash_.end();
}

bool GrowingTable::Prepare(const Geometry& geometry) {
  assert(phase_ == Phase::kSteady && geometry.generation > current_->geometry().generation);
  assert(geometry.bucket_bytes >= current_->geometry().bucket_bytes);
  auto next = current_->CreateNext(geometry);
  if (!next) return false;
  other_ = std::make_unique<Table>(std::move(*next));
  phase_ = Phase::kPreparing;
  cursor_ = 0;
  return true;
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

bool GrowingTable::Resume(const Geometry& geometry) {
  if (!Prepare(geometry)) return false;
  cursor_ = geometry.bucket_count;
  StartMoving();
  return true;
}

// One bucket: as a home it says `forward`, and what it holds moves. False when it has to stay.
bool GrowingTable::MoveOne(uint64_t index) {
  const uint64_t bucket_count = current_->geometry().bucket_count;
  if (index >= bucket_count) return NoteInNext(index - bucket_count);
  if (!current_->Forward(index)) return false;
  const auto bucket = current_->Load(index);
  if (bucket->kind() == BucketKind::kEmpty) return true;
  const uint64_t hash = current_->HashOf(*bucket);
  const auto ways = WaysOf(hash, bucket_count);
  const uint32_t way = WayOf(ways, index);
  if (way != 0 && !current_->Forward(ways[0])) return false;
  Bucket item = *bucket;
  item.Widen(item_bytes());
  const bool made_inline = MakeInline(&item);
  if (!other_->Insert(hash, item) && !InsertInStash(other_.get(), hash, item, true)) return false;
  if (made_inline) records_->Retract(bucket->reference());
  current_->Erase(hash, {current_.get(), index, way, *bucket});
  if (made_inline) records_->Free(bucket->reference());
  return true;
}

bool GrowingTable::MakeInline(Bucket* item) {
  return records_ != nullptr && item->kind() == BucketKind::kReference &&
         records_->MakeInline(item, other_->geometry().bucket_bytes);
}

// W10, growth: a key of the stash stays there, and its home in the next table says so.
bool GrowingTable::NoteInNext(uint64_t index) {
  Stash::Entry* entry = stash_.At(index);
  const uint64_t next = other_->geometry().generation;
  if (entry == nullptr || entry->IsNotedIn(next)) return true;
  if (!other_->NoteStashed(entry->hash)) return false;
  entry->noted_to = next;
  return true;
}

bool GrowingTable::MoveSome(uint64_t buckets) {
  assert(phase_ == Phase::kMoving);
  stalled_ = false;
  for (; buckets > 0 && cursor_ < move_end(); --buckets) {
    if (!MoveOne(cursor_)) ++left_;
    ++cursor_;
  }
  if (cursor_ < move_end()) return false;
  stalled_ = left_ > 0;
  if (!stalled_) return true;
  cursor_ = 0;
  left_ = 0;
  return false;
}

Geometry GrowingTable::Switch() {
  assert(phase_ == Phase::kMoving && cursor_ >= current_->geometry().bucket_count);
  std::swap(current_, other_);
  unstash_left_ = stash_.end();  // there is room now
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
  sum.items += stash_.size();
  sum.stashed = stash_.size();
  return sum;
}

}  // namespace plov::cuckoo
