// The store's space: records are allocated, cleaned, held and freed here.
#include <algorithm>

#include "server/store.h"
#include "verify/record.h"

namespace plov::server {

using verify::Bucket;
using verify::BucketKind;

namespace {

// A write moves so many times its own bytes while memory is short, so that cleaning blocks that are
// up to three quarters alive keeps up with it, and at least so many bytes, ...
constexpr size_t kCleanPerByte = 4;
constexpr size_t kCleanPerWrite = 4096;
// ... and so many before memory is called full. A part is what one slice does.
constexpr size_t kCleanWhenFull = size_t{64} << 20;
constexpr size_t kCleanPart = size_t{64} << 10;
// Buckets looked at for expired items before memory or table is called full.
constexpr size_t kSweepWhenFull = 4096;
constexpr size_t kSweepPart = 256;
// A write waits so long for the memory of a table that clients are leaving: longer than it takes to
// drop those that do not (server/shard.h), and less than a client waits by default.
constexpr uint64_t kWaitUs = 600'000;

}  // namespace

// False when there is more of it.
bool Store::Work(RoomSearch* room, size_t record_bytes) {
  if (room->means != RoomSearch::Means::kShare) return true;
  if (!room->begun) {
    if (options_.grows) growth_->OnWrite();
    room->begun = true;
    room->left = records_.wants_cleaning() ? kCleanPerByte * record_bytes + kCleanPerWrite : 0;
  }
  if (room->left == 0) return true;
  const size_t part = std::min(room->left, kCleanPart);
  room->left = Clean(part) ? room->left - part : 0;
  return room->left == 0;
}

bool Store::OnIdle() {
  if (options_.grows && growth_->OnIdle()) return true;
  return records_.wants_cleaning() && Clean(kCleanPart);
}

bool Store::Clean(size_t bytes, size_t wanted_bytes) {
  return records_.Clean(
      bytes, [this](uint64_t offset, size_t record_bytes) { Relocate(offset, record_bytes); },
      wanted_bytes);
}

// A sixteenth of what records lie in cannot be had: it is not worth cleaning.
uint64_t Store::percent_full() const {
  const size_t records = records_.allocated_bytes() + records_.allocated_bytes() / 15;
  const size_t budget = memory_.budget_bytes();
  const uint64_t memory = (growth_->table_bytes() + records) * 100 / budget;
  if (!growth_->hungry()) return memory;
  // A table that cannot grow is full at about 90 %.
  const uint64_t table = table_->stats().items * 1000 / (table_->capacity() * 9);
  return std::max(memory, table);
}

// Does a slice. False when all means are spent.
bool Store::MakeRoom(RoomSearch* room, size_t record_bytes, uint64_t now_us) {
  while (room->means != RoomSearch::Means::kNone) {
    if (UseMeans(room, record_bytes, now_us)) return true;
    room->GoOn();
  }
  return false;
}

// record_bytes: 0 for room in the table, which no cleaning of records makes.
bool Store::UseMeans(RoomSearch* room, size_t record_bytes, uint64_t now_us) {
  using Means = RoomSearch::Means;
  const bool may_clean = record_bytes > 0 && records_.MayFit(record_bytes);
  switch (room->means) {
    case Means::kShare:
    case Means::kNone:
      return false;
    case Means::kExpired:
      if (!sweep_due(now_us) || !room->Spend(kSweepPart, kSweepWhenFull)) return false;
      Sweep(kSweepPart, now_us);
      return true;
    case Means::kGrowth:  // the old table's memory is wanted, or a place in the new one
      return (growth_->under_way() || growth_->hungry()) && growth_->OnIdle();
    case Means::kSparse:
      return may_clean && room->Spend(kCleanPart, kCleanWhenFull) && Clean(kCleanPart);
    case Means::kHole:
      return record_bytes > 0 && room->Spend(1, 1);
    case Means::kAnyDead:
      return may_clean && room->Spend(kCleanPart, kCleanWhenFull) &&
             Clean(kCleanPart, record_bytes);
    case Means::kWait:
      if (room->begun && !growth_->draining()) {  // the memory is there: once more with all means
        room->means = Means::kExpired;
        room->begun = false;
        return true;
      }
      if (!room->may_wait) return false;
      if (!room->begun) room->waits_since_us = now_us;
      room->begun = true;
      return now_us - room->waits_since_us < kWaitUs;
  }
  return false;
}

// A record moves as W3 overwrites it: the copy is whole, then the old one's `live` turns 0, then
// the bucket names the copy. A client that remembers the old place finds it dead from before
// anything else can be the value (rule R4), and in between the bucket leads to bytes that are whole
// still.
void Store::Relocate(uint64_t offset, size_t record_bytes) {
  const std::string_view key = verify::OwnRecord(region_.data(), offset).key;
  const uint64_t hash = HashOf(key);
  cuckoo::Table::Slot slot;
  if (table_->Find(hash, key, &slot) != cuckoo::Table::Verdict::kFound) return;
  if (slot.bucket.kind() != BucketKind::kReference) return;
  verify::Reference reference = slot.bucket.reference();
  if (reference.offset != offset || reference.record_bytes != record_bytes) return;
  const auto to = records_.MoveTo(record_bytes);
  if (!to) return;
  uint64_t* old = verify::WordsAt(region_.data(), offset);
  verify::MoveRecord(verify::WordsAt(region_.data(), *to), old, record_bytes);
  verify::RetractLive(old + 1);
  reference.offset = *to;
  Bucket bucket;
  bucket.SetReference(reference, options_.bucket_bytes);
  table_->Replace(slot, bucket);
  records_.Free(offset, record_bytes);
}

void Store::FreeRecord(uint64_t offset, size_t record_bytes) {
  const auto held = std::ranges::find(held_, offset, &HeldRecord::offset);
  if (held != held_.end()) {
    held->orphaned = true;
  } else {
    records_.Free(offset, record_bytes);
  }
}

void Store::Hold(uint64_t record_offset, uint32_t record_bytes) {
  records_.Pin(record_offset, record_bytes);
  const auto held = std::ranges::find(held_, record_offset, &HeldRecord::offset);
  if (held != held_.end()) {
    ++held->holders;
  } else {
    held_.push_back({record_offset, record_bytes, 1, false});
  }
}

void Store::Release(uint64_t record_offset) {
  const auto held = std::ranges::find(held_, record_offset, &HeldRecord::offset);
  if (held == held_.end()) return;
  records_.Unpin(record_offset, held->record_bytes);
  if (--held->holders > 0) return;
  if (held->orphaned) records_.Free(record_offset, held->record_bytes);
  held_.erase(held);
}

}  // namespace plov::server
