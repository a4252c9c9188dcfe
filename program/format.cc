#include "program/format.h"

#include <fmt/core.h>

#include <array>
#include <string_view>

namespace plov::program {

std::string Grouped(uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string Bytes(uint64_t bytes) {
  static constexpr auto kUnits = std::to_array<std::string_view>({"KiB", "MiB", "GiB", "TiB"});
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; size >= 1024 && unit + 1 < kUnits.size(); ++unit) size /= 1024;
  return fmt::format("{:.1f} {}", size, kUnits[unit]);
}

std::string Duration(double seconds) {
  const auto whole = static_cast<uint64_t>(seconds);
  if (whole < 60) return fmt::format("{:.3f} s", seconds);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < 86'400) return fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
  return fmt::format("{} d {} h", whole / 86'400, whole / 3600 % 24);
}

std::string Percent(uint64_t part, uint64_t all) {
  if (all == 0) return "0.0 %";
  return fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(all));
}

std::string CountOf(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace plov::program
