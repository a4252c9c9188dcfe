// Fullness: says once when memory gets full, and again when it has been less full in between.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace plov::server {

class Fullness {
 public:
  // The percentage, when it has crossed 80 or 95 since the last look.
  std::optional<uint64_t> Look(uint64_t percent) {
    size_t level = 0;
    while (level < kLevels.size() && percent >= kLevels[level]) ++level;
    const bool crossed = level > level_;
    // A little slack, so that a store which hovers there does not fill the log.
    const bool less = level < level_ && percent + kSlack < kLevels[level_ - 1];
    if (crossed || less) level_ = level;
    if (!crossed) return std::nullopt;
    return percent;
  }

 private:
  static constexpr std::array<uint64_t, 2> kLevels = {80, 95};
  static constexpr uint64_t kSlack = 5;

  size_t level_ = 0;
};

}  // namespace plov::server
