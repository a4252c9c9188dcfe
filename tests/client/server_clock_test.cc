// What a client makes of exchanges with a server whose clock has another zero and another rate.

#include "client/server_clock.h"

#include <gtest/gtest.h>

#include <random>

namespace plov {
namespace {

// The server's time at `local_us` of the client, whose clock runs at another rate.
struct Truth {
  int64_t offset_us;
  int64_t rate_ppm;

  uint64_t At(uint64_t local_us) const {
    return local_us + static_cast<uint64_t>(offset_us) +
           static_cast<uint64_t>(static_cast<int64_t>(local_us) / 1'000'000 * rate_ppm);
  }
};

TEST(ServerClock, BoundsHoldTheServersTimeWhateverTheZerosAndRates) {
  std::mt19937_64 random(1);
  const auto below = [&random](uint64_t end) { return random() % end; };
  for (int round = 0; round < 1000; ++round) {
    const Truth truth{static_cast<int64_t>(below(1ull << 50)),
                      static_cast<int64_t>(below(1800)) - 900};
    ServerClock clock;
    uint64_t now_us = 1'000'000'000 + below(1ull << 40);
    uint64_t first_us = 0;
    for (int exchange = 0; exchange < 5; ++exchange) {
      const uint64_t sent_us = now_us;
      const uint64_t taken_us = sent_us + below(10'000);
      now_us = taken_us + below(10'000);
      clock.Sample(sent_us, now_us, truth.At(taken_us));
      if (exchange == 0) first_us = sent_us;
      now_us += below(60'000'000);
      for (const uint64_t at_us : {now_us, first_us}) {
        const auto bounds = clock.At(at_us);
        EXPECT_LE(bounds.earliest_us, truth.At(at_us));
        EXPECT_GE(bounds.latest_us, truth.At(at_us));
      }
    }
  }
}

// Of clocks that run, and show, between two microseconds.
TEST(ServerClock, BoundsHoldWhateverIsRounded) {
  std::mt19937_64 random(2);
  const auto below = [&random](uint64_t end) { return random() % end; };
  for (int round = 0; round < 100'000; ++round) {
    const uint64_t rate_ppm = below(1999) + 999'001;  // of the client's
    const uint64_t server_offset_ns = below(1'000'000'000);
    const auto client_us = [](uint64_t ns) { return ns / 1000; };
    const auto server_us = [&](uint64_t ns) {
      return (ns * rate_ppm / 1'000'000 + server_offset_ns) / 1000;
    };
    const uint64_t sent_ns = 1'000'000'000 + below(10'000);
    const uint64_t taken_ns = sent_ns + below(2'000);
    const uint64_t received_ns = taken_ns + below(2'000);
    const uint64_t now_ns = received_ns + below(5'000);
    ServerClock clock;
    clock.Sample(client_us(sent_ns), client_us(received_ns), server_us(taken_ns));
    const auto bounds = clock.At(client_us(now_ns));
    ASSERT_LE(bounds.earliest_us, server_us(now_ns));
    ASSERT_GE(bounds.latest_us, server_us(now_ns));
  }
}

TEST(ServerClock, TheBetterOfTwoExchangesStays) {
  ServerClock clock;
  clock.Sample(1'000'000, 1'000'100, 500);
  const auto width = [&clock](uint64_t at_us) {
    return clock.At(at_us).latest_us - clock.At(at_us).earliest_us;
  };
  const uint64_t good = width(1'100'000);
  clock.Sample(1'000'200, 1'090'000, 600);  // took long
  EXPECT_EQ(width(1'100'000), good);
  clock.Sample(9'000'000, 9'000'300, 8'000'000);  // by now better than the first
  EXPECT_LT(width(9'000'400), 400u);
}

TEST(ServerClock, TheErrorGrowsWithTheAge) {
  ServerClock clock;
  EXPECT_FALSE(clock.known());
  clock.Sample(0, 0, 0);
  EXPECT_TRUE(clock.known());
  EXPECT_FALSE(clock.IsOld(ServerClock::kAgeUsMax));
  EXPECT_TRUE(clock.IsOld(ServerClock::kAgeUsMax + 1));
  const auto bounds = clock.At(10'000'000);
  EXPECT_NEAR(static_cast<double>(bounds.latest_us - bounds.earliest_us), 20'000, 8);
}

}  // namespace
}  // namespace plov
