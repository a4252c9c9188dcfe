// Memory: hands out ranges of a region's pages, under one budget that table and records share.
//
// Thread safety: one thread, the shard's.
// Cost: O(log ranges) per call, but Take from the high end or of what is hard to find looks at free
// ranges one by one; Commit is one fallocate where pages are not committed yet. Callers ask for
// blocks, tables and large records.
//
// Addresses are no scarce thing: a sparse region has three times the budget of them, so that a
// range that is large is found however scattered the free ones are. Pages are: a range counts
// against the budget from Take to Give. What was given back stays committed until it is released, or
// the budget wants its pages for a range that has none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "server/region.h"

namespace plov::server {

class Memory {
 public:
  // Manages the bytes `begin` to the region's end; what is before counts as used, and is the
  // caller's to commit. `region` outlives it.
  Memory(Region* region, size_t begin);

  // Records come from the low end and tables from the high one, so neither splits the other's room.
  enum class End { kLow, kHigh };

  // The offset of a free range of whole pages, near its end; `alignment`: a power of two of at
  // least a page. nullopt when the budget or the addresses do not hold it. Its pages are not yet
  // committed.
  std::optional<uint64_t> Take(size_t bytes, size_t alignment, End end);

  // Takes the pages of this very range; false when some of it is taken or outside. For recovery, so
  // whatever the budget says: what is there is there.
  bool Claim(uint64_t offset, size_t bytes);

  // Makes sure that a part of a taken range can be touched; what it holds is undefined, but not
  // whole. False when the kernel has no memory; nothing that is taken changed then.
  bool Commit(uint64_t offset, size_t bytes);

  // Gives a range back, or a part of one: the pages that lie wholly inside.
  void Give(uint64_t offset, size_t bytes);
  // Gives the system back about so much of what is free, from the high end, and at least a huge page
  // where pages are huge; returns how much that was.
  size_t Release(size_t bytes);

  // Recovery, once all is claimed that is to stay, within the budget: gives the system back what is
  // committed beyond it, and makes sure that all that is claimed can be touched. False when the
  // kernel has no memory.
  bool Settle();

  // False while the kernel, which had no memory, is not asked again.
  bool may_commit() const { return region_->host().MayAsk(); }

  size_t budget_bytes() const { return region_->budget_bytes(); }
  // Counts so much of the heap against the budget.
  void set_heap_bytes(size_t bytes) { heap_bytes_ = bytes; }
  size_t used_bytes() const { return used_bytes_ + heap_bytes_; }
  size_t available_bytes() const {
    const size_t limit_bytes = region_->limit_bytes();
    return used_bytes() < limit_bytes ? limit_bytes - used_bytes() : 0;
  }

 private:
  using Ranges = std::map<uint64_t, size_t>;  // offset to bytes, whole pages

  std::optional<uint64_t> FindLow(size_t bytes, size_t alignment) const;
  std::optional<uint64_t> FindHigh(size_t bytes, size_t alignment) const;
  void Cut(uint64_t offset, size_t bytes);
  void AddFree(uint64_t offset, size_t bytes);
  Ranges::iterator RemoveFree(Ranges::iterator range);

  Region* region_;
  size_t used_bytes_;  // of the region
  size_t heap_bytes_ = 0;
  Ranges free_;  // neighbours merged
  // The offsets of those of 2^i to 2^(i+1) - 1 bytes.
  std::array<std::set<uint64_t>, 64> by_size_;
};

}  // namespace plov::server
