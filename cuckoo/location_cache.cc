#include "cuckoo/location_cache.h"

#include <algorithm>
#include <bit>

namespace plov::cuckoo {

LocationCache::LocationCache(size_t bytes) {
  if (bytes < sizeof(Set)) return;
  set_count_ = std::bit_floor(bytes / sizeof(Set));
  Clear();
}

void LocationCache::Remember(uint64_t hash, const Location& location) {
  const uint64_t words = location.offset / verify::kWordBytes;
  if (set_count_ == 0 || words >> kOffsetBits != 0 || location.bytes > kBytesMask) return;
  const uint64_t bytes = location.is_record ? location.bytes : location.way + uint64_t{1};
  const Entry entry{TagOf(hash) << 32 | location.stamp, words << kBytesBits | bytes};
  Set& set = SetOf(hash);
  const auto same = [hash](const Entry& other) { return other.key >> 32 == TagOf(hash); };
  auto place = std::ranges::find_if(set, same);
  if (place == set.end()) place = std::ranges::find(set, uint64_t{0}, &Entry::place);
  if (place == set.end()) --place;  // the oldest
  std::move_backward(set.begin(), place, place + 1);
  set[0] = entry;
}

void LocationCache::Forget(uint64_t hash) {
  if (set_count_ == 0) return;
  for (Entry& entry : SetOf(hash)) {
    if (entry.key >> 32 == TagOf(hash)) entry = {};
  }
}

void LocationCache::Clear() {
  if (set_count_ == 0) return;
  memory_ = ZeroedMemory(set_count_ * sizeof(Set));
  if (memory_.empty()) set_count_ = 0;
}

}  // namespace plov::cuckoo
