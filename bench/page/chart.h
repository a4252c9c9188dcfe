// Chart: some series of values over the same categories, as text or as a picture.
#pragma once

#include <optional>
#include <string>
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

// A whole SVG document: bars to the right, of all series below each category.
std::string SvgOf(const Chart& chart);

}  // namespace plov::bench
