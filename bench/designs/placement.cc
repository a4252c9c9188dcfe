// Where items lie, by cuckoo hashing and by hopscotch.

#include "bench/designs/layout.h"
#include "cuckoo/hash.h"
#include "cuckoo/path.h"

namespace plov::bench {

namespace {

// Buckets behind its home that an item looks for a free slot in, to be moved nearer by hops.
constexpr uint64_t kReach = 64;

class Hopscotch {
 public:
  Hopscotch(std::span<const uint64_t> hashes, uint64_t bucket_count, uint64_t chained_max)
      : hashes_(hashes),
        bucket_count_(bucket_count),
        first_chained_(bucket_count + kBucketsPerNeighbourhood - 1),
        buckets_max_(first_chained_ + chained_max) {
    placement_.slots.resize(first_chained_ * kSlotsPerBucket);
    placement_.next.resize(first_chained_);
  }

  bool Insert(uint32_t item) {
    const uint64_t home = HomeOf(item);
    if (uint32_t* free = FreeNear(home)) {
      *free = item;
      return true;
    }
    return Chain(home, item);
  }

  Placement Take() { return std::move(placement_); }

 private:
  uint64_t HomeOf(uint32_t item) const { return cuckoo::HomeOf(hashes_[item - 1], bucket_count_); }

  std::span<uint32_t> SlotsOf(uint64_t bucket) {
    return std::span(placement_.slots).subspan(bucket * kSlotsPerBucket, kSlotsPerBucket);
  }
  uint32_t* FreeIn(uint64_t bucket) {
    for (uint32_t& slot : SlotsOf(bucket)) {
      if (slot == 0) return &slot;
    }
    return nullptr;
  }
  // The slot of an item that may move to the bucket behind.
  uint32_t* MovableIn(uint64_t bucket) {
    for (uint32_t& slot : SlotsOf(bucket)) {
      if (HomeOf(slot) == bucket) return &slot;
    }
    return nullptr;
  }

  // A free slot in the neighbourhood of `home`, after hops if need be; nullptr: there is none.
  uint32_t* FreeNear(uint64_t home) {
    uint64_t at = home;
    uint32_t* free = nullptr;
    for (; at < first_chained_ && at < home + kReach; ++at) {
      if ((free = FreeIn(at)) != nullptr) break;
    }
    if (free == nullptr) return nullptr;
    for (; at >= home + kBucketsPerNeighbourhood; --at) {
      uint32_t* moved = MovableIn(at - 1);
      if (moved == nullptr) return nullptr;
      *free = *moved;
      *moved = 0;
      free = moved;
    }
    return free;
  }

  bool Chain(uint64_t home, uint32_t item) {
    uint64_t last = home;
    while (placement_.next[last] != 0) {
      last = placement_.next[last];
      if (uint32_t* free = FreeIn(last)) {
        *free = item;
        return true;
      }
    }
    const uint64_t chained = placement_.next.size();
    if (chained == buckets_max_) return false;
    placement_.next[last] = static_cast<uint32_t>(chained);
    placement_.next.push_back(0);
    placement_.slots.resize(placement_.slots.size() + kSlotsPerBucket);
    *FreeIn(chained) = item;
    return true;
  }

  std::span<const uint64_t> hashes_;
  uint64_t bucket_count_;
  uint64_t first_chained_;
  uint64_t buckets_max_;
  Placement placement_;
};

}  // namespace

std::optional<Placement> PlaceByCuckoo(std::span<const uint64_t> hashes, uint64_t slot_count) {
  Placement placement;
  std::vector<uint32_t>& slots = placement.slots;
  slots.resize(slot_count);
  cuckoo::PathSearch search;
  const auto occupant_of = [&](uint64_t slot) {
    using Kind = cuckoo::Occupant::Kind;
    if (slots[slot] == 0) return cuckoo::Occupant{Kind::kNone, {}};
    return cuckoo::Occupant{Kind::kMovable, cuckoo::WaysOf(hashes[slots[slot] - 1], slot_count)};
  };
  for (uint32_t item = 1; item <= hashes.size(); ++item) {
    const auto path = search.Find(cuckoo::WaysOf(hashes[item - 1], slot_count), occupant_of);
    if (path.empty()) return std::nullopt;
    for (size_t i = path.size() - 1; i > 0; --i) slots[path[i]] = slots[path[i - 1]];
    slots[path[0]] = item;
  }
  return placement;
}

std::optional<Placement> PlaceByHopscotch(std::span<const uint64_t> hashes, uint64_t bucket_count,
                                          uint64_t chained_max) {
  Hopscotch hopscotch(hashes, bucket_count, chained_max);
  for (uint32_t item = 1; item <= hashes.size(); ++item) {
    if (!hopscotch.Insert(item)) return std::nullopt;
  }
  return hopscotch.Take();
}

}  // namespace plov::bench
