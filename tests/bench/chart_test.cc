#include "bench/page/chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

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

TEST(Chart, OnlySeriesHasALineForEachCategory) {
  Chart chart = Sample();
  chart.series.resize(1);
  EXPECT_EQ(Count(TextOf(chart), "\n"), 3u);
  EXPECT_TRUE(LineWith(TextOf(chart), "64 ").ends_with(" 50"));
}

TEST(Chart, PictureHasABarForEachValue) {
  const std::string svg = SvgOf(Sample());
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_EQ(Count(svg, "<rect class=\"s"), 3u);
  EXPECT_EQ(Count(svg, "<title>"), 3u);
  EXPECT_NE(svg.find("<title>64 bytes, first: 50 requests/s</title>"), std::string::npos);
  EXPECT_EQ(Count(svg, ">second<"), 2u);
  EXPECT_EQ(Count(svg, ">-<"), 1u);
}

TEST(Chart, PictureShowsValuesByLength) {
  const std::string svg = SvgOf(Sample());
  std::vector<double> widths;
  for (size_t at = svg.find("<rect class=\"s"); at != std::string::npos;
       at = svg.find("<rect class=\"s", at + 1)) {
    const size_t width = svg.find(" width=\"", at);
    widths.push_back(std::stod(svg.substr(width + 8)));
  }
  ASSERT_EQ(widths.size(), 3u);
  EXPECT_GT(widths[1], 50);
  EXPECT_NEAR(widths[0], 4 * widths[1], 0.3);
  EXPECT_NEAR(widths[0], 2 * widths[2], 0.3);
}

TEST(Chart, TextInAPictureIsEscaped) {
  const std::string svg = SvgOf(Sample());
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(svg.find("a < b"), std::string::npos);
}

}  // namespace
}  // namespace plov::bench
