// Pages as text, as Markdown, as JSON and as HTML, and the facts of a machine.

#include "bench/page/page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "bench/page/number.h"
#include "bench/page/rows.h"

namespace plov::bench {
namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Table SampleTable() {
  return {.title = "rates",
          .columns = {{.name = "name", .shown = Shown::kText},
                      {.name = "a second", .shown = Shown::kBars},
                      {.name = "note", .shown = Shown::kText}},
          .rows = {{"a|b", "1,234", "x < y"}, {"µ", "5", ""}}};
}

Plot SamplePlot() {
  return {.title = "a < b",
          .x = {.label = "items", .scale = Scale::kLog, .unit = Unit::kBytes},
          .y = {.label = "part", .scale = Scale::kNines},
          .curves = {{.name = "first", .points = {{1000, 0.5}, {0, 0.5}, {1000, 1}, {-1, 0}}}}};
}

Page SamplePage() {
  return {.title = "plov-bench <x>",
          .headline = {"2 of 3 </script><script>alert(1)</script>", {{"a second", "1.5 M"}}},
          .facts = {{"command", "plov-bench x --html 'a b'"}},
          .parts = {Paragraph{"a <sentence> @LIBRARY@"}, SampleTable(), SamplePlot()}};
}

TEST(Number, CompactHasThreeDigits) {
  EXPECT_EQ(Compact(0.25), "0.25");
  EXPECT_EQ(Compact(999.4), "999");
  EXPECT_EQ(Compact(999.6), "1 k");
  EXPECT_EQ(Compact(12'345'678), "12.3 M");
}

// Results of two designs at two windows.
program::Json SampleRows() {
  return program::Json::parse(R"([
      {"design": "one", "window": 1, "rate": {"median": 2000, "least": 1000, "most": 3000}},
      {"design": "one", "window": 8, "rate": {"median": 9000, "least": 9000, "most": 9000}},
      {"design": "other", "window": 1, "rate": {"median": 0.5, "least": 0.5, "most": 0.5},
       "latency": {"p99_us": 1.25}, "holds": true},
      {"design": "other", "window": 8, "why": "no room", "rate": null}])");
}

TEST(Rows, TableShowsMembersAndLeavesOutColumnsThatNoRowHas) {
  EXPECT_EQ(TextOf(TableOf("", SampleRows(),
                           {{"design", "design"},
                            {"rate", "rate"},
                            {"from..to", "rate", 1, Shown::kSpread},
                            {"us", "latency/p99_us", 2},
                            {"none", "nonsense"},
                            {"holds", "holds"}})),
            "design   rate        from..to    us  holds\n"
            "one     2,000  1000.0..3000.0\n"
            "one     9,000  9000.0..9000.0\n"
            "other       1        0.5..0.5  1.25    yes\n"
            "other\n");
}

TEST(Rows, LineShowsSeveralRowsOfOneName) {
  EXPECT_EQ(TextOf(TableOf("rates", SampleRows(), {"design", "design"},
                           {{{{"window", 8}}, {"8", "rate", kAsItIs}},
                            {{{"window", 1}}, {"1", "rate", kAsItIs}},
                            {{{"window", 8}}, {"why", "why"}}})),
            "rates\n"
            "design      8      1  why\n"
            "one     9,000  2,000\n"
            "other            0.5  no room\n");
}

TEST(Rows, CurvesHaveAPointForEachRowWithBothNumbers) {
  const std::vector<Curve> curves = CurvesOf(SampleRows(), "design", "window", "rate");
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[0].name, "one");
  ASSERT_EQ(curves[0].points.size(), 2u);
  EXPECT_EQ(curves[0].points[1].x, 8);
  EXPECT_EQ(curves[0].points[1].y, 9000);
  EXPECT_EQ(curves[1].points.size(), 1u);
}

TEST(Table, TextStandsInColumns) {
  EXPECT_EQ(TextOf(SampleTable()),
            "rates\n"
            "name  a second  note\n"
            "a|b      1,234  x < y\n"
            "µ            5\n");
}

TEST(Page, TextHasAllButPlotsWithEmptyLinesBetween) {
  const std::string text = TextOf(SamplePage());
  EXPECT_TRUE(text.starts_with("a <sentence> @LIBRARY@\n\nrates\nname")) << text;
  EXPECT_EQ(text.find("a < b"), std::string::npos);
}

TEST(Page, MarkdownKeepsCellsApart) {
  EXPECT_EQ(MarkdownOf(SamplePage()),
            "## plov-bench <x>\n\n"
            "- command: plov-bench x --html 'a b'\n\n"
            "a <sentence> @LIBRARY@\n\n"
            "rates\n\n"
            "| name | a second | note |\n"
            "|---|---:|---|\n"
            "| a\\|b | 1,234 | x < y |\n"
            "| µ | 5 |  |\n");
}

TEST(Page, JsonHasEveryPartAndOnlyPointsThatHaveAPlace) {
  const program::Json json = JsonOf(SamplePage());
  ASSERT_EQ(json["parts"].size(), 3u);
  EXPECT_EQ(json["figures"]["a second"], "1.5 M");
  EXPECT_EQ(json["parts"][1]["rows"][0][0], "a|b");
  EXPECT_EQ(json["parts"][2]["curves"][0]["points"],
            program::Json::parse(R"([{"x":1000,"y":0.5}])"));
  EXPECT_EQ(json["parts"][1]["columns"][0]["text"], true);
  EXPECT_EQ(json["parts"][1]["columns"][1]["bars"], true);
}

TEST(Page, LoadThatAchievedLessIsNotJoined) {
  const Curve curve = OverAchieved({.points = {{1, 5}, {3, 6}, {2, 90}, {4, 50}}});
  ASSERT_EQ(curve.points.size(), 3u);
  EXPECT_EQ(curve.points.back().x, 4);
  ASSERT_EQ(curve.beyond.size(), 1u);
  EXPECT_EQ(curve.beyond[0].y, 90);
}

TEST(Page, HtmlHoldsEverythingItselfAndNothingInItIsMarkup) {
  if (const auto can = CanWritePages(); !can) GTEST_SKIP() << can.error().message;
  const std::string html = HtmlOf(SamplePage()).value();
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(html.ends_with("</html>\n"));
  EXPECT_NE(html.find("<title>plov-bench &lt;x&gt;</title>"), std::string::npos);
  EXPECT_NE(html.find("a \\u003csentence> @LIBRARY@"), std::string::npos);
  EXPECT_EQ(Count(html, "<script"), 3u);
  EXPECT_EQ(Count(html, "</script"), 3u);
  EXPECT_NE(html.find("Chart.js v"), std::string::npos);
  for (const char* outside : {" src=\"h", "@import", "href=\"h", "@DATA@", "@SCRIPT@", "@TITLE@"}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
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
    for (const Fact& fact : FactsOfMachine(program::Machine(root_))) {
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
  EXPECT_EQ(FactsOfMachine(program::Machine(root_)).size(), 1u);
}

TEST_F(Facts, SayWhatWasRun) {
  const program::Json facts = JsonOf(FactsOfRun());
  EXPECT_TRUE(facts["command"].get<std::string>().starts_with("bench_tool_test"));
  EXPECT_EQ(facts["plov"], PLOV_VERSION);
  EXPECT_EQ(facts["date"].get<std::string>().size(), std::string("2026-11-21 16:45 UTC").size());
}

}  // namespace
}  // namespace plov::bench
