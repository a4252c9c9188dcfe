#include "bench/page/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "bench/page/number.h"
#include "bench/page/svg.h"

namespace plov::bench {

namespace {

constexpr double kSide = 12;  // left free at every side
constexpr double kTop = 62;   // of the area of the curves; above it title and label
constexpr double kAreaWidth = 560;
constexpr double kAreaHeight = 300;
constexpr double kBelow = 52;    // of the area: ticks and label
constexpr double kTickGap = 8;   // between an axis and its ticks' labels
constexpr double kNameGap = 16;  // between the area and a dot, between the dot and its name
constexpr size_t kDotsMax = 64;  // of one curve; more hide it

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void Include(double value) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

bool Fits(const Plot& plot, const Point& point) {
  return Fits(plot.x.scale, point.x) && Fits(plot.y.scale, point.y);
}

// Of the values on one axis; from 1 to 1 where there are none.
Range RangeOf(const Plot& plot, double Point::*coordinate) {
  Range range;
  for (const Curve& curve : plot.curves) {
    for (const Point& point : curve.points) {
      if (Fits(plot, point)) range.Include(point.*coordinate);
    }
  }
  return range.least <= range.most ? range : Range{.least = 0.5, .most = 0.5};
}

Ruler RulerOf(const Plot& plot, const Axis& axis, double Point::*coordinate) {
  const Range range = RangeOf(plot, coordinate);
  return Ruler(axis, range.least, range.most);
}

double WidestOf(const Ruler& ruler) {
  double widest = 0;
  for (const Tick& tick : ruler.ticks()) widest = std::max(widest, WidthOf(tick.label));
  return widest;
}

std::string ValueOf(const Axis& axis, double value) {
  if (axis.scale == Scale::kNines) return fmt::format("{:.8g}%", 100 * value);
  return axis.unit == Unit::kBytes ? CompactBytes(value) : Readable(value);
}

class Drawing {
 public:
  explicit Drawing(const Plot& plot)
      : plot_(plot),
        x_(RulerOf(plot, plot.x, &Point::x)),
        y_(RulerOf(plot, plot.y, &Point::y)),
        left_(kSide + WidestOf(y_) + kTickGap) {}

  std::string Draw() {
    svg_.Title(kSide, 24, plot_.title);
    DrawAxes();
    for (size_t i = 0; i < plot_.curves.size(); ++i) DrawCurve(i);
    const double names_height = Svg::kLineHeight * static_cast<double>(plot_.curves.size());
    const double height = kTop + std::max(kAreaHeight + kBelow, names_height) + kSide;
    return svg_.Finish(WidthOfAll(), height, plot_.title);
  }

 private:
  double X(double value) const { return left_ + kAreaWidth * x_.PartOf(value); }
  double Y(double value) const { return kTop + kAreaHeight * (1 - y_.PartOf(value)); }
  double right() const { return left_ + kAreaWidth; }

  double WidthOfAll() const {
    double beside = WidestOf(x_) / 2;
    for (const Curve& curve : plot_.curves) {
      beside = std::max(beside, 2 * kNameGap + WidthOf(curve.name));
    }
    return std::max(right() + beside, kSide + WidthOfTitle(plot_.title)) + kSide;
  }

  void DrawAxes() {
    constexpr double kBottom = kTop + kAreaHeight;
    constexpr double kHalfOfLetters = 4;
    for (const Tick& tick : y_.ticks()) {
      const double y = kBottom - kAreaHeight * tick.part;
      svg_.GridLine(left_, y, right(), y);
      svg_.Text(left_ - kTickGap, y + kHalfOfLetters, Anchor::kEnd, tick.label);
    }
    double free_from = 0;
    for (const Tick& tick : x_.ticks()) {
      const double x = left_ + kAreaWidth * tick.part;
      svg_.GridLine(x, kTop, x, kBottom + kTickGap / 2);
      const double half = WidthOf(tick.label) / 2;
      if (x - half < free_from) continue;  // it would cover its neighbour
      svg_.Text(x, kBottom + 22, Anchor::kMiddle, tick.label);
      free_from = x + half + kTickGap;
    }
    svg_.Text(kSide, kTop - 16, Anchor::kStart, plot_.y.label);
    svg_.Text((left_ + right()) / 2, kBottom + 44, Anchor::kMiddle, plot_.x.label);
  }

  void DrawCurve(size_t i) {
    const Curve& curve = plot_.curves[i];
    std::vector<std::pair<double, double>> points;
    for (const Point& point : curve.points) {
      if (Fits(plot_, point)) points.emplace_back(X(point.x), Y(point.y));
    }
    svg_.Curve(i, points);
    const auto draw = points.size() <= kDotsMax ? &Svg::Dot : &Svg::HiddenDot;
    for (const Point& point : curve.points) {
      if (!Fits(plot_, point)) continue;
      const std::string name = curve.name.empty() ? "" : curve.name + ": ";
      const std::string tip =
          fmt::format("{}{} {}, {} {}", name, plot_.x.label, ValueOf(plot_.x, point.x),
                      ValueOf(plot_.y, point.y), plot_.y.label);
      (svg_.*draw)(i, X(point.x), Y(point.y), tip);
    }
    if (curve.name.empty()) return;
    const double y = kTop + Svg::kLineHeight * static_cast<double>(i);
    svg_.Dot(i, right() + kNameGap, y, curve.name);
    svg_.Text(right() + 1.75 * kNameGap, y + 4, Anchor::kStart, curve.name);
  }

  const Plot& plot_;
  Ruler x_;
  Ruler y_;
  double left_;
  Svg svg_;
};

}  // namespace

std::string SvgOf(const Plot& plot) { return Drawing(plot).Draw(); }

}  // namespace plov::bench
