// A scan whose connection ends at each of its READs in turn.
#include <gtest/gtest.h>
#include <plov/client.h>

#include <optional>
#include <set>
#include <string>

#include "tests/sim/run_by_hand.h"

namespace plov::sim {
namespace {

constexpr uint64_t kFewBuckets = 8;
constexpr uint64_t kItems = 14;  // in records, and more than there are buckets
constexpr uint64_t kScanStepsMax = 1'000'000;

class ScanCut {
 public:
  ScanCut() {
    for (uint64_t i = 0; i < kItems; ++i) {
      EXPECT_NE(run_.server.Put("item" + std::to_string(i), std::string(60, 'v')), 0);
    }
    EXPECT_GE(run_.server.store().table().stash().size(), kItems - kFewBuckets);
  }

  // Ends the connection once so many READs were posted; returns how many were.
  uint64_t Run(uint64_t cut) {
    for (uint64_t step = 0; !summary_; ++step) {
      if (step == kScanStepsMax) {
        ADD_FAILURE() << "the scan does not end";
        return 0;
      }
      if (is_connected_ && run_.network.reads() >= cut && run_.network.flights() > 0) {
        cut = UINT64_MAX;
        run_.network.BreakAny();
      }
      run_.Step();
    }
    EXPECT_TRUE(*summary_) << summary_->error().message;
    EXPECT_TRUE((*summary_)->settled);
    EXPECT_EQ(met_.size(), kItems);
    return run_.network.reads();
  }

 private:
  static Scenario Stashing() {
    Scenario scenario;
    scenario.bucket_count = kFewBuckets;
    scenario.stashes = true;
    scenario.memory_bytes = size_t{128} << 10;
    scenario.network.cut = Cut::kWhole;
    scenario.network.retransmit_one_in = 0;
    return scenario;
  }
  void Live() {
    Client client = Client::Connect("sim:").value();
    is_connected_ = true;
    summary_ = client.Scan([this](std::string_view key, const Item&) {
      met_.insert(std::string(key));
      return true;
    });
  }

  bool is_connected_ = false;
  std::set<std::string> met_;
  std::optional<std::expected<ScanSummary, Error>> summary_;
  RunByHand run_{Stashing(), HostClock{}, [this] { Live(); }};
};

TEST(ScanCut, WhereverItIsEveryItemIsMet) {
  const uint64_t reads = ScanCut().Run(UINT64_MAX);
  ASSERT_GT(reads, kItems);
  for (uint64_t cut = 1; cut <= reads; ++cut) {
    SCOPED_TRACE(cut);
    ScanCut().Run(cut);
  }
}

}  // namespace
}  // namespace plov::sim
