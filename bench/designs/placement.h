// Placement: which slot each item has; nothing but numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace plov::bench {

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
