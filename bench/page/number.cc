#include "bench/page/number.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "program/format.h"

namespace plov::bench {

std::string Whole(double value) {
  return program::Grouped(static_cast<uint64_t>(std::llround(std::max(0.0, value))));
}

std::string Fixed(double value, int decimals) { return fmt::format("{:.{}f}", value, decimals); }

std::string Readable(double value) {
  return value >= 1000 ? Whole(value) : fmt::format("{:.4g}", value);
}

std::string Compact(double value) {
  constexpr std::array kUnits = {"", " k", " M", " G"};
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.3g}{}", value, kUnits.at(unit));
}

}  // namespace plov::bench
