// Location cache: where a client last found its keys, so that the next GET is one READ (rule R4).
//
// Thread safety: none; it belongs to one client.
// Memory:        fixed at construction, committed as touched; a full set forgets its older entry.
// Cost:          one cache miss per key: a set is one 64-byte line of two entries.
//
// Only presence is remembered, never absence. An entry is a hint: what is READ through it is
// verified. Source: remembered locations, FaRM, NSDI 2014.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace plov::cuckoo {

struct Location {
  uint64_t hash = 0;        // 0 = nothing remembered
  uint64_t version = 0;     // of the record; 0 = the item is inline in a bucket
  uint64_t offset = 0;      // of the record, or of the bucket
  uint32_t bytes = 0;       // of the record; of the bucket: its way
  uint32_t generation = 0;  // of the table (low 32 bits) when the item is inline

  bool is_record() const { return version != 0; }
};
static_assert(sizeof(Location) == 32);

class LocationCache {
 public:
  // bytes: memory bound, rounded down to a power of two of sets; under 64 the cache remembers
  // nothing.
  explicit LocationCache(size_t bytes);

  // What is remembered for `hash`, or nullptr. Valid until the next call.
  const Location* Find(uint64_t hash) const {
    if (sets_ == nullptr || hash == 0) return nullptr;
    const Set& set = sets_[IndexOf(hash)];
    if (set[0].hash == hash) return &set[0];
    if (set[1].hash == hash) return &set[1];
    return nullptr;
  }

  // Starts to fetch the line that Find(hash) will look at.
  void Prefetch(uint64_t hash) const {
    if (sets_ != nullptr) __builtin_prefetch(&sets_[IndexOf(hash)]);
  }

  LocationCache(const LocationCache&) = delete;
  LocationCache& operator=(const LocationCache&) = delete;

  void Remember(const Location& location);
  void Forget(uint64_t hash);
  void Clear();

 private:
  using Set = std::array<Location, 2>;
  struct FreeDeleter {
    void operator()(std::byte* pointer) const { std::free(pointer); }
  };

  size_t IndexOf(uint64_t hash) const { return (hash >> 7) & (set_count_ - 1); }

  std::unique_ptr<std::byte, FreeDeleter> memory_;
  Set* sets_ = nullptr;   // in memory_, aligned to cache lines; nullptr remembers nothing
  size_t set_count_ = 0;  // a power of two, or 0
};

}  // namespace plov::cuckoo
