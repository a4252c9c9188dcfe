#include "bench/page/number.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "client/cli/format.h"

namespace plov::bench {

namespace {

std::string Scaled(double value, double step, const std::array<std::string_view, 5>& units) {
  size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.4g}{}", value, units[unit]);
}

}  // namespace

std::string Whole(double value) {
  return cli::Grouped(static_cast<uint64_t>(std::llround(std::max(0.0, value))));
}

std::string Fixed(double value, int decimals) { return fmt::format("{:.{}f}", value, decimals); }

std::string Compact(double value) { return Scaled(value, 1000, {"", " k", " M", " G", " T"}); }

std::string CompactBytes(double bytes) {
  return Scaled(bytes, 1024, {" B", " KiB", " MiB", " GiB", " TiB"});
}

std::string Readable(double value) {
  return value >= 1000 ? Whole(value) : fmt::format("{:.4g}", value);
}

}  // namespace plov::bench
