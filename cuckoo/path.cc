#include "cuckoo/path.h"

#include <algorithm>

namespace plov::cuckoo {

PathSearch::PathSearch() : seen_(kSeenSlots) {
  nodes_.reserve(kPathNodesMax);
  path_.reserve(64);
}

void PathSearch::Begin() {
  nodes_.clear();
  ++search_;
}

// A breadth-first search reaches a bucket first by a shortest path, and a shortest path visits no
// bucket twice, so the moves of the path do not disturb each other.
std::span<const uint64_t> PathSearch::PathTo(uint32_t node) {
  path_.clear();
  for (uint32_t at = node; at != kNoParent; at = nodes_[at].parent) {
    path_.push_back(nodes_[at].bucket);
  }
  std::ranges::reverse(path_);
  return path_;
}

}  // namespace plov::cuckoo
