// Plot: curves of points over two axes, as a picture.
#pragma once

#include <string>
#include <vector>

#include "bench/page/axis.h"

namespace plov::bench {

struct Point {
  double x = 0;
  double y = 0;
};

struct Curve {
  std::string name;
  std::vector<Point> points;  // joined in this order; those that do not fit an axis are left out
};

struct Plot {
  std::string title;
  Axis x;
  Axis y;
  std::vector<Curve> curves;
};

// A whole SVG document. Points tell their values when pointed at.
std::string SvgOf(const Plot& plot);

}  // namespace plov::bench
