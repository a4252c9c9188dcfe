// RecordRing: how one client process hands its operations to the auditor, over shared memory.
//
//   taken <= finished <= issued       operations, counted since the ring was opened
//
// The client writes what it is about to do into the ring and publishes it (Issue), does it, writes
// into the same entries what it came to, and publishes that (Finish), for a batch of operations at
// a time. So when the process is killed, what it had under way stands between `finished` and
// `issued`. When the ring is full the client waits.
//
// The auditor learns in addition from when on the client's later operations start: `floor`, read
// before `issued`. Every operation that is not in what `issued` then shows starts at `floor` or
// later.
//
// Who writes: the client `issued`, `finished`, `floor` and entries from `taken` to `issued`; the
//             auditor `taken`. While no client has the ring it is the auditor's.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "torture/history.h"

namespace plov::torture {

// Record has `start`, and a function Unanswered(const Record&) says what one is whose client has ended meanwhile.
template <typename Record, uint64_t kRecords>
class RecordRing {
 public:
  static constexpr uint64_t kOperations = kRecords;

  // The client's.
  bool HasRoom(size_t count) const {
    // Pairs with Take: an entry is written again only after the auditor has copied it.
    return issued_.load(std::memory_order_relaxed) + count -
               taken_.load(std::memory_order_acquire) <=
           kOperations;
  }
  // The entry of the next batch's operation `index`.
  Record& Next(size_t index) {
    return entries_[(finished_.load(std::memory_order_relaxed) + index) % kOperations];
  }
  void Issue(size_t count) {
    // Pairs with horizon and TakeUnfinished.
    issued_.store(finished_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }
  // now: at or before the start of every later operation.
  void Finish(Instant now) {
    // Pairs with Take.
    finished_.store(issued_.load(std::memory_order_relaxed), std::memory_order_release);
    Rest(now);
  }
  void Rest(Instant now) { floor_.store(now, std::memory_order_release); }  // pairs with horizon

  // The auditor's. Opens the ring for a client that starts its operations at `now` or later.
  void Open(Instant now) {
    taken_.store(issued_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    finished_.store(issued_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    floor_.store(now, std::memory_order_release);
  }

  // Calls take(operation) for those that have ended, at most `limit`. Returns how many.
  template <typename Take>
  size_t TakeFinished(size_t limit, Take&& take) {
    const uint64_t end = finished_.load(std::memory_order_acquire);
    const uint64_t begin = taken_.load(std::memory_order_relaxed);
    const uint64_t count = std::min<uint64_t>(end - begin, limit);
    for (uint64_t i = 0; i < count; ++i) take(entries_[(begin + i) % kOperations]);
    taken_.store(begin + count, std::memory_order_release);
    return count;
  }

  // Of a client that has ended: what it had under way, as unknown. After all that has ended.
  template <typename Take>
  void TakeUnfinished(Take&& take) {
    const uint64_t end = issued_.load(std::memory_order_acquire);
    for (uint64_t i = taken_.load(std::memory_order_relaxed); i != end; ++i) {
      take(Unanswered(entries_[i % kOperations]));
    }
    taken_.store(end, std::memory_order_release);
  }

  // No operation that has not been taken starts before this.
  Instant horizon() const {
    const Instant floor = floor_.load(std::memory_order_acquire);
    const uint64_t taken = taken_.load(std::memory_order_relaxed);
    if (issued_.load(std::memory_order_acquire) == taken) return floor;
    return entries_[taken % kOperations].start;
  }

 private:
  alignas(64) std::atomic<uint64_t> issued_ = 0;
  std::atomic<uint64_t> finished_ = 0;
  std::atomic<Instant> floor_ = 0;
  alignas(64) std::atomic<uint64_t> taken_ = 0;
  alignas(64) std::array<Record, kOperations> entries_;
};

}  // namespace plov::torture
