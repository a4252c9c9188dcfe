// A page as text and as Markdown.

#include <fmt/core.h>

#include <algorithm>

#include "bench/page/page.h"

namespace plov::bench {

namespace {

// Of UTF-8, as a terminal shows it.
size_t ColumnsOf(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (c & '\xc0') != '\x80'; }));
}

bool IsLeft(const Column& column) { return column.shown == Shown::kText; }

std::vector<std::string> NamesOf(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  return names;
}

std::string LineOf(const Table& table, const std::vector<size_t>& widths,
                   const std::vector<std::string>& row) {
  std::string line;
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string& cell = row[i];
    const std::string space(widths[i] - ColumnsOf(cell), ' ');
    if (i > 0) line += "  ";
    line += IsLeft(table.columns[i]) ? cell + space : space + cell;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string MarkdownRowOf(const std::vector<std::string>& row) {
  std::string line = "|";
  for (const std::string& cell : row) {
    line += ' ';
    for (const char c : cell) {
      if (c == '|') line += '\\';
      line += c;
    }
    line += " |";
  }
  return line + "\n";
}

std::string MarkdownOf(const Table& table) {
  std::string text = table.title.empty() ? "" : table.title + "\n\n";
  text += MarkdownRowOf(NamesOf(table)) + "|";
  for (const Column& column : table.columns) text += IsLeft(column) ? "---|" : "---:|";
  text += "\n";
  for (const auto& row : table.rows) text += MarkdownRowOf(row);
  return text;
}

std::string TextOf(const Paragraph& paragraph) { return paragraph.text + "\n"; }
std::string TextOf(const Plot&) { return {}; }
std::string MarkdownOf(const Paragraph& paragraph) { return TextOf(paragraph); }
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
    for (const auto& row : table.rows) widths[i] = std::max(widths[i], ColumnsOf(row[i]));
  }
  std::string text = table.title.empty() ? "" : table.title + "\n";
  text += LineOf(table, widths, names);
  for (const auto& row : table.rows) text += LineOf(table, widths, row);
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
