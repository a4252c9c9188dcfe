// Axes, plots, tables, pages, and the facts of a machine.

#include "bench/page/page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "bench/page/latency.h"
#include "bench/page/svg.h"

namespace plov::bench {
namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::vector<std::string> LabelsOf(const Ruler& ruler) {
  std::vector<std::string> labels;
  for (const Tick& tick : ruler.ticks()) labels.push_back(tick.label);
  return labels;
}

using Labels = std::vector<std::string>;

TEST(Ruler, LinearAxisBeginsAtNothingAndReachesOverAllValues) {
  const Ruler ruler({.label = ""}, 300, 950);
  EXPECT_EQ(LabelsOf(ruler), (Labels{"0", "200", "400", "600", "800", "1 k"}));
  EXPECT_DOUBLE_EQ(ruler.PartOf(0), 0);
  EXPECT_DOUBLE_EQ(ruler.PartOf(500), 0.5);
  EXPECT_LE(Ruler({.label = ""}, -3, 4).ticks()[0].part, 0);
  EXPECT_GE(Ruler({.label = ""}, -3, 4).PartOf(-3), 0);
}

TEST(Ruler, LogAxisHasPowersEquallyFarApart) {
  const Ruler ruler({.label = "", .scale = Scale::kLog}, 10'000, 1e8);
  EXPECT_EQ(LabelsOf(ruler), (Labels{"10 k", "100 k", "1 M", "10 M", "100 M"}));
  EXPECT_DOUBLE_EQ(ruler.PartOf(1e6), 0.5);
  const Ruler narrow({.label = "", .scale = Scale::kLog}, 3, 7);
  EXPECT_EQ(LabelsOf(narrow), (Labels{"1", "2", "5", "10"}));
}

TEST(Ruler, BytesAreNamedInPowersOfTwo) {
  const Ruler ruler({.label = "", .scale = Scale::kLog, .unit = Unit::kBytes}, 8, 1 << 20);
  EXPECT_EQ(ruler.ticks().front().label, "8 B");
  EXPECT_EQ(LabelsOf(ruler)[4], "2 KiB");
  EXPECT_LE(ruler.ticks().size(), 10u);
  EXPECT_DOUBLE_EQ(ruler.PartOf(1 << 20), 1);
}

TEST(Ruler, NinesAreEquallyFarApart) {
  const Ruler ruler({.label = "", .scale = Scale::kNines}, 0, 0.99990001);
  EXPECT_EQ(LabelsOf(ruler), (Labels{"0%", "90%", "99%", "99.9%", "99.99%", "99.999%"}));
  EXPECT_NEAR(ruler.PartOf(0.99), 0.4, 1e-9);
  EXPECT_NEAR(ruler.PartOf(0.999), 0.6, 1e-9);
  EXPECT_FALSE(Fits(Scale::kNines, 1));
}

TEST(Ruler, OneValueOrNoneIsAnAxisToo) {
  for (const Scale scale : {Scale::kLinear, Scale::kLog, Scale::kNines}) {
    const Ruler ruler({.label = "", .scale = scale}, 0.5, 0.5);
    EXPECT_GE(ruler.ticks().size(), 2u);
    EXPECT_GE(ruler.PartOf(0.5), 0);
    EXPECT_LE(ruler.PartOf(0.5), 1);
  }
}

Plot SamplePlot() {
  return {.title = "a < b",
          .x = {.label = "items", .scale = Scale::kLog},
          .y = {.label = "a second"},
          .curves = {{"first", {{1000, 10}, {10'000, 20}, {0, 5}}}, {"second", {{1000, 5}}}}};
}

TEST(Plot, EveryPointTellsItsValues) {
  const std::string svg = SvgOf(SamplePlot());
  EXPECT_EQ(Count(svg, "<polyline"), 2u);
  EXPECT_EQ(Count(svg, "<circle"), 3u + 2u);  // the names have one, too
  EXPECT_NE(svg.find("<title>first: items 10,000, 20 a second</title>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
}

TEST(Plot, ValuesThatHaveNoPlaceAreLeftOut) {
  EXPECT_EQ(SvgOf(SamplePlot()).find("items 0,"), std::string::npos);
  Plot none = SamplePlot();
  none.curves = {{"first", {{-1, 2}}}};
  EXPECT_EQ(Count(SvgOf(none), "<circle"), 1u);
  EXPECT_EQ(SvgOf(none).find("nan"), std::string::npos);
}

TEST(Plot, ManyPointsAreNotSeenButTell) {
  Plot plot = SamplePlot();
  plot.curves = {{"", {}}};
  for (int i = 1; i <= 100; ++i) plot.curves[0].points.push_back({i * 1.0, i * 1.0});
  EXPECT_EQ(Count(SvgOf(plot), "opacity=\"0\""), 100u);
}

TEST(LatencyCurve, GoesFromTheFastestToTheSlowest) {
  Histogram histogram;
  for (uint64_t i = 0; i < 999; ++i) histogram.Count(1000);
  histogram.Count(50'000);
  const Curve curve = LatencyCurve("GET", histogram);
  EXPECT_EQ(curve.points.front().x, 0);
  EXPECT_NEAR(curve.points.front().y, 1, 0.01);
  EXPECT_DOUBLE_EQ(curve.points.back().x, 1 - 1 / 2000.0);
  EXPECT_DOUBLE_EQ(curve.points.back().y, 50);
  for (size_t i = 1; i < curve.points.size(); ++i) {
    EXPECT_GT(curve.points[i].x, curve.points[i - 1].x);
    EXPECT_GE(curve.points[i].y, curve.points[i - 1].y);
  }
  EXPECT_TRUE(LatencyCurve("none", Histogram()).points.empty());
}

Table SampleTable() {
  return {.title = "rates",
          .columns = {{"name", Align::kLeft}, {"a second"}, {"note", Align::kLeft}},
          .rows = {{"a|b", "1,234", "x < y"}, {"µ", "5"}}};
}

TEST(Table, TextStandsInColumns) {
  EXPECT_EQ(TextOf(SampleTable()),
            "rates\n"
            "name  a second  note\n"
            "a|b      1,234  x < y\n"
            "µ            5\n");
}

TEST(Table, MarkdownKeepsCellsApart) {
  EXPECT_EQ(MarkdownOf(SampleTable()),
            "rates\n\n"
            "| name | a second | note |\n"
            "|---|---:|---|\n"
            "| a\\|b | 1,234 | x < y |\n"
            "| µ | 5 |  |\n");
}

TEST(Table, HtmlHasEveryCellAndEscapesIt) {
  const std::string html = HtmlOf(SampleTable());
  EXPECT_EQ(Count(html, "<td"), 6u);
  EXPECT_EQ(Count(html, "<th class=\"left\""), 2u);
  EXPECT_NE(html.find(">x &lt; y<"), std::string::npos);
  EXPECT_NE(html.find("<caption>rates</caption>"), std::string::npos);
}

Page SamplePage() {
  return {.title = "plov-bench <x>",
          .facts = {{"command", "plov-bench x --html 'a b'"}},
          .parts = {Paragraph{"a <sentence>"}, SampleTable(), SamplePlot(),
                    Chart{.title = "bars",
                          .category = "",
                          .categories = {"one"},
                          .unit = "us",
                          .series = {{"us", {1.5}}}}}};
}

TEST(Page, HtmlHoldsEverythingItself) {
  const std::string html = HtmlOf(SamplePage());
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_EQ(Count(html, "<svg "), 2u);
  EXPECT_EQ(Count(html, "<table"), 1u);
  EXPECT_NE(html.find("<p>a &lt;sentence&gt;</p>"), std::string::npos);
  EXPECT_NE(html.find("<h1>plov-bench &lt;x&gt;</h1>"), std::string::npos);
  EXPECT_NE(html.find("<dt>command</dt><dd>plov-bench x --html 'a b'</dd>"), std::string::npos);
  for (const char* outside : {"src=", "<script", "@import", "url(", "href=\"h", "href=\"/"}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
}

TEST(Page, TextHasAllButPlotsWithEmptyLinesBetween) {
  const std::string text = TextOf(SamplePage());
  EXPECT_TRUE(text.starts_with("a <sentence>\n\nrates\nname"));
  EXPECT_EQ(Count(text, "\n\n"), 2u);
  EXPECT_NE(text.find("  one |####"), std::string::npos);
  EXPECT_EQ(text.find("svg"), std::string::npos);
}

TEST(Page, SavingTellsWhatCannotBeWritten) {
  const auto saved = Save("/nonsense/folder/page.html", "text");
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message.find("/nonsense/folder/page.html"), std::string::npos);
}

// A folder with a proc and a sys of its own.
class Facts : public testing::Test {
 protected:
  void SetUp() override { root_ = testing::TempDir() + "plov-facts-" + std::to_string(::getpid()); }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string Find(const std::string& name) {
    for (const Fact& fact : FactsOfMachine(cli::Machine(root_))) {
      if (fact.name == name) return fact.value;
    }
    return "";
  }

  std::string root_;
};

TEST_F(Facts, TellWhatTheKernelTells) {
  Write("/proc/cpuinfo",
        "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Fast 9000\nflags\t\t: fpu hypervisor sse\n");
  Write("/proc/meminfo", "MemTotal:       2097152 kB\n");
  Write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  Write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  EXPECT_EQ(Find("processor"), "Fast 9000");
  EXPECT_NE(Find("cores").find("virtual"), std::string::npos);
  EXPECT_EQ(Find("memory"), "2.0 GiB");
  EXPECT_EQ(Find("kernel"), "Linux 6.1.0-18-amd64");
  EXPECT_EQ(Find("transparent huge pages"), "madvise");
}

TEST_F(Facts, LeaveOutWhatItDoesNot) {
  EXPECT_EQ(Find("processor"), "");
  EXPECT_EQ(FactsOfMachine(cli::Machine(root_)).size(), 1u);
}

TEST_F(Facts, SayWhatWasRun) {
  const cli::Json facts = JsonOf(FactsOfRun());
  EXPECT_TRUE(facts["command"].get<std::string>().starts_with("bench_tool_test"));
  EXPECT_EQ(facts["plov"], PLOV_VERSION);
  EXPECT_EQ(facts["date"].get<std::string>().size(), std::string("2026-11-21 16:45 UTC").size());
}

}  // namespace
}  // namespace plov::bench
