// Svg: the parts of one picture, which says by itself how it looks on light and on dark paper.
//
// Coordinates are pixels from the left upper corner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plov::bench {

// As wide as a text of the font can become, an estimate from above: fonts differ.
double WidthOf(std::string_view text);
double WidthOfTitle(std::string_view text);

enum class Anchor : uint8_t { kStart, kMiddle, kEnd };

class Svg {
 public:
  static constexpr double kLineHeight = 18;  // of texts below each other

  void Title(double x, double y, std::string_view text);
  void Text(double x, double y, Anchor anchor, std::string_view text);
  void GridLine(double x1, double y1, double x2, double y2);

  // Of the series of this number, in its colour.
  void Curve(size_t series, const std::vector<std::pair<double, double>>& points);
  // Shown as a dot, or not at all; tells `tip` when pointed at.
  void Dot(size_t series, double x, double y, std::string_view tip);
  void HiddenDot(size_t series, double x, double y, std::string_view tip);
  void Bar(size_t series, double x, double y, double width, double height, std::string_view tip);

  // The whole picture; `name` is for those who do not see it.
  std::string Finish(double width, double height, std::string_view name) const;

 private:
  void AddDot(const char* look, size_t series, double x, double y, std::string_view tip);

  std::string body_;
};

}  // namespace plov::bench
