#include "program/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace plov::program {

namespace {

// Levenshtein's distance: how many letters are inserted, left out or replaced.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string DidYouMean(std::string_view word, std::span<const std::string> names) {
  const auto distance = [word](const std::string& name) { return Distance(word, name); };
  const auto nearest = std::ranges::min_element(names, {}, distance);
  // A third of the word may be wrong, or one letter, but never all of them.
  const size_t allowed = std::max<size_t>(1, word.size() / 3);
  if (nearest == names.end() || distance(*nearest) > allowed || word.size() < 2) return {};
  return ": did you mean '" + *nearest + "'?";
}

}  // namespace plov::program
