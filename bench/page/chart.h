// Chart: some series of values over the same categories, as text or as a picture.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plov::bench {

struct Series {
  std::string name;
  std::vector<std::optional<double>> values;  // one for each category; nullopt: there is none
};

struct Chart {
  std::string title;
  std::string category;                 // what the categories are, as "bytes"
  std::vector<std::string> categories;  // their names, in order
  std::string unit;                     // of the values
  std::vector<Series> series;

  double most() const;  // the largest value; 0 where there is none
};

// Bars, grouped by category, as wide as a terminal of 80 columns.
std::string TextOf(const Chart& chart);

// A whole SVG document: one line of points for each series, values from 0 up.
std::string SvgOf(const Chart& chart);

// A whole HTML document that refers to nothing outside: charts, and text as it is.
std::string HtmlOf(std::string_view title, const std::vector<Chart>& charts, std::string_view text);

// For HTML and SVG.
std::string Escaped(std::string_view text);

}  // namespace plov::bench
