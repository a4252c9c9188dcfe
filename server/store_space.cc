// The store's space: records are allocated, cleaned, held and freed here.
#include <algorithm>
#include <array>

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
// The stash is extended by at most so much at once; some 25 us.
constexpr size_t kStashPart = size_t{64} << 10;
// What is looked at of it by a write, and when idle.
constexpr uint64_t kUnstashPerWrite = 4;
constexpr uint64_t kUnstashPerTurn = 64;
// Cache mode.
// Bytes that a write which finds no room may evict for each of its own, and besides.
constexpr size_t kEvictPerByte = 4;
constexpr size_t kEvictWhenFull = size_t{1} << 20;
// What a look for items counts for at least: nobody looks for ever.
constexpr size_t kEvictLookBytes = 128;
// A write waits so long for the memory of a table that clients are leaving: longer than it takes to
// drop those that do not (server/shard.h), and less than a client waits by default.
constexpr uint64_t kWaitUs = 600'000;

}  // namespace

// False when there is more of it.
bool Store::Work(RoomSearch* room, size_t record_bytes) {
  if (room->means != RoomSearch::Means::kShare) return true;
  if (!room->begun) {
    if (options_.grows) growth_->OnWrite();
    CountHeap();
    table_->Unstash(kUnstashPerWrite);
    if (IsShort()) work_bytes_ += evictor_->Evict(last_version());
    room->begun = true;
    room->left = records_.wants_cleaning() ? kCleanPerByte * record_bytes + kCleanPerWrite : 0;
  }
  if (room->left == 0) return true;
  const size_t part = std::min(room->left, kCleanPart);
  room->left = Clean(part) ? room->left - part : 0;
  return room->left == 0;
}

bool Store::SweepSome(uint64_t now_us) {
  SweepIfDue(kSweepPart, now_us);
  return sweeper_->due(UnixSeconds(now_us));
}

void Store::CountHeap() {
  const size_t counts_bytes = evictor_ ? evictor_->heap_bytes() : 0;
  memory_.set_heap_bytes(table_->stash().heap_bytes() + counts_bytes);
}

bool Store::OnIdle() {
  CountHeap();
  if (options_.grows && growth_->OnIdle()) return true;
  if (table_->Unstash(kUnstashPerTurn)) return true;
  return records_.wants_cleaning() && Clean(kCleanPart);
}

bool Store::Clean(size_t bytes, size_t wanted_bytes) {
  return records_.Clean(
      bytes, [this](uint64_t offset, size_t record_bytes) { Relocate(offset, record_bytes); },
      wanted_bytes);
}

// In extents as large as what there is, so that few are enough; smaller ones where memory is short.
bool Store::TakeStashExtent() {
  cuckoo::Stash& stash = table_->stash();
  if (!stash.may_add_extent()) return false;
  size_t pages = std::max<size_t>(stash.geometry().memory.bytes / kPageBytes, 1);
  for (; pages > 0; pages /= 2) {
    const size_t bytes = pages * kPageBytes;
    const auto offset = memory_.Take(bytes, kPageBytes, Memory::End::kHigh);
    if (!offset) continue;
    stash.AddExtent({*offset, bytes});
    return true;
  }
  return false;
}

// Keys that collide find room as long as there is memory; when memory or table is full, no others do.
bool Store::MakeStashRoom(size_t key_bytes, bool grows) {
  if (publishes_) return !table_->stash().full();
  return MayStash(key_bytes, grows) && MakeStashRoomFor(1);
}

bool Store::MayStash(size_t key_bytes, bool may_be_full) {
  may_be_full = may_be_full || restored_ != nullptr;
  if (!options_.stashes || (!may_be_full && (percent_full() >= 100 || IsCrowded()))) return false;
  CountHeap();
  return cuckoo::Stash::HeapBytes(key_bytes) <= memory_.available_bytes();
}

// Beside those of what is pending.
bool Store::MakeStashRoomFor(size_t inserts) {
  while (table_->stash().room() < pending_.inserts() + inserts) {
    if (!ExtendStash()) return false;
  }
  return true;
}

// What lies beyond the part that is sealed is taken, and committed as it is wanted.
bool Store::ExtendStash() {
  cuckoo::Stash& stash = table_->stash();
  if (stash.NextPart(kStashPart).bytes == 0 && !TakeStashExtent()) return false;
  const verify::StashExtent part = stash.NextPart(kStashPart);
  if (!memory_.Commit(part.offset, part.bytes)) return false;
  stash.Extend(part);
  superblock_.SetStash(stash.geometry().memory);
  return true;
}

// Before anybody is connected who might READ it. No superblock lists memory that was given back.
void Store::DropStash() {
  const verify::StashMemory former = superblock_.page().stash;
  if (former.bytes == 0) return;
  table_->stash().Clear();
  superblock_.SetStash({});
  for (const auto& extent : former.extents) memory_.Give(extent.offset, extent.bytes);
}

// A sixteenth of what records lie in cannot be had: it is not worth cleaning.
size_t Store::bytes_with(size_t table_bytes) const {
  const size_t records = records_.allocated_bytes() + records_.allocated_bytes() / 15;
  return table_bytes + stash_bytes() + records;
}

// A table that grows stops nobody.
size_t Store::excess_percent() const {
  const size_t bytes = bytes_with(table_->current().geometry().table_bytes());
  const size_t budget = memory_.budget_bytes();
  return bytes <= budget ? 0 : (bytes - budget) * 100 / budget;
}

uint64_t Store::percent_full() const {
  uint64_t percent = bytes_with(growth_->table_bytes()) * 100 / memory_.budget_bytes();
  if (growth_->hungry()) {  // a table that cannot grow is full at about 90 %
    const cuckoo::TableStats stats = table_->stats();
    percent = std::max(percent, (stats.items - stats.stashed) * 1000 / (table_->capacity() * 9));
  }
  return std::min<uint64_t>(percent, 100);
}

// What tables take no record can have.
bool Store::IsShort() const {
  if (!evictor_) return false;
  const size_t others_bytes =
      growth_->table_bytes() + stash_bytes() + evictor_->heap_bytes() + records_.reserve_bytes();
  const size_t limit_bytes =
      memory_.budget_bytes() - std::min(others_bytes, memory_.budget_bytes());
  if (records_.allocated_bytes() * 100 > limit_bytes * kCacheRecordsPercent) return true;
  return IsCrowded();
}

// Cache mode: who finds no bucket then has another item evicted, and is not stashed.
bool Store::IsCrowded() const {
  return evictor_ && table_->stats().items * 100 > table_->capacity() * kCacheItemsPercent;
}

// False when it has done its part. Then no other means are left but to wait.
bool Store::Evict(RoomSearch* room, size_t record_bytes) {
  if (!evictor_) return false;
  const size_t most = kEvictPerByte * record_bytes + kEvictWhenFull;
  if (room->evicted_bytes >= most) return false;
  if (!room->Spend(kEvictLookBytes, record_bytes + kEvictWhenFull / kEvictPerByte)) {
    room->means = RoomSearch::Means::kExpired;  // what was evicted is to be cleaned
    room->begun = false;
    return true;
  }
  const uint64_t before = stats_.payload_bytes;
  work_bytes_ += evictor_->Evict(last_version());
  const size_t freed = before - stats_.payload_bytes;
  room->evicted_bytes += std::max(freed, kEvictLookBytes);
  room->left -= std::min(room->left, freed);
  return true;
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
      if (!sweeper_->due(UnixSeconds(now_us))) return false;
      if (!room->Spend(kSweepPart, kSweepWhenFull)) return false;
      SweepIfDue(kSweepPart, now_us);
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
    case Means::kEvict:
      return Evict(room, record_bytes);
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

// A record moves as W3 overwrites it, mask and all: the copy is whole, then the old one is not
// live, then the bucket names the copy. A client that remembers the old place finds it dead from
// before anything else can be the value (rule R4), and in between the bucket leads to bytes that
// are whole still.
void Store::Relocate(uint64_t offset, size_t record_bytes) {
  std::array<char, verify::kKeyBytesMax> memory;
  const std::string_view key = verify::OwnRecord(region_.data(), offset).CopyKey(memory.data());
  const uint64_t hash = HashOf(key);
  cuckoo::Table::Slot slot;
  if (table_->Find(hash, key, &slot) != cuckoo::Table::FindResult::kFound) return;
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
  bucket.SetReference(reference, verify::kBucketBytesMax);
  table_->Replace(slot, bucket);
  records_.Free(offset, record_bytes);
}

// A record that fails its seal stays one, so that the damage is seen.
bool Store::MakeInline(Bucket* item, uint32_t bucket_bytes) {
  if (verify::PayloadBytes(*item) > verify::InlineBytesMax(bucket_bytes) || !items_.IsWhole(*item))
    return false;
  const verify::MaskedItem record = items_.Of(*item);
  std::array<char, verify::kBucketBytesMax> bytes;
  const std::string_view key = record.CopyKey(bytes.data());
  const std::string_view value = record.CopyValue(bytes.data() + key.size());
  const verify::ItemView view{
      key, value, record.version(), record.flags(), record.expiry(), masks_.Next()};
  if (!verify::InlineFits(view, bucket_bytes)) return false;
  item->SetInline(view, verify::kBucketBytesMax);
  return true;
}

void Store::Retract(const verify::Reference& reference) {
  verify::RetractLive(verify::WordsAt(region_.data(), reference.offset + verify::kWordBytes));
}

void Store::Free(const verify::Reference& reference) {
  held_.Free(reference.offset, reference.record_bytes);
}

}  // namespace plov::server
