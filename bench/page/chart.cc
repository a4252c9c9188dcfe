#include "bench/page/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "client/cli/format.h"

namespace plov::bench {

namespace {

constexpr size_t kBarColumns = 40;

std::string Number(double value) {
  return value >= 1000 ? cli::Grouped(static_cast<uint64_t>(std::llround(value)))
                       : fmt::format("{:.4g}", value);
}

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
  size_t name_columns = 0;
  for (const Series& one : chart.series) name_columns = std::max(name_columns, one.name.size());
  const double most = chart.most();
  for (size_t at = 0; at < chart.categories.size(); ++at) {
    text += fmt::format("\n{} {}\n", chart.categories[at], chart.category);
    for (const Series& one : chart.series) {
      const auto value = one.values.at(at);
      const double part = value && most > 0 ? *value / most : 0;
      const auto columns = static_cast<size_t>(std::lround(part * kBarColumns));
      text += fmt::format("  {:<{}} |{:<{}} {:>12}\n", one.name, name_columns,
                          std::string(columns, '#'), kBarColumns, value ? Number(*value) : "-");
    }
  }
  return text;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string HtmlOf(std::string_view title, const std::vector<Chart>& charts,
                   std::string_view text) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<style>body {{ font-family: sans-serif; margin: 2em }} svg {{ max-width: 100% }}</style>\n"
      "</head>\n<body>\n<h1>{0}</h1>\n",
      Escaped(title));
  for (const Chart& chart : charts) html += SvgOf(chart);
  html += fmt::format("<pre>{}</pre>\n</body>\n</html>\n", Escaped(text));
  return html;
}

}  // namespace plov::bench
