// Numbers as tables show them.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "program/format.h"

namespace plov::bench {

// 1,234,567; below 0 is 0
inline std::string Whole(double value) {
  return program::Grouped(static_cast<uint64_t>(std::llround(std::max(0.0, value))));
}

// 1.27
inline std::string Fixed(double value, int decimals) {
  return fmt::format("{:.{}f}", value, decimals);
}

// 1,234,567 from 1000 on, else 4 digits: 12.35
inline std::string Readable(double value) {
  return value >= 1000 ? Whole(value) : fmt::format("{:.4g}", value);
}

// 950, 1.5 k, 20 M, three digits
inline std::string Compact(double value) {
  constexpr std::array kUnits = {"", " k", " M", " G"};
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.3g}{}", value, kUnits.at(unit));
}

}  // namespace plov::bench
