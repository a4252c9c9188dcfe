// Displacement path: which items to move, and where, so that one of a key's three buckets becomes
// free.
//
// The search is pure: it looks at buckets and changes nothing. Its work is bounded, so a PUT's is.
// The table applies a path from the hole backwards (rule W5), so that no item is ever absent.
// Source: breadth-first search, after libcuckoo's cuckoopath_search (Li et al., EuroSys 2014).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cuckoo/hash.h"

namespace plov::cuckoo {

// Buckets looked at before the table is called full. 3-1 cuckoo tables fill to 91.8 % in theory.
// The first refusal came at 90.9 % (mean; least 90.4 %) with 4,000 nodes, at 90.3 % (89.8 %) with
// 2,000 and at 88.3 % with 500 (tests/cuckoo/table_fill_test.cc measures it).
inline constexpr size_t kPathNodesMax = 4000;

// What the search needs to know of a bucket.
struct Occupant {
  enum class Kind { kNone, kMovable, kFixed } kind;
  std::array<uint64_t, kWays> ways;  // of the item, when movable
};

class PathSearch {
 public:
  PathSearch();

  // Searches from `roots`. Returns the buckets of a path, its root first and an empty bucket last,
  // or an empty span when none is found within kPathNodesMax. Valid until the next Find. Allocates
  // nothing. Cost: up to kPathNodesMax bucket look-ups by `occupant(index)`.
  template <typename OccupantOf>
  std::span<const uint64_t> Find(std::span<const uint64_t> roots, OccupantOf&& occupant_of) {
    Begin();
    for (const uint64_t root : roots) Add(root, kNoParent);
    for (uint32_t at = 0; at < nodes_.size(); ++at) {
      const uint64_t bucket = nodes_[at].bucket;
      const Occupant occupant = occupant_of(bucket);
      if (occupant.kind == Occupant::Kind::kNone) return PathTo(at);
      if (occupant.kind == Occupant::Kind::kFixed) continue;
      for (const uint64_t way : occupant.ways) Add(way, at);
    }
    return {};
  }

 private:
  static constexpr uint32_t kNoParent = UINT32_MAX;

  struct Node {
    uint64_t bucket;
    uint32_t parent;
  };

  // A bucket is looked at once: keys that collide lead back to the same few.
  static constexpr size_t kSeenSlots = 8192;
  static_assert(std::has_single_bit(kSeenSlots) && kSeenSlots >= 2 * kPathNodesMax);

  void Begin();
  void Add(uint64_t bucket, uint32_t parent) {
    if (nodes_.size() < kPathNodesMax && IsNew(bucket)) nodes_.push_back({bucket, parent});
  }
  bool IsNew(uint64_t bucket) {
    size_t slot = bucket * 0x9e3779b97f4a7c15 >> (64 - std::countr_zero(kSeenSlots));
    for (; seen_[slot].search == search_; slot = (slot + 1) % kSeenSlots) {
      if (seen_[slot].bucket == bucket) return false;
    }
    seen_[slot] = {bucket, search_};
    return true;
  }
  std::span<const uint64_t> PathTo(uint32_t node);

  struct Seen {
    uint64_t bucket;
    uint64_t search;
  };
  std::vector<Seen> seen_;
  uint64_t search_ = 0;
  std::vector<Node> nodes_;
  std::vector<uint64_t> path_;
};

}  // namespace plov::cuckoo
