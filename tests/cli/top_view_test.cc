#include "client/cli/top_view.h"

#include <gmock/gmock.h>

namespace plov::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto kFirst =
    "puts 200\nreported_gets 3000000\nreported_reads 3300000\ncpu_us 1500\nmemory_bytes 1048576\n"
    "memory_used_bytes 524288\nfull_percent 51\nclients 3\nstarted_at_us 1000000\n"
    "writes_under_us_16 10\nlog_mode 0\nclock_us 101000000\nversion 9.9\npid 42\n";
constexpr auto kOther =
    "puts 100\ncpu_us 3000\nfull_percent 7\nstarted_at_us 1000000\n"
    "clock_us 101000000\n";

TopView ViewOf(const Sample& sample) {
  History history(std::chrono::seconds(5));
  history.Add(sample);
  return {.server = "shm:x", .sample = &sample, .rates = history.rates()};
}

TEST(TopView, ShowsWhatTheServerDoes) {
  const Sample sample = Sample::Of({kFirst, kOther});
  const std::string text = PlainText(LinesOf(ViewOf(sample)));
  EXPECT_THAT(text, HasSubstr("shm:x, plovd 9.9, process 42, up 1 min 40 s\n"));
  EXPECT_THAT(text, HasSubstr("server CPU per million GETs: 1.5 ms (1.5 ms since its start)\n"));
  EXPECT_THAT(text, HasSubstr("GETs       30,000/s, 1.10 READs each"));
  EXPECT_THAT(text, HasSubstr("PUTs       3/s, p50 under 16 us, p99 under 16 us"));
  EXPECT_THAT(text, HasSubstr("commits    p50 -"));
  EXPECT_THAT(text, HasSubstr("memory     512.0 KiB of 1.0 MiB, 51 % full"));
  EXPECT_THAT(text, Not(HasSubstr("does not move")));
}

TEST(TopView, SortsShardsByTheirCpu) {
  const Sample sample = Sample::Of({kFirst, kOther});
  TopView view = ViewOf(sample);
  EXPECT_EQ(LinesOf(view).back().text.substr(0, 6), "     1");
  view.order = ShardOrder::kCpu;
  EXPECT_EQ(LinesOf(view).back().text.substr(0, 6), "     0");
}

TEST(TopView, SaysHowTheServerStands) {
  const Sample sample = Sample::Of({kFirst});
  TopView view = ViewOf(sample);
  view.standing_seconds = 75.9;
  view.standing = Standing::kStill;
  EXPECT_THAT(PlainText(LinesOf(view)),
              HasSubstr("does not move for 1 min 15 s: idle, or stopped"));
  view.standing = Standing::kStopped;
  EXPECT_THAT(PlainText(LinesOf(view)), HasSubstr("its process is stopped"));
  view.standing = Standing::kGone;
  view.error = "no server\x1b[31m";
  EXPECT_THAT(PlainText(LinesOf(view)), HasSubstr("GONE for 1 min 15 s: no server\\x1b[31m;"));
  view.restarted_seconds = 4;
  EXPECT_THAT(PlainText(LinesOf(view)), HasSubstr("restarted 4 s ago\n"));
}

// What a server says of itself may be anything.
TEST(TopView, NoTextIsObeyedByTheTerminal) {
  const Sample sample = Sample::Of({"version \x1b[2J\r\x9b\x07\npid \x1b]0;x\n"});
  const std::string screen =
      ScreenText(LinesOf(ViewOf(sample)), {.columns = 200, .rows = 50}, true);
  EXPECT_THAT(screen, HasSubstr("\\x1b[2J\\x0d\\x9b\\x07"));
  EXPECT_THAT(screen, Not(HasSubstr("\x1b[2J")));
  EXPECT_THAT(screen, Not(HasSubstr("\x1b]0")));
}

TEST(Screen, HasNoMoreThanItHasRoomFor) {
  const std::vector<TopLine> lines = {{TopLine::Style::kBold, "\xc3\xa4\xc3\xb6\xc3\xbc-cut"},
                                      {TopLine::Style::kPlain, "ab"},
                                      {TopLine::Style::kPlain, "never"}};
  EXPECT_EQ(ScreenText(lines, {.columns = 3, .rows = 2}, true),
            "\x1b[H\x1b[K\x1b[1m\xc3\xa4\xc3\xb6\xc3\xbc\x1b[0m\r\n\x1b[Kab");
  EXPECT_EQ(ScreenText(lines, {.columns = 1, .rows = 1}, false), "\x1b[H\x1b[K\xc3\xa4");
  EXPECT_EQ(ScreenText({}, {.columns = 1, .rows = 1}, false), "\x1b[H\r\n\x1b[J");
}

}  // namespace
}  // namespace plov::cli
