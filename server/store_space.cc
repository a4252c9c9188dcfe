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
// ... and so many, a part at a time, before memory is called full: a few milliseconds.
constexpr size_t kCleanWhenFull = size_t{64} << 20;
constexpr size_t kCleanPart = size_t{64} << 10;

}  // namespace

// What every write does of the work that has to be done some time.
void Store::Work(size_t record_bytes) {
  if (options_.grows) growth_->OnWrite();
  if (records_.wants_cleaning()) Clean(kCleanPerByte * record_bytes + kCleanPerWrite);
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

std::optional<uint64_t> Store::AllocateRecord(size_t record_bytes, uint64_t now_us) {
  if (const auto offset = records_.Allocate(record_bytes)) return offset;
  if (expiring_items_ > 0) {
    Sweep(kSweepWhenFull, now_us);
    if (const auto offset = records_.Allocate(record_bytes)) return offset;
  }
  growth_->Hurry();  // there may be room when the old table is gone
  if (const auto offset = AllocateByCleaning(record_bytes, SIZE_MAX)) return offset;
  if (const auto offset = records_.AllocateInHole(record_bytes)) return offset;
  return AllocateByCleaning(record_bytes, record_bytes);
}

// wanted_bytes: a block with so much dead is worth it.
std::optional<uint64_t> Store::AllocateByCleaning(size_t record_bytes, size_t wanted_bytes) {
  if (!records_.MayFit(record_bytes)) return std::nullopt;
  for (size_t cleaned = 0; cleaned < kCleanWhenFull; cleaned += kCleanPart) {
    const bool goes_on = Clean(kCleanPart, wanted_bytes);
    if (const auto offset = records_.Allocate(record_bytes)) return offset;
    if (!goes_on) break;
  }
  return std::nullopt;
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
