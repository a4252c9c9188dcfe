#include "server/page_set.h"

#include <algorithm>
#include <bit>

namespace plov::server {

namespace {

constexpr size_t kBits = 64;

// The bits of word `index` that stand for pages from..to.
uint64_t MaskOf(size_t index, size_t from, size_t to) {
  uint64_t mask = ~uint64_t{0};
  if (from > index * kBits) mask <<= from - index * kBits;
  if (to < (index + 1) * kBits) mask &= (uint64_t{1} << (to - index * kBits)) - 1;
  return mask;
}

size_t EndOf(size_t to) { return (to + kBits - 1) / kBits; }

}  // namespace

size_t PageSet::Count(size_t from, size_t to) const {
  size_t count = 0;
  for (size_t i = from / kBits; from < to && i < EndOf(to); ++i) {
    count += static_cast<size_t>(std::popcount(words_[i] & MaskOf(i, from, to)));
  }
  return count;
}

void PageSet::Add(size_t from, size_t to) {
  for (size_t i = from / kBits; from < to && i < EndOf(to); ++i) words_[i] |= MaskOf(i, from, to);
}

void PageSet::Remove(size_t from, size_t to) {
  for (size_t i = from / kBits; from < to && i < EndOf(to); ++i) words_[i] &= ~MaskOf(i, from, to);
}

std::optional<size_t> PageSet::Last(size_t from, size_t to) const {
  for (size_t i = EndOf(to); from < to && i > from / kBits; --i) {
    const uint64_t word = words_[i - 1] & MaskOf(i - 1, from, to);
    if (word != 0) return i * kBits - 1 - static_cast<size_t>(std::countl_zero(word));
  }
  return std::nullopt;
}

}  // namespace plov::server
