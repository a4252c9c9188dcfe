#include "bench/page/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace plov::bench {
namespace {

Chart Sample() {
  return {.title = "a < b & \"c\"",
          .category = "bytes",
          .categories = {"16", "64"},
          .unit = "requests/s",
          .series = {{"first", {100, 50}}, {"second", {25, std::nullopt}}}};
}

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string LineWith(const std::string& text, const std::string& part, size_t from = 0) {
  const size_t at = text.find(part, from);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

TEST(Chart, BarsAreAsLongAsTheirValues) {
  const std::string text = TextOf(Sample());
  const std::string most = LineWith(text, "first ");
  const std::string quarter = LineWith(text, "second");
  EXPECT_EQ(std::ranges::count(most, '#'), 4 * std::ranges::count(quarter, '#'));
  EXPECT_GT(std::ranges::count(quarter, '#'), 0);
  EXPECT_TRUE(most.ends_with(" 100")) << most;
}

TEST(Chart, ValueThatIsMissingIsNoZero) {
  const std::string text = TextOf(Sample());
  const std::string missing = LineWith(text, "second", text.find("64 bytes"));
  EXPECT_EQ(std::ranges::count(missing, '#'), 0);
  EXPECT_TRUE(missing.ends_with(" -")) << missing;
}

TEST(Chart, EmptyChartIsDrawn) {
  const Chart none{.title = "none", .category = "", .categories = {}, .unit = "", .series = {}};
  EXPECT_NE(TextOf(none).find("none"), std::string::npos);
  EXPECT_NE(SvgOf(none).find("</svg>"), std::string::npos);
}

TEST(Chart, PictureHasAPointForEachValue) {
  const std::string svg = SvgOf(Sample());
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_EQ(Count(svg, "<polyline"), 2u);
  EXPECT_EQ(Count(svg, "<circle"), 3u + 2u);  // the names have one, too
  EXPECT_NE(svg.find(">first<"), std::string::npos);
  EXPECT_NE(svg.find(">second<"), std::string::npos);
}

// Higher values are higher up, and the highest is under the top.
TEST(Chart, PictureShowsValuesByHeight) {
  const std::string svg = SvgOf(Sample());
  const std::string line = LineWith(svg, "<polyline");
  double x[2];
  double y[2];
  ASSERT_EQ(
      std::sscanf(line.c_str(), "<polyline points=\"%lf,%lf %lf,%lf", &x[0], &y[0], &x[1], &y[1]),
      4)
      << line;
  EXPECT_LT(x[0], x[1]);
  EXPECT_LT(y[0], y[1]);
  EXPECT_GE(y[0], 50);
  EXPECT_NEAR(360 - y[0], 2 * (360 - y[1]), 0.2);
}

TEST(Chart, TextInAPictureIsEscaped) {
  const std::string svg = SvgOf(Sample());
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("a < b"), std::string::npos);
}

TEST(Chart, PageHoldsEverythingItself) {
  const std::string html = HtmlOf("title", {Sample(), Sample()}, "a <table>");
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_EQ(Count(html, "<svg "), 2u);
  EXPECT_NE(html.find("<pre>a &lt;table&gt;</pre>"), std::string::npos);
  EXPECT_EQ(html.find("src="), std::string::npos);
  EXPECT_EQ(html.find("href="), std::string::npos);
}

}  // namespace
}  // namespace plov::bench
