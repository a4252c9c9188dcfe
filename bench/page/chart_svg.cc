// A chart as a picture: bars to the right, below each category those of its series.

#include <fmt/core.h>

#include <algorithm>

#include "bench/page/axis.h"
#include "bench/page/chart.h"
#include "bench/page/number.h"
#include "bench/page/svg.h"

namespace plov::bench {

namespace {

constexpr double kSide = 12;  // left free at every side
constexpr double kTop = 40;   // of the bars; above them the title
constexpr double kAreaWidth = 480;
constexpr double kBarHeight = 12;
constexpr double kGap = 8;  // between bars and texts, between categories

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart), ruler_({.label = chart.unit}, 0, chart.most()), left_(LeftOf(chart)) {}

  std::string Draw() {
    svg_.Title(kSide, 24, chart_.title);
    DrawGrid();
    double y = kTop;
    for (size_t at = 0; at < chart_.categories.size(); ++at) {
      if (!is_single()) {
        y += Svg::kLineHeight;
        svg_.Text(kSide, y - 5, Anchor::kStart, CategoryOf(at));
      }
      for (size_t i = 0; i < chart_.series.size(); ++i, y += Svg::kLineHeight) DrawBar(i, at, y);
      if (!is_single()) y += kGap;
    }
    const double width = left_ + kAreaWidth + kGap + WidestValue() + kSide;
    return svg_.Finish(std::max(width, 2 * kSide + WidthOfTitle(chart_.title)),
                       bottom() + 44 + kSide, chart_.title);
  }

 private:
  // The only series needs no name: bars have the categories'.
  bool is_single() const { return chart_.series.size() == 1; }
  std::string CategoryOf(size_t at) const { return Named(chart_, chart_.categories[at]); }

  static std::string Named(const Chart& chart, const std::string& category) {
    return chart.category.empty() ? category : category + " " + chart.category;
  }

  static double LeftOf(const Chart& chart) {
    const bool is_single = chart.series.size() == 1;
    double widest = 0;
    for (const Series& one : chart.series) {
      if (!is_single) widest = std::max(widest, WidthOf(one.name));
    }
    for (const std::string& name : chart.categories) {
      if (is_single) widest = std::max(widest, WidthOf(Named(chart, name)));
    }
    return kSide + widest + 2 * kGap;
  }

  double WidestValue() const {
    double widest = 0;
    for (const Series& one : chart_.series) {
      for (const auto& value : one.values) {
        if (value) widest = std::max(widest, WidthOf(Readable(*value)));
      }
    }
    return widest;
  }

  double bottom() const {
    const auto categories = static_cast<double>(chart_.categories.size());
    const double bars = Svg::kLineHeight * static_cast<double>(chart_.series.size());
    return kTop + categories * (is_single() ? bars : Svg::kLineHeight + bars + kGap);
  }

  void DrawGrid() {
    for (const Tick& tick : ruler_.ticks()) {
      const double x = left_ + kAreaWidth * tick.part;
      svg_.GridLine(x, kTop - 4, x, bottom() + 4);
      svg_.Text(x, bottom() + 20, Anchor::kMiddle, tick.label);
    }
    svg_.Text(left_ + kAreaWidth / 2, bottom() + 42, Anchor::kMiddle, chart_.unit);
  }

  void DrawBar(size_t i, size_t at, double y) {
    const Series& series = chart_.series[i];
    const std::string name = is_single() ? CategoryOf(at) : series.name;
    const auto value = series.values.at(at);
    const double baseline = y + kBarHeight;
    svg_.Text(left_ - kGap, baseline - 1, Anchor::kEnd, name);
    if (!value) return svg_.Text(left_ + kGap, baseline - 1, Anchor::kStart, "-");
    const double width = kAreaWidth * ruler_.PartOf(*value);
    svg_.Bar(
        i, left_, y + 2, width, kBarHeight,
        fmt::format("{}, {}: {} {}", CategoryOf(at), series.name, Readable(*value), chart_.unit));
    svg_.Text(left_ + width + kGap, baseline - 1, Anchor::kStart, Readable(*value));
  }

  const Chart& chart_;
  Ruler ruler_;
  double left_;
  Svg svg_;
};

}  // namespace

std::string SvgOf(const Chart& chart) { return Drawing(chart).Draw(); }

}  // namespace plov::bench
