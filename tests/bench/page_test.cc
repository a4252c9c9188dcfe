// Pages as text, as Markdown, as JSON and as HTML, and the facts of a machine.

#include "bench/page/page.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/page/number.h"

namespace plov::bench {
namespace {

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::string LineWith(const std::string& text, const std::string& part) {
  const size_t at = text.find(part);
  return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
}

Chart SampleChart() {
  return {.title = "bars",
          .unit = "requests/s",
          .groups = {{"16 bytes", {{"first", 100, Owner::kPlov}, {"second", 25}}},
                     {"64 bytes", {{"third", std::nullopt}}}}};
}

Table SampleTable() {
  return {.title = "rates",
          .columns = {"<name", "a second", "<note"},
          .rows = {{"a|b", "1,234", "x < y"}, {"µ", "5"}}};
}

Plot SamplePlot() {
  return {.title = "a < b",
          .x = {.label = "items", .scale = Scale::kLog, .unit = Unit::kBytes},
          .y = {.label = "part", .scale = Scale::kNines},
          .curves = {{.name = "first", .points = {{1000, 0.5}, {0, 0.5}, {1000, 1}, {-1, 0}}}}};
}

Page SamplePage() {
  return {
      .title = "plov-bench <x>",
      .headline = {"2 of 3 </script><script>alert(1)</script>", {{"a second", "1.5 M"}}},
      .facts = {{"command", "plov-bench x --html 'a b'"}},
      .parts = {Paragraph{"a <sentence> @LIBRARY@"}, SampleTable(), SamplePlot(), SampleChart()}};
}

TEST(Number, CompactHasThreeDigits) {
  EXPECT_EQ(Compact(0.25), "0.25");
  EXPECT_EQ(Compact(999.4), "999");
  EXPECT_EQ(Compact(999.6), "1 k");
  EXPECT_EQ(Compact(12'345'678), "12.3 M");
}

TEST(Chart, BarsAreAsLongAsTheirValuesAndWhatIsMissingIsNoZero) {
  const std::string text = TextOf(SampleChart());
  const std::string most = LineWith(text, "first ");
  const std::string quarter = LineWith(text, "second");
  EXPECT_EQ(std::ranges::count(most, '#'), 4 * std::ranges::count(quarter, '#'));
  EXPECT_GT(std::ranges::count(quarter, '#'), 0);
  EXPECT_TRUE(most.ends_with(" 100")) << most;
  EXPECT_TRUE(LineWith(text, "third").ends_with(" -")) << text;
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
  EXPECT_NE(text.find("\n\nbars (requests/s)\n\n16 bytes\n"), std::string::npos) << text;
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
  ASSERT_EQ(json["parts"].size(), 4u);
  EXPECT_EQ(json["figures"]["a second"], "1.5 M");
  EXPECT_EQ(json["parts"][1]["rows"][0][0], "a|b");
  EXPECT_EQ(json["parts"][2]["curves"][0]["points"],
            program::Json::parse(R"([{"x":1000,"y":0.5}])"));
  EXPECT_EQ(json["parts"][3]["groups"][0]["bars"][0]["ours"], true);
  EXPECT_EQ(json["parts"][3]["groups"][1]["bars"][0]["value"], nullptr);
}

TEST(Page, LoadThatAchievedLessIsNotJoined) {
  Curve curve;
  for (const Point& point : {Point{1, 5}, Point{3, 6}, Point{2, 90}, Point{4, 50}}) {
    AddAchieved(point, &curve);
  }
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
