// Location cache: where a client last found its keys, so that the next GET is one READ (rule R4).
//
// Thread safety: none; it belongs to one client.
// Memory:        16 bytes a location, fixed at construction, committed as touched; a full set
//                forgets its oldest entry.
// Cost:          one cache miss per key: a set is one 64-byte line of four entries.
//
// Only presence is remembered, never absence. An entry is a hint: it tells keys apart by 32 bits of
// their hash, and what is READ through it is verified. Source: remembered locations, FaRM, NSDI
// 2014.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cuckoo/zeroed_memory.h"
#include "verify/words.h"

namespace plov::cuckoo {

// Where an item is: a record, or the bucket that holds it inline.
struct Location {
  bool is_record = false;
  uint8_t way = 0;      // of the bucket
  uint32_t bytes = 0;   // of the record
  uint64_t offset = 0;  // of the record, of the region; word-aligned
  uint32_t stamp =
      0;  // low bits of the record's version, or of the generation of the bucket's table

  static constexpr Location Record(uint64_t offset, uint32_t bytes, uint64_t version) {
    return {true, 0, bytes, offset, static_cast<uint32_t>(version)};
  }
  static constexpr Location Bucket(uint8_t way, uint64_t generation) {
    return {false, way, 0, 0, static_cast<uint32_t>(generation)};
  }

  bool operator==(const Location&) const = default;
};

class LocationCache {
 public:
  // bytes: memory bound, rounded down to a power of two of sets; under 64 the cache remembers
  // nothing.
  explicit LocationCache(size_t bytes);

  // What is remembered for `hash`, or for another key that it cannot tell from it.
  std::optional<Location> Find(uint64_t hash) const {
    if (set_count_ == 0) return std::nullopt;
    const uint64_t tag = TagOf(hash);
    for (const Entry& entry : SetOf(hash)) {
      if ((entry.key >> 32) == tag && entry.place != 0) return Unpack(entry);
    }
    return std::nullopt;
  }

  // Starts to fetch the line that Find(hash) will look at.
  void Prefetch(uint64_t hash) const {
    if (set_count_ != 0) verify::Prefetch(&SetOf(hash));
  }

  // A location that does not fit its entry (regions of more than 4 TiB) is not remembered.
  void Remember(uint64_t hash, const Location& location);
  void Forget(uint64_t hash);
  void Clear();

 private:
  // place: 39 bits, the offset in words, then 25 bits, the bytes of the record, or 1 + the way of a
  // bucket, which is less than any record has. 0 = nothing remembered.
  struct Entry {
    uint64_t key = 0;  // 32 bits, the tag, then the stamp
    uint64_t place = 0;
  };
  using Set = std::array<Entry, 4>;
  static_assert(sizeof(Set) == 64);

  static constexpr int kBytesBits = 25;
  static constexpr int kOffsetBits = 64 - kBytesBits;
  static constexpr uint64_t kBytesMask = (uint64_t{1} << kBytesBits) - 1;
  static constexpr uint32_t kWaysEnd = 4;  // 1 + a way is less, the bytes of a record are more

  // Sets are chosen by bits below those of the tag, as long as there are less than 2^25.
  static uint64_t TagOf(uint64_t hash) { return hash >> 32; }
  const Set& SetOf(uint64_t hash) const {
    return memory_.As<Set>()[(hash >> 7) & (set_count_ - 1)];
  }
  Set& SetOf(uint64_t hash) { return memory_.As<Set>()[(hash >> 7) & (set_count_ - 1)]; }

  static Location Unpack(const Entry& entry) {
    const auto bytes = static_cast<uint32_t>(entry.place & kBytesMask);
    const auto stamp = static_cast<uint32_t>(entry.key);
    if (bytes < kWaysEnd) return {false, static_cast<uint8_t>(bytes - 1), 0, 0, stamp};
    return {true, 0, bytes, (entry.place >> kBytesBits) * verify::kWordBytes, stamp};
  }

  size_t set_count_ = 0;  // a power of two, or 0
  ZeroedMemory memory_;
};

}  // namespace plov::cuckoo
