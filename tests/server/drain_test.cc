// A drain by a clock of its own.

#include "server/drain.h"

#include <gtest/gtest.h>

namespace plov::server {
namespace {

using std::chrono::milliseconds;

constexpr Drain::Clock::time_point kBegin{};
constexpr milliseconds kLimit{5000};

TEST(DrainTest, ItEndsWithTheLastClientOrAfterTheTime) {
  Drain drain;
  EXPECT_EQ(drain.Look(0, kBegin), Drain::State::kServing);
  drain.Begin(kLimit, kBegin);
  EXPECT_EQ(drain.Look(1, kBegin + milliseconds(4999)), Drain::State::kDraining);
  EXPECT_EQ(drain.Look(1, kBegin + kLimit), Drain::State::kDrained);
  Drain another;
  another.Begin(kLimit, kBegin);
  EXPECT_EQ(another.Look(0, kBegin), Drain::State::kDrained);
}

TEST(DrainTest, WhoAsksHearsThatItIsDrainedFirst) {
  Drain drain;
  drain.Begin(kLimit, kBegin);
  EXPECT_FALSE(drain.IsOver(0, kBegin)) << "a client is there";
  drain.Look(0, kBegin);
  EXPECT_TRUE(drain.IsOver(0, kBegin)) << "nobody asks";
  EXPECT_FALSE(drain.IsOver(1, kBegin + milliseconds(200))) << "asked every 200 ms";
  EXPECT_TRUE(drain.IsOver(1, kBegin + milliseconds(2000))) << "who asks does not hold it up";
}

TEST(DrainTest, CancelledItServes) {
  Drain drain;
  drain.Begin(kLimit, kBegin);
  drain.Cancel();
  EXPECT_EQ(drain.Look(0, kBegin + kLimit), Drain::State::kServing);
  EXPECT_FALSE(drain.IsOver(0, kBegin + kLimit));
}

}  // namespace
}  // namespace plov::server
