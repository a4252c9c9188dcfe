// Table: rows of texts, shown on a terminal, in a page and in a README.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plov::bench {

enum class Align : uint8_t { kLeft, kRight };

struct Column {
  std::string name;
  Align align = Align::kRight;
};

struct Table {
  std::string title;  // may be empty
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // of no more cells than columns; the rest is empty
};

// Columns as wide as their widest cell, two spaces between them; one line for the title.
std::string TextOf(const Table& table);
std::string HtmlOf(const Table& table);
std::string MarkdownOf(const Table& table);

}  // namespace plov::bench
