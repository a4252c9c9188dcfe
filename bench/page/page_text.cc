// A page as text and as Markdown.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "bench/page/number.h"
#include "bench/page/page.h"

namespace plov::bench {

namespace {

constexpr size_t kBarColumns = 40;

// Of UTF-8, as a terminal shows it.
size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & '\xc0') != '\x80'; }));
}

std::string_view CellOf(const std::vector<std::string>& row, size_t column) {
  return column < row.size() ? std::string_view(row[column]) : std::string_view();
}

bool IsLeft(const std::string& column) { return column.starts_with('<'); }

std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  for (const std::string& column : table.columns) names.push_back(column.substr(IsLeft(column)));
  return names;
}

std::string LineOf(const Table& table, const std::vector<size_t>& widths,
                   const std::vector<std::string>& row) {
  std::string line;
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string_view cell = CellOf(row, i);
    const std::string space(widths[i] - ColumnsOf(cell), ' ');
    if (i > 0) line += "  ";
    line += IsLeft(table.columns[i]) ? std::string(cell) + space : space + std::string(cell);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
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

std::string MarkdownOf(const Table& table) {
  std::string text = table.title.empty() ? "" : table.title + "\n\n";
  text += MarkdownRowOf(table, NamesOf(table)) + "|";
  for (const std::string& column : table.columns) text += IsLeft(column) ? "---|" : "---:|";
  text += "\n";
  for (const auto& row : table.rows) text += MarkdownRowOf(table, row);
  return text;
}

std::string TextOf(const Paragraph& paragraph) { return paragraph.text + "\n"; }
std::string TextOf(const Plot&) { return {}; }
std::string MarkdownOf(const Paragraph& paragraph) { return TextOf(paragraph); }
std::string MarkdownOf(const Chart&) { return {}; }
std::string MarkdownOf(const Plot&) { return {}; }

// With an empty line between each other.
void Append(const std::string& part, std::string* text) {
  if (part.empty()) return;
  if (!text->empty()) *text += '\n';
  *text += part;
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

std::string TextOf(const Chart& chart) {
  if (chart.shown == Chart::Shown::kOnPage) return {};
  std::string text = fmt::format("{} ({})\n", chart.title, chart.unit);
  size_t name_columns = 0;
  double most = 0;
  for (const BarGroup& group : chart.groups) {
    for (const Bar& bar : group.bars) {
      name_columns = std::max(name_columns, ColumnsOf(bar.name));
      most = std::max(most, bar.value.value_or(0));
    }
  }
  for (const BarGroup& group : chart.groups) {
    if (!group.name.empty()) text += fmt::format("\n{}\n", group.name);
    for (const Bar& bar : group.bars) {
      const double part = bar.value && most > 0 ? *bar.value / most : 0;
      const auto columns = static_cast<size_t>(std::lround(part * kBarColumns));
      text += fmt::format("  {:<{}} |{:<{}} {:>12}\n", bar.name, name_columns,
                          std::string(columns, '#'), kBarColumns,
                          bar.value ? Readable(*bar.value) : "-");
    }
  }
  return text;
}

std::string TextOf(const Page& page) {
  std::string text;
  for (const Part& part : page.parts) {
    Append(std::visit([](const auto& it) { return TextOf(it); }, part), &text);
  }
  return text;
}

std::string MarkdownOf(const Page& page) {
  std::string text = fmt::format("## {}\n", page.title);
  std::string facts;
  for (const Fact& fact : page.facts) facts += fmt::format("- {}: {}\n", fact.name, fact.value);
  Append(facts, &text);
  for (const Part& part : page.parts) {
    Append(std::visit([](const auto& it) { return MarkdownOf(it); }, part), &text);
  }
  return text;
}

}  // namespace plov::bench
