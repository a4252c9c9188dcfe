// HitCounts: about how often clients found a key lately, 0 to 3, in two bits that other keys may share.
//
// Each key has two counts, of which the smaller is nearer the truth.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuckoo/zeroed_memory.h"
#include "verify/message.h"
#include "verify/seal.h"

namespace plov::server {

class HitCounts {
 public:
  // Room for so many keys. All that was counted is forgotten when that is much more than before, or much less;
  // nothing is where memory ran out.
  void Resize(uint64_t keys);

  void Count(verify::HitName name);
  uint32_t Of(verify::HitName name) const;
  // Halves all counts of the next so many bytes.
  void Fade(size_t bytes);

  size_t bytes() const { return bytes_; }

 private:
  static constexpr uint32_t kCountMax = 3;

  // One of two bits.
  struct Place {
    uint8_t* byte;
    uint32_t shift;
    uint32_t count() const { return *byte >> shift & kCountMax; }
    void RaiseTo(uint32_t count) const {
      if (this->count() >= count) return;
      *byte = static_cast<uint8_t>((*byte & ~(kCountMax << shift)) | count << shift);
    }
  };
  struct Places {
    Place one;
    Place other;
    uint32_t count() const { return std::min(one.count(), other.count()); }
  };
  Place PlaceOf(uint32_t mixed) const {
    return {memory_.As<uint8_t>() + (mixed / 4 & (bytes_ - 1)), mixed % 4 * 2};
  }
  Places PlacesOf(verify::HitName name) const {
    const uint64_t mixed = verify::Mix(name);
    return {PlaceOf(static_cast<uint32_t>(mixed)), PlaceOf(static_cast<uint32_t>(mixed >> 32))};
  }

  cuckoo::ZeroedMemory memory_;
  size_t bytes_ = 0;  // 0, or a power of two
  size_t faded_ = 0;  // where counts fade next
};

}  // namespace plov::server
