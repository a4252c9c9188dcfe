// A chart as SVG: axes, a line and points for each series, and whose is which beside it.

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/page/chart.h"
#include "client/cli/format.h"

namespace plov::bench {

namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 420;
constexpr double kLeft = 90;
constexpr double kRight = 640;  // beside it the names
constexpr double kTop = 50;
constexpr double kBottom = 360;
constexpr int kTicks = 5;

// Told apart also by those who do not see all colours. Source: Okabe and Ito, "Color Universal
// Design", 2008.
constexpr auto kColors = std::to_array<std::string_view>(
    {"#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7"});

// The next 1, 2 or 5 times a power of ten, as the distance of the ticks.
double TickOf(double most) {
  if (most <= 0) return 1;
  const double rough = most / kTicks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart), tick_(TickOf(chart.most())), top_value_(tick_) {
    while (top_value_ < chart.most()) top_value_ += tick_;
  }

  std::string Draw() {
    svg_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        kWidth, kHeight);
    Write(kLeft, 25, "start", chart_.title);
    DrawAxes();
    for (size_t i = 0; i < chart_.series.size(); ++i) DrawSeries(i);
    return svg_ + "</svg>\n";
  }

 private:
  double X(size_t at) const {
    const auto count = static_cast<double>(chart_.categories.size());
    return kLeft + (kRight - kLeft) * (static_cast<double>(at) + 0.5) / count;
  }
  double Y(double value) const { return kBottom - (kBottom - kTop) * value / top_value_; }

  void Write(double x, double y, std::string_view anchor, std::string_view text) {
    svg_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                        anchor, Escaped(text));
  }

  void DrawAxes() {
    for (double value = 0; value <= top_value_ * 1.001; value += tick_) {
      svg_ +=
          fmt::format("<line x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\" stroke=\"#ccc\"/>\n",
                      kLeft, Y(value), kRight, Y(value));
      const std::string text = value >= 1000
                                   ? cli::Grouped(static_cast<uint64_t>(std::llround(value)))
                                   : fmt::format("{:.4g}", value);
      Write(kLeft - 8, Y(value) + 4, "end", text);
    }
    for (size_t at = 0; at < chart_.categories.size(); ++at) {
      Write(X(at), kBottom + 20, "middle", chart_.categories[at]);
    }
    Write((kLeft + kRight) / 2, kBottom + 44, "middle", chart_.category);
    Write(kLeft, kTop - 8, "end", chart_.unit);
  }

  void DrawSeries(size_t i) {
    const Series& series = chart_.series[i];
    const std::string_view color = kColors[i % kColors.size()];
    std::string points;
    for (size_t at = 0; at < series.values.size(); ++at) {
      if (!series.values[at]) continue;
      const double y = Y(*series.values[at]);
      points += fmt::format("{:.1f},{:.1f} ", X(at), y);
      svg_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", X(at), y,
                          color);
    }
    svg_ += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", points, color);
    const double y = kTop + 20 * static_cast<double>(i);
    svg_ += fmt::format("<circle cx=\"{}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", kRight + 20, y,
                        color);
    Write(kRight + 32, y + 4, "start", series.name);
  }

  const Chart& chart_;
  double tick_;
  double top_value_;
  std::string svg_;
};

}  // namespace

std::string SvgOf(const Chart& chart) { return Drawing(chart).Draw(); }

}  // namespace plov::bench
