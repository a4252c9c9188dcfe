#include "server/held_records.h"

#include <algorithm>

namespace plov::server {

void HeldRecords::Hold(uint64_t offset, uint32_t record_bytes) {
  records_->Pin(offset, record_bytes);
  const auto held = std::ranges::find(held_, offset, &Held::offset);
  if (held != held_.end()) {
    ++held->holders;
  } else {
    held_.push_back({offset, record_bytes, 1, false});
  }
}

void HeldRecords::Release(uint64_t offset) {
  const auto held = std::ranges::find(held_, offset, &Held::offset);
  if (held == held_.end()) return;
  records_->Unpin(offset, held->record_bytes);
  if (--held->holders > 0) return;
  if (held->orphaned) records_->Free(offset, held->record_bytes);
  held_.erase(held);
}

void HeldRecords::Free(uint64_t offset, size_t record_bytes) {
  const auto held = std::ranges::find(held_, offset, &Held::offset);
  if (held != held_.end()) {
    held->orphaned = true;
  } else {
    records_->Free(offset, record_bytes);
  }
}

}  // namespace plov::server
