#include "server/hit_counts.h"

#include <bit>
#include <utility>

namespace plov::server {

namespace {

// Four counts, two for each key: few are taken for another's.
constexpr uint64_t kKeysPerByte = 1;
// Of 32 bits of a mixed name.
constexpr uint64_t kBytesMax = uint64_t{1} << 30;

}  // namespace

void HitCounts::Resize(uint64_t keys) {
  const uint64_t wanted = std::min(std::bit_ceil(keys / kKeysPerByte), kBytesMax);
  if (bytes_ == wanted) return;
  cuckoo::ZeroedMemory fresh(wanted);
  if (fresh.empty()) return;
  memory_ = std::move(fresh);
  bytes_ = wanted;
  faded_ = 0;
}

void HitCounts::Count(verify::HitName name) {
  if (bytes_ == 0) return;
  const Places places = PlacesOf(name);
  const uint32_t count = std::min(places.count() + 1, kCountMax);
  places.one.RaiseTo(count);
  places.other.RaiseTo(count);
}

uint32_t HitCounts::Of(verify::HitName name) const {
  return bytes_ == 0 ? 0 : PlacesOf(name).count();
}

void HitCounts::Fade(size_t bytes) {
  if (bytes_ == 0) return;
  for (size_t left = std::min(bytes, bytes_); left > 0; --left) {
    uint8_t* counts = memory_.As<uint8_t>() + (faded_++ & (bytes_ - 1));
    *counts = *counts >> 1 & 0b01010101;
  }
}

}  // namespace plov::server
