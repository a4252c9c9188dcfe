// Layout: where an emulated design keeps its items in a region that clients READ.
//
//  kPilaf, kHerd   slots, one per bucket of a 3-1 cuckoo table; objects
//  kFarmPointers   neighbourhoods of slots; chained buckets; objects
//  kFarmInline     neighbourhoods of objects; chained buckets
//
// A slot:     checksum (8), key hash (8), object's offset (8), object's bytes (4), zero (4)
// An object:  checksum (8), key bytes (4), value bytes (4), key, value, zeros to a whole word
// A bucket of a neighbourhood: checksum (8), offset of the first chained bucket or 0 (8), then
//             kSlotsPerBucket slots or objects; a chained one is the same
//
// Checksums are XXH3 of the rest under a seed of the place, where the papers have CRC64 (Pilaf) or
// versions per cache line (FaRM). An empty slot or object is zeros under its checksum.
//
// Source: Pilaf, USENIX ATC 2013; FaRM, NSDI 2014, section 5.3 (associative hopscotch with chains,
//         H = 8: a key is in its home bucket, in the next one, or in its home's chain).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/load/items.h"
#include "verify/error.h"

namespace plov::bench {

enum class Design : uint8_t { kPilaf, kFarmInline, kFarmPointers, kHerd };

inline constexpr uint64_t kSlotBytes = 32;
inline constexpr uint64_t kObjectHeadBytes = 16;
inline constexpr uint64_t kBucketHeadBytes = 16;
inline constexpr uint64_t kSlotsPerBucket = 4;
inline constexpr uint64_t kBucketsPerNeighbourhood = 2;  // H = 8
inline constexpr uint32_t kFillPercent = 75;             // where Pilaf's table stands

// What one of several servers holds: items number, number + count, number + 2 count ...
struct ItemPart {
  uint32_t number = 0;
  uint32_t count = 1;
};

struct Layout {
  Design design = Design::kPilaf;
  ItemShape shape;  // values of one size
  ItemPart part;
  uint64_t items = 0;         // of the part
  uint64_t bucket_count = 0;  // homes
  uint64_t chained_max = 0;   // room for chained buckets
  uint64_t slot_bytes = 0;
  uint64_t object_bytes = 0;
  uint64_t objects_offset = 0;
  uint64_t region_bytes = 0;

  bool is_cuckoo() const { return design == Design::kPilaf || design == Design::kHerd; }
  bool is_inline() const { return design == Design::kFarmInline; }
  uint64_t bucket_bytes() const {
    return is_cuckoo() ? slot_bytes : kBucketHeadBytes + kSlotsPerBucket * slot_bytes;
  }
  // Of buckets, chained ones behind those that are homes and their last neighbour.
  uint64_t BucketOffset(uint64_t index) const { return index * bucket_bytes(); }
  uint64_t chained_index() const { return bucket_count + kBucketsPerNeighbourhood - 1; }
  // Of the part's items, 0 the first.
  uint64_t ObjectOffset(uint64_t index) const { return objects_offset + index * object_bytes; }
  uint64_t ItemNumber(uint64_t index) const { return part.number + index * part.count; }
};

// items: of all parts.
Layout LayoutOf(Design design, const ItemShape& shape, uint64_t items, const ItemPart& part = {});

// Of a key; never 0.
uint64_t DesignHash(std::string_view key);
// Of the checksum at a place.
uint64_t PlaceSeed(uint64_t offset);

// Writes all items of the layout into zeroed memory of region_bytes, once, before anybody READs them.
// kNoSpace.
std::expected<void, Error> WriteImage(const Layout& layout, std::span<std::byte> region);

// Which slot each item has; nothing but numbers.
struct Placement {
  // The number of the item in each slot, and one more; 0: none. Where there are neighbourhoods:
  // kSlotsPerBucket to a bucket, chained buckets last.
  std::vector<uint32_t> slots;
  // By bucket, chained ones too: the index of the next in its chain; 0: none.
  std::vector<uint32_t> next;
};

// 3-1 cuckoo: item i is in one of cuckoo::WaysOf(hashes[i]). nullopt: the table is full.
std::optional<Placement> PlaceByCuckoo(std::span<const uint64_t> hashes, uint64_t slot_count);

// Hopscotch: in the home bucket, the one behind it, or its chain. nullopt: more than `chained_max`
// chained buckets are needed.
std::optional<Placement> PlaceByHopscotch(std::span<const uint64_t> hashes, uint64_t bucket_count,
                                          uint64_t chained_max);

}  // namespace plov::bench
