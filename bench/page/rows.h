// Rows: a study is written once, as JSON; the tables and plots of its text, Markdown and page show
// members of the rows in it.
//
//   {"rounds": 3, "results": [{"design": "HERD", "window": 1, "per_second": {...}}, ...]}
//
// A row is an object. A member is a text, a number, whether something holds, or a sample of rounds
// ({"median", "least", "most"}), of which the median is shown. A key is a member's name, or a path to
// one within it: "latency/p99_us".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/page/page.h"
#include "program/json.h"

namespace plov::bench {

// Those rows that have these members.
program::Json RowsWith(const program::Json& rows, const program::Json& members);

// nullopt: the row has no such number.
std::optional<double> NumberAt(const program::Json& row, const std::string& key);

// A line for each row. Columns that no row has a member for are left out.
Table TableOf(std::string title, const program::Json& rows, const std::vector<Column>& columns);

// A column of a table whose lines show several rows each: the row that has these members.
struct ColumnOfRow {
  program::Json members;
  Column column;
};

// A line for each text that the rows have at `name`, which it begins with.
Table TableOf(std::string title, const program::Json& rows, const Column& name,
              const std::vector<ColumnOfRow>& columns);

// A point for each row that has both numbers.
Curve CurveOf(std::string name, const program::Json& rows, const std::string& x,
              const std::string& y);

// A curve for each text that the rows have at `name`.
std::vector<Curve> CurvesOf(const program::Json& rows, const std::string& name,
                            const std::string& x, const std::string& y);

}  // namespace plov::bench
