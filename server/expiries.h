// Expiries: when the next item of a table can have expired, so that nobody looks for one before.
//
// What it says may be too early, which costs a round over the table. It may be too late for an item
// that was moved while a round went on: a round that has seen fewer items than there are is followed
// by another at once, but what was stored and seen in it hides one that was missed. That one's memory
// is freed when another item is due; a reader takes no expired item for a hit (R7).
#pragma once

#include <algorithm>
#include <cstdint>

namespace plov::server {

class Expiries {
 public:
  // Items that a warm start found.
  explicit Expiries(uint64_t items = 0) : items_(items), earliest_(items > 0 ? 0 : UINT32_MAX) {}

  bool has_any() const { return items_ > 0; }
  bool due(uint64_t now_seconds) const { return items_ > 0 && earliest_ <= now_seconds; }

  // An item with an expiry (Unix seconds) is stored, is gone, is seen by the round and stays.
  void Stored(uint32_t expiry) {
    ++items_;
    earliest_ = std::min(earliest_, expiry);
    See(expiry);
  }
  // A damaged record may say that it expires when it does not.
  void Gone() { items_ -= std::min<uint64_t>(1, items_); }
  void See(uint32_t expiry) {
    ++seen_;
    earliest_seen_ = std::min(earliest_seen_, expiry);
  }
  // Every bucket was looked at since the last EndRound, or (`whole` false) another table took the
  // place of the one that was.
  void EndRound(bool whole) {
    earliest_ = whole && seen_ >= items_ ? earliest_seen_ : 0;
    seen_ = 0;
    earliest_seen_ = UINT32_MAX;
  }

 private:
  uint64_t items_;
  uint64_t seen_ = 0;
  uint32_t earliest_;
  uint32_t earliest_seen_ = UINT32_MAX;
};

}  // namespace plov::server
