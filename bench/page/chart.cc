#include "bench/page/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "bench/page/number.h"

namespace plov::bench {

namespace {

constexpr size_t kBarColumns = 40;

}  // namespace

double Chart::most() const {
  double most = 0;
  for (const Series& one : series) {
    for (const auto& value : one.values) most = std::max(most, value.value_or(0));
  }
  return most;
}

std::string TextOf(const Chart& chart) {
  std::string text = fmt::format("{} ({})\n", chart.title, chart.unit);
  const bool is_single = chart.series.size() == 1;
  size_t name_columns = 0;
  for (const Series& one : chart.series) {
    if (!is_single) name_columns = std::max(name_columns, one.name.size());
  }
  for (const std::string& name : chart.categories) {
    if (is_single) name_columns = std::max(name_columns, name.size());
  }
  const double most = chart.most();
  for (size_t at = 0; at < chart.categories.size(); ++at) {
    if (!is_single) text += fmt::format("\n{} {}\n", chart.categories[at], chart.category);
    for (const Series& one : chart.series) {
      const auto value = one.values.at(at);
      const double part = value && most > 0 ? *value / most : 0;
      const auto columns = static_cast<size_t>(std::lround(part * kBarColumns));
      text += fmt::format("  {:<{}} |{:<{}} {:>12}\n", is_single ? chart.categories[at] : one.name,
                          name_columns, std::string(columns, '#'), kBarColumns,
                          value ? Readable(*value) : "-");
    }
  }
  return text;
}

}  // namespace plov::bench
