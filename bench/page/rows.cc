#include "bench/page/rows.h"

#include <algorithm>
#include <utility>

#include "bench/page/number.h"

namespace plov::bench {

namespace {

using program::Json;
using Lines =
    std::vector<std::vector<const Json*>>;  // by column: the row that it is of, or nullptr

const Json* Find(const Json& row, const std::string& key) {
  const Json::json_pointer path("/" + key);
  if (!row.contains(path) || row.at(path).is_null()) return nullptr;
  return &row.at(path);
}

std::string TextOf(double number, const Column& column) {
  if (column.digits == kAsItIs) return Readable(number);
  return column.digits == 0 ? Whole(number) : Fixed(number, column.digits);
}

std::string TextOf(const Json& value, const Column& column) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_object()) return TextOf(value.get<double>(), column);
  if (column.shown != Shown::kSpread) return TextOf(value.at("median").get<double>(), column);
  return TextOf(value.at("least").get<double>(), column) + ".." +
         TextOf(value.at("most").get<double>(), column);
}

Table TableOf(std::string title, const std::vector<Column>& columns, const Lines& lines) {
  Table table{.title = std::move(title)};
  table.rows.resize(lines.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    Column column = columns[i];
    std::vector<const Json*> values;
    for (const auto& line : lines) {
      values.push_back(line[i] == nullptr ? nullptr : Find(*line[i], column.key));
    }
    const auto has_text = [](const Json* value) { return value != nullptr && value->is_string(); };
    if (std::ranges::count(values, nullptr) == std::ssize(values)) continue;
    if (std::ranges::any_of(values, has_text)) column.shown = Shown::kText;
    for (size_t line = 0; line < lines.size(); ++line) {
      table.rows[line].push_back(values[line] == nullptr ? "" : TextOf(*values[line], column));
    }
    table.columns.push_back(std::move(column));
  }
  return table;
}

std::vector<std::string> TextsOf(const Json& rows, const std::string& key) {
  std::vector<std::string> texts;
  for (const Json& row : rows) {
    const Json* found = Find(row, key);
    const std::string text = found == nullptr ? "" : found->get<std::string>();
    if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  return texts;
}

bool HasMembers(const Json& row, const Json& members) {
  return std::ranges::all_of(members.items(), [&row](const auto& member) {
    return row.contains(member.key()) && row.at(member.key()) == member.value();
  });
}

}  // namespace

Json RowsWith(const Json& rows, const Json& members) {
  Json found = Json::array();
  for (const Json& row : rows) {
    if (HasMembers(row, members)) found.push_back(row);
  }
  return found;
}

std::optional<double> NumberAt(const Json& row, const std::string& key) {
  const Json* value = Find(row, key);
  if (value != nullptr && value->is_object()) value = Find(*value, "median");
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

Table TableOf(std::string title, const Json& rows, const std::vector<Column>& columns) {
  Lines lines;
  for (const Json& row : rows) lines.emplace_back(columns.size(), &row);
  return TableOf(std::move(title), columns, lines);
}

Table TableOf(std::string title, const Json& rows, const Column& name,
              const std::vector<ColumnOfRow>& columns) {
  std::vector<Column> shown = {name};
  for (const ColumnOfRow& one : columns) shown.push_back(one.column);
  Lines lines;
  for (const std::string& text : TextsOf(rows, name.key)) {
    lines.emplace_back(shown.size(), nullptr);
    for (const Json& row : rows) {
      const Json* own = Find(row, name.key);
      if (own == nullptr || *own != text) continue;
      lines.back()[0] = &row;
      for (size_t i = 0; i < columns.size(); ++i) {
        if (HasMembers(row, columns[i].members)) lines.back()[i + 1] = &row;
      }
    }
  }
  return TableOf(std::move(title), shown, lines);
}

Curve CurveOf(std::string name, const Json& rows, const std::string& x, const std::string& y) {
  Curve curve{.name = std::move(name)};
  for (const Json& row : rows) {
    const auto at_x = NumberAt(row, x);
    const auto at_y = NumberAt(row, y);
    if (at_x && at_y) curve.points.push_back({*at_x, *at_y});
  }
  return curve;
}

std::vector<Curve> CurvesOf(const Json& rows, const std::string& name, const std::string& x,
                            const std::string& y) {
  std::vector<Curve> curves;
  for (const std::string& text : TextsOf(rows, name)) {
    curves.push_back(CurveOf(text, RowsWith(rows, {{name, text}}), x, y));
  }
  return curves;
}

}  // namespace plov::bench
