// RoomSearch: how far a write has come with making room for its item, so that it can go on a slice
// at a time while the shard serves others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace plov::server {

struct RoomSearch {
  // In this order, what costs least first.
  enum class Means : uint8_t {
    kShare,    // what every write does of the work that has to be done some time
    kExpired,  // items whose time is over
    kGrowth,   // the growth that is under way
    kSparse,   // blocks worth cleaning
    kHole,     // the place of dead records
    kAnyDead,  // blocks with as much dead as is wanted
    kEvict,    // items that are worth least, in cache mode; then what they leave is cleaned
    kWait,     // memory of a table that clients are leaving
    kNone,
  };

  Means means = Means::kShare;
  bool begun = false;
  size_t left = 0;              // that may be spent on the means, in its unit
  uint64_t tried = UINT64_MAX;  // Store::Chances when the table was full
  size_t evicted_bytes = 0;     // for this write, in all
  // Whether others have what kWait waits for: who waits can confirm nothing meanwhile.
  bool may_wait = false;
  uint64_t waits_since_us = 0;

  bool waits() const { return means == Means::kWait && begun; }

  void GoOn() {
    means = static_cast<Means>(static_cast<uint8_t>(means) + 1);
    begun = false;
  }
  // Takes a part of what the means may cost in all; false when that is spent.
  bool Spend(size_t part, size_t all) {
    if (!begun) left = all;
    begun = true;
    if (left == 0) return false;
    left -= std::min(part, left);
    return true;
  }
};

}  // namespace plov::server
