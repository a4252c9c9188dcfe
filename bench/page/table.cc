#include "bench/page/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "torture/html.h"

namespace plov::bench {

using torture::Escaped;

namespace {

// Of UTF-8, as a terminal shows it.
size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & '\xc0') != '\x80'; }));
}

std::string_view CellOf(const std::vector<std::string>& row, size_t column) {
  return column < row.size() ? std::string_view(row[column]) : std::string_view();
}

std::string Padded(std::string_view text, Align align, size_t columns) {
  const std::string space(columns - std::min(columns, ColumnsOf(text)), ' ');
  return align == Align::kRight ? space + std::string(text) : std::string(text) + space;
}

std::string LineOf(const Table& table, const std::vector<size_t>& widths,
                   const std::vector<std::string>& row) {
  std::string line;
  for (size_t i = 0; i < widths.size(); ++i) {
    if (i > 0) line += "  ";
    line += Padded(CellOf(row, i), table.columns[i].align, widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  return names;
}

std::string HtmlRowOf(const Table& table, std::string_view element,
                      const std::vector<std::string>& row) {
  std::string html = "<tr>";
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const bool is_left = table.columns[i].align == Align::kLeft;
    html += fmt::format("<{0}{1}>{2}</{0}>", element, is_left ? " class=\"left\"" : "",
                        Escaped(CellOf(row, i)));
  }
  return html + "</tr>\n";
}

std::string MarkdownRowOf(const Table& table, const std::vector<std::string>& row) {
  std::string line = "|";
  for (size_t i = 0; i < table.columns.size(); ++i) {
    line += ' ';
    for (const char c : CellOf(row, i)) {
      if (c == '|') line += '\\';
      line += c;
    }
    line += " |";
  }
  return line + "\n";
}

}  // namespace

std::string TextOf(const Table& table) {
  const std::vector<std::string> names = NamesOf(table);
  std::vector<size_t> widths;
  for (size_t i = 0; i < names.size(); ++i) {
    widths.push_back(ColumnsOf(names[i]));
    for (const auto& row : table.rows) widths[i] = std::max(widths[i], ColumnsOf(CellOf(row, i)));
  }
  std::string text = table.title.empty() ? "" : table.title + "\n";
  text += LineOf(table, widths, names);
  for (const auto& row : table.rows) text += LineOf(table, widths, row);
  return text;
}

std::string HtmlOf(const Table& table) {
  std::string html = "<div class=\"wide\"><table>\n";
  if (!table.title.empty()) html += fmt::format("<caption>{}</caption>\n", Escaped(table.title));
  html += "<thead>" + HtmlRowOf(table, "th", NamesOf(table)) + "</thead>\n<tbody>\n";
  for (const auto& row : table.rows) html += HtmlRowOf(table, "td", row);
  return html + "</tbody></table></div>\n";
}

std::string MarkdownOf(const Table& table) {
  std::string text = table.title.empty() ? "" : table.title + "\n\n";
  text += MarkdownRowOf(table, NamesOf(table)) + "|";
  for (const Column& column : table.columns) {
    text += column.align == Align::kLeft ? "---|" : "---:|";
  }
  text += "\n";
  for (const auto& row : table.rows) text += MarkdownRowOf(table, row);
  return text;
}

}  // namespace plov::bench
