#include "server/memory.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>

namespace plov::server {

namespace {

constexpr uint64_t RoundDown(uint64_t value, uint64_t unit) { return value / unit * unit; }

size_t SizeClass(size_t bytes) { return static_cast<size_t>(std::bit_width(bytes)) - 1; }

// The lowest place in a free range, if there is one.
std::optional<uint64_t> LowestIn(uint64_t from, size_t room, size_t bytes, size_t alignment) {
  const uint64_t offset = RoundUp(from, alignment);
  if (offset + bytes > from + room) return std::nullopt;
  return offset;
}

// Ranges of one size class that are tried before those of the next, which are large enough.
constexpr int kTriesPerClass = 8;

}  // namespace

Memory::Memory(Region* region, size_t begin)
    : region_(region), used_bytes_(RoundUp(begin, kPageBytes)) {
  const size_t end = region->memory().size();
  assert(used_bytes_ <= end);
  if (used_bytes_ < end) AddFree(used_bytes_, end - used_bytes_);
}

void Memory::AddFree(uint64_t offset, size_t bytes) {
  free_[offset] = bytes;
  by_size_[SizeClass(bytes)].insert(offset);
}

Memory::Ranges::iterator Memory::RemoveFree(Ranges::iterator range) {
  by_size_[SizeClass(range->second)].erase(range->first);
  return free_.erase(range);
}

std::optional<uint64_t> Memory::Take(size_t bytes, size_t alignment, End end) {
  bytes = RoundUp(bytes, kPageBytes);
  if (bytes == 0 || bytes > available_bytes()) return std::nullopt;
  const auto offset = end == End::kLow ? FindLow(bytes, alignment) : FindHigh(bytes, alignment);
  if (offset) Cut(*offset, bytes);
  return offset;
}

// First fit, less the ranges that only a longer search would find.
std::optional<uint64_t> Memory::FindLow(size_t bytes, size_t alignment) const {
  std::optional<uint64_t> lowest;
  for (size_t size = SizeClass(bytes); size < by_size_.size(); ++size) {
    int tries = 0;
    for (const uint64_t from : by_size_[size]) {
      if (++tries > kTriesPerClass || (lowest && from > *lowest)) break;
      const auto offset = LowestIn(from, free_.at(from), bytes, alignment);
      if (!offset) continue;
      lowest = lowest ? std::min(*lowest, *offset) : *offset;
      break;
    }
  }
  if (lowest) return lowest;
  for (const auto& [from, room] : free_) {
    if (const auto offset = LowestIn(from, room, bytes, alignment)) return offset;
  }
  return std::nullopt;
}

std::optional<uint64_t> Memory::FindHigh(size_t bytes, size_t alignment) const {
  for (auto range = free_.rbegin(); range != free_.rend(); ++range) {
    const auto& [from, room] = *range;
    if (room < bytes) continue;
    const uint64_t offset = RoundDown(from + room - bytes, alignment);
    if (offset >= from) return offset;
  }
  return std::nullopt;
}

// Takes a part of a free range.
void Memory::Cut(uint64_t offset, size_t bytes) {
  const auto range = std::prev(free_.upper_bound(offset));
  const uint64_t from = range->first, to = from + range->second;
  RemoveFree(range);
  if (from < offset) AddFree(from, offset - from);
  if (offset + bytes < to) AddFree(offset + bytes, to - offset - bytes);
  used_bytes_ += bytes;
}

bool Memory::Claim(uint64_t offset, size_t bytes) {
  const uint64_t from = RoundDown(offset, kPageBytes);
  const uint64_t to = RoundUp(offset + bytes, kPageBytes);
  const auto after = free_.upper_bound(from);
  if (after == free_.begin() || bytes == 0 || offset + bytes < offset) return false;
  const auto& [begin, room] = *std::prev(after);
  if (to > begin + room) return false;
  Cut(from, to - from);
  return true;
}

bool Memory::Commit(uint64_t offset, size_t bytes) {
  const uint64_t from = RoundDown(offset, region_->unit_bytes());
  const uint64_t to = RoundUp(offset + bytes, region_->unit_bytes());
  const size_t fresh_bytes =
      region_->IsCommitted(offset, bytes) ? 0 : to - from - region_->CommittedIn(from, to - from);
  const size_t committed_bytes = region_->committed_bytes() + fresh_bytes;
  const size_t wanted_bytes = committed_bytes + heap_bytes_;
  if (wanted_bytes > region_->limit_bytes()) Release(wanted_bytes - region_->limit_bytes());
  return region_->Commit(offset, bytes, heap_bytes_);
}

bool Memory::Settle() {
  if (!Commit(0, 0)) return false;
  uint64_t used = 0;
  for (const auto& [from, room] : free_) {
    if (used < from && !Commit(used, from - used)) return false;
    used = from + room;
  }
  const uint64_t end = region_->memory().size();
  return used == end || Commit(used, end - used);
}

// The high end first: what is taken next is taken at the low end, and its pages are there already.
size_t Memory::Release(size_t bytes) {
  bytes = std::max(bytes, region_->unit_bytes());
  const size_t committed_bytes = region_->committed_bytes();
  size_t released = 0;
  for (auto range = free_.rbegin(); range != free_.rend() && released < bytes; ++range) {
    region_->ReleaseLast(range->first, range->second, bytes - released);
    released = committed_bytes - region_->committed_bytes();
  }
  return released;
}

void Memory::Give(uint64_t offset, size_t bytes) {
  uint64_t from = RoundUp(offset, kPageBytes);
  uint64_t to = RoundDown(offset + bytes, kPageBytes);
  if (from >= to) return;
  assert(to - from <= used_bytes_);
  used_bytes_ -= to - from;
  auto next = free_.lower_bound(from);
  assert(next == free_.end() || to <= next->first);
  if (next != free_.end() && next->first == to) {
    to += next->second;
    next = RemoveFree(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    assert(previous->first + previous->second <= from);
    if (previous->first + previous->second == from) {
      from = previous->first;
      RemoveFree(previous);
    }
  }
  AddFree(from, to - from);
}

}  // namespace plov::server
