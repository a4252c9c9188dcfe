#include "bench/page/svg.h"

#include <fmt/core.h>

#include <algorithm>

#include "torture/html.h"

namespace plov::bench {

using torture::Escaped;

namespace {

constexpr double kFontPixels = 12;
constexpr double kTitlePixels = 14;
// DejaVu Sans, the widest of the usual fonts: its digits have 0.64, few letters more than 0.7.
constexpr double kCharacterWidth = 0.66;
constexpr double kBoldWidth = 0.74;
constexpr size_t kColors = 7;

// Told apart also by those who do not see all colours. Source: Okabe and Ito, "Color Universal
// Design", 2008; black and blue lighter on dark paper, yellow left out.
constexpr std::string_view kStyle =
    "<style>"
    ".plot{color:#1b1b1b;font:12px sans-serif}"
    ".plot .paper{fill:#fff}.plot .grid{stroke:#ddd}.plot .title{font:bold 14px sans-serif}"
    ".plot text{fill:currentColor}"
    ".plot .s0{color:#0072b2}.plot .s1{color:#d55e00}.plot .s2{color:#009e73}"
    ".plot .s3{color:#cc79a7}.plot .s4{color:#b87f00}.plot .s5{color:#56b4e9}"
    ".plot .s6{color:#1b1b1b}"
    "@media (prefers-color-scheme:dark){"
    ".plot{color:#e4e4e4}.plot .paper{fill:#1b1d21}.plot .grid{stroke:#3c4047}"
    ".plot .s0{color:#4da3e0}.plot .s1{color:#f07f2e}.plot .s2{color:#1fc497}"
    ".plot .s4{color:#e69f00}.plot .s5{color:#9ad4f5}.plot .s6{color:#e4e4e4}}"
    "</style>\n";

double Width(std::string_view text, double pixels) {
  const auto characters =
      std::ranges::count_if(text, [](char c) { return (c & '\xc0') != '\x80'; });
  return pixels * static_cast<double>(characters);
}

// Series beyond the colours have them again, dashed.
std::string DashOf(size_t series) {
  const size_t again = series / kColors;
  return again == 0 ? "" : fmt::format(" stroke-dasharray=\"{0} {0}\"", 2 + 3 * again);
}

}  // namespace

double WidthOf(std::string_view text) { return Width(text, kFontPixels * kCharacterWidth); }
double WidthOfTitle(std::string_view text) { return Width(text, kTitlePixels * kBoldWidth); }

void Svg::Title(double x, double y, std::string_view text) {
  body_ += fmt::format("<text class=\"title\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x, y,
                       Escaped(text));
}

void Svg::Text(double x, double y, Anchor anchor, std::string_view text) {
  const char* name = anchor == Anchor::kStart    ? "start"
                     : anchor == Anchor::kMiddle ? "middle"
                                                 : "end";
  body_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, name,
                       Escaped(text));
}

void Svg::GridLine(double x1, double y1, double x2, double y2) {
  body_ += fmt::format(
      "<line class=\"grid\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", x1, y1,
      x2, y2);
}

void Svg::Curve(size_t series, const std::vector<std::pair<double, double>>& points) {
  body_ += fmt::format(
      "<polyline class=\"s{}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"1.7\"{} "
      "points=\"",
      series % kColors, DashOf(series));
  for (const auto& [x, y] : points) body_ += fmt::format("{:.1f},{:.1f} ", x, y);
  body_ += "\"/>\n";
}

void Svg::AddDot(const char* look, size_t series, double x, double y, std::string_view tip) {
  body_ += fmt::format(
      "<circle class=\"s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" {} fill=\"currentColor\">"
      "<title>{}</title></circle>\n",
      series % kColors, x, y, look, Escaped(tip));
}

void Svg::Dot(size_t series, double x, double y, std::string_view tip) {
  AddDot("r=\"3.5\"", series, x, y, tip);
}

void Svg::HiddenDot(size_t series, double x, double y, std::string_view tip) {
  AddDot("r=\"5\" opacity=\"0\"", series, x, y, tip);
}

void Svg::Bar(size_t series, double x, double y, double width, double height,
              std::string_view tip) {
  body_ += fmt::format(
      "<rect class=\"s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
      "fill=\"currentColor\"><title>{}</title></rect>\n",
      series % kColors, x, y, width, height, Escaped(tip));
}

std::string Svg::Finish(double width, double height, std::string_view name) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\" aria-label=\"{2}\">\n{3}"
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{4}</svg>\n",
      width, height, Escaped(name), kStyle, body_);
}

}  // namespace plov::bench
