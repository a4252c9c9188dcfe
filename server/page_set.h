// Page set: which pages of a region are committed, a bit for each.
//
// Cost: a word per 64 pages of the range that is asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace plov::server {

class PageSet {
 public:
  explicit PageSet(size_t page_count = 0) : words_((page_count + 63) / 64) {}

  // All of pages `from` up to `to`, which is not one of them.
  size_t Count(size_t from, size_t to) const;
  void Add(size_t from, size_t to);
  void Remove(size_t from, size_t to);
  // The highest one that is in the set.
  std::optional<size_t> Last(size_t from, size_t to) const;

 private:
  std::vector<uint64_t> words_;
};

}  // namespace plov::server
