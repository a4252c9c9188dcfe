#include "cuckoo/location_cache.h"

#include <bit>

namespace plov::cuckoo {

LocationCache::LocationCache(size_t bytes) {
  if (bytes < sizeof(Set)) return;
  set_count_ = std::bit_floor(bytes / sizeof(Set));
  Clear();
}

void LocationCache::Remember(const Location& location) {
  if (sets_ == nullptr || location.hash == 0) return;
  Set& set = sets_[IndexOf(location.hash)];
  if (set[0].hash != location.hash && (set[0].hash != 0 || set[1].hash == location.hash)) {
    set[1] = set[0];
  }
  set[0] = location;
}

void LocationCache::Forget(uint64_t hash) {
  if (sets_ == nullptr) return;
  for (Location& location : sets_[IndexOf(hash)]) {
    if (location.hash == hash) location = {};
  }
}

// Large allocations of calloc come zeroed and untouched from the kernel, and zero means "nothing
// remembered"; wiping the old memory would commit all of it.
void LocationCache::Clear() {
  sets_ = nullptr;
  if (set_count_ == 0) return;
  size_t room = (set_count_ + 1) * sizeof(Set);  // one set more, to align
  memory_.reset(static_cast<std::byte*>(std::calloc(room, 1)));
  void* aligned = memory_.get();
  if (aligned == nullptr) return;
  sets_ = static_cast<Set*>(std::align(sizeof(Set), set_count_ * sizeof(Set), aligned, room));
}

}  // namespace plov::cuckoo
