// A GET that pauses until an item has certainly expired, in a run made by hand.
#include <gtest/gtest.h>
#include <plov/client.h>

#include <functional>
#include <optional>
#include <string>

#include "tests/sim/run_by_hand.h"

namespace plov::sim {
namespace {

constexpr uint64_t kBuckets = 32;
constexpr uint64_t kStepsMax = 100'000;
constexpr int32_t kDriftPpm = -900;

class PausedGet : public ::testing::Test {
 protected:
  static Scenario Growing() {
    Scenario scenario;
    scenario.bucket_count = kBuckets;
    scenario.grows = true;
    scenario.memory_bytes = size_t{256} << 10;
    return scenario;
  }

  void SetUp() override {
    for (uint64_t i = 0; i < kBuckets * 3 / 4; ++i) {
      ASSERT_NE(run_.server.Put("fill" + std::to_string(i), "value"), 0);
    }
    Until([this] { return client_.has_value(); });
  }
  void TearDown() override {
    is_over_ = true;
    run_.fiber.Resume();
  }

  void Live() {
    client_.emplace(Client::Connect("sim:", {.location_cache_bytes = 0}).value());
    while (!is_over_) {
      Fiber::Rest();
      client_->Poll();
    }
    client_.reset();
  }

  void Until(const std::function<bool()>& done) {
    for (uint64_t step = 0; !done(); ++step) {
      ASSERT_LT(step, kStepsMax);
      run_.Step();
    }
  }
  // So that READs of one lookup have come, wherever its key is.
  void Steps(int count) {
    for (int step = 0; step < count; ++step) run_.Step();
  }
  uint64_t ServerUs() const { return run_.server.clock().UnixUs(run_.host.now_us()); }
  // What a GET came to, as soon as it has: whether the item is there.
  struct Got {
    std::optional<bool> found;
  };
  void StartGet(std::string_view key, Got* got) {
    client_->StartGet(key, [got](const Client::GetResult& result) {
      ASSERT_TRUE(result) << result.error().message;
      got->found = result->has_value();
    });
  }

  std::optional<Client> client_;
  bool is_over_ = false;
  RunByHand run_{Growing(), HostClock{.drift_ppm = kDriftPpm}, [this] { Live(); }};
};

// It begins again, before its pause is over, when the table has grown meanwhile: what it READs then
// has not expired.
TEST_F(PausedGet, ThatBeginsAgainEarlyDoesNotTakeTheItemForExpired) {
  bool stored = false;
  client_->StartPut("mortal", "value", {.ttl = std::chrono::seconds(3)},
                    [&stored](const Client::PutResult& result) { stored = result.has_value(); });
  Until([&stored] { return stored; });
  Got first;
  StartGet("mortal", &first);
  Until([&first] { return first.found.has_value(); });
  ASSERT_TRUE(*first.found);
  const uint64_t expiry_us = (ServerUs() + 999'999) / 1'000'000 * 1'000'000 + 3'000'000;

  // Its clock, as the client knows it after three seconds, is perhaps 3 ms slower, and is 2.7 ms.
  run_.host.Pass((expiry_us - 300 - ServerUs()) * 1'000'000 / (1'000'000 + kDriftPpm));
  while (ServerUs() < expiry_us - 290) run_.host.Pass(1);
  Got mortal;
  StartGet("mortal", &mortal);
  Steps(50);
  ASSERT_FALSE(mortal.found);
  ASSERT_EQ(run_.network.flights(), 0u) << "it pauses";

  for (int i = 0; i < 4; ++i) ASSERT_NE(run_.server.Put("more" + std::to_string(i), "value"), 0);
  Until([this] { return run_.server.store().growth().growths() > 0; });
  run_.is_stopped = true;  // so that its clock is not told meanwhile
  Got other;
  StartGet("fill0", &other);
  Until([&other] { return other.found.has_value(); });
  Steps(20);
  run_.is_stopped = false;
  EXPECT_TRUE(*other.found);
  EXPECT_GT(client_->stats().refreshes, 0);
  ASSERT_LT(ServerUs(), expiry_us);
  EXPECT_NE(mortal.found, false) << "absent before it has expired";

  run_.host.Pass(20'000);
  Until([&mortal] { return mortal.found.has_value(); });
  EXPECT_FALSE(*mortal.found);
}

}  // namespace
}  // namespace plov::sim
