#include "cuckoo/location_cache.h"

#include <bit>
#include <cstring>

namespace plov::cuckoo {

LocationCache::LocationCache(size_t bytes) {
  if (bytes < sizeof(Set)) return;
  const size_t set_count = std::bit_floor(bytes / sizeof(Set));
  // Large allocations come zeroed and untouched from the kernel; zero means "nothing remembered".
  void* memory = std::aligned_alloc(sizeof(Set), set_count * sizeof(Set));
  if (memory == nullptr) return;
  sets_.reset(static_cast<Set*>(memory));
  mask_ = set_count - 1;
  Clear();
}

void LocationCache::Remember(const Location& location) {
  if (sets_ == nullptr || location.hash == 0) return;
  Set& set = sets_[IndexOf(location.hash)];
  if (set[0].hash != location.hash) set[1] = set[0];
  set[0] = location;
}

void LocationCache::Forget(uint64_t hash) {
  if (sets_ == nullptr) return;
  for (Location& location : sets_[IndexOf(hash)]) {
    if (location.hash == hash) location = {};
  }
}

void LocationCache::Clear() {
  if (sets_ == nullptr) return;
  std::memset(static_cast<void*>(sets_.get()), 0, (mask_ + 1) * sizeof(Set));
}

}  // namespace plov::cuckoo
