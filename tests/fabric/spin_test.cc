// When a thread that waits polls, yields and sleeps.

#include "fabric/spin.h"

#include <gtest/gtest.h>

#include <thread>

namespace plov::fabric {
namespace {

using std::chrono::microseconds;

int yields = 0;
microseconds yield_takes{};

void Yield() {
  ++yields;
  std::this_thread::sleep_for(yield_takes);
}

class SpinTest : public ::testing::Test {
 protected:
  SpinTest() {
    yields = 0;
    yield_takes = {};
  }

  // Polls of one wait, a microsecond apart.
  int PollsOfAWait(bool on_peers_core = false) {
    int polls = 0;
    for (Clock::time_point now = Clock::now(); spin_.GoesOn(now, on_peers_core);) {
      ++polls;
      now += microseconds(1);
    }
    spin_.End();
    return polls;
  }

  Spin spin_{microseconds(64), Yield};
};

TEST_F(SpinTest, PollsAsLongAsItMay) {
  EXPECT_EQ(PollsOfAWait(), 64);
  EXPECT_EQ(PollsOfAWait(), 64);
  EXPECT_EQ(yields, 0);
}

TEST_F(SpinTest, AZeroSpinSleepsAtOnce) {
  spin_ = Spin(microseconds(0), Yield);
  EXPECT_EQ(PollsOfAWait(), 0);
  EXPECT_EQ(PollsOfAWait(true), 0);
  EXPECT_EQ(yields, 0);
}

TEST_F(SpinTest, InterruptionsMakeItShorterAndItRecovers) {
  for (int i = 0; i < 10; ++i) {
    const Clock::time_point now = Clock::now();
    EXPECT_TRUE(spin_.GoesOn(now, false));
    EXPECT_FALSE(spin_.GoesOn(now + microseconds(5000), false));
    spin_.End();
  }
  EXPECT_LT(PollsOfAWait(), 5);
  for (int i = 0; i < 64; ++i) PollsOfAWait();
  EXPECT_EQ(PollsOfAWait(), 64);
}

TEST_F(SpinTest, PollsThatAreInVainGetFewer) {
  const auto waits_until_it_polls = [&] {
    int waits = 0;
    for (;; ++waits) {
      const bool polls = spin_.GoesOn(Clock::now(), false);
      spin_.Slept();
      spin_.End();
      if (polls) return waits;
    }
  };
  for (const int waits : {0, 1, 2, 4, 8, 16, 32, 64, 64}) EXPECT_EQ(waits_until_it_polls(), waits);
  for (int i = 0; i < 64; ++i) spin_.Slept();
  EXPECT_EQ(PollsOfAWait(), 64);  // something came
  EXPECT_EQ(waits_until_it_polls(), 0);
  EXPECT_EQ(waits_until_it_polls(), 1);
}

TEST_F(SpinTest, ADiskIsPolledForLonger) {
  const Clock::time_point now = Clock::now();
  EXPECT_TRUE(spin_.GoesOn(now, false, 4));
  EXPECT_TRUE(spin_.GoesOn(now + microseconds(99), false, 4));
  EXPECT_TRUE(spin_.GoesOn(now + microseconds(198), false, 4));
  EXPECT_FALSE(spin_.GoesOn(now + microseconds(256), false, 4));
}

TEST_F(SpinTest, ItsLongestCanChange) {
  spin_.SetLongest(microseconds(16));
  EXPECT_EQ(PollsOfAWait(), 16);
  spin_.SetLongest(microseconds(0));
  EXPECT_EQ(PollsOfAWait(), 0);
  spin_.SetLongest(microseconds(64));
  EXPECT_EQ(PollsOfAWait(), 64);
}

// How long is none of its business: the test's own thread may be interrupted.
TEST_F(SpinTest, YieldsOnThePeersCore) {
  PollsOfAWait(true);
  EXPECT_GT(yields, 0);
}

TEST_F(SpinTest, YieldsThatComeBackLateStopForAWhile) {
  yield_takes = microseconds(200);
  PollsOfAWait(true);
  EXPECT_EQ(yields, 1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(PollsOfAWait(true), 0);
  EXPECT_EQ(yields, 1);
  for (int i = 0; i < 100; ++i) PollsOfAWait(true);
  EXPECT_EQ(yields, 2);
}

}  // namespace
}  // namespace plov::fabric
