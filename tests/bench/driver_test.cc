// The driver: loads on a server of its own, in processes, and what it says of them.

#include "bench/load/driver.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "bench/load/presets.h"
#include "program/own_server.h"
#include "program/scratch.h"

namespace plov::bench {
namespace {

class Driver : public testing::Test {
 protected:
  void SetUp() override {
    auto folder = program::MakeFolder(program::Place::kDisk, "plov-test");
    ASSERT_TRUE(folder) << folder.error().message;
    folder_ = *folder;
    program::OwnServerOptions options;
    options.plovd = PLOVD_PATH;
    options.folder = folder_;
    options.memory_bytes = 64 << 20;
    options.max_value_bytes = 1 << 20;
    server_.emplace(options);
    const auto started = server_->Start(program::Life::kFirst);
    ASSERT_TRUE(started) << started.error().message;
    options_.uri = server_->uri();
    options_.duration = std::chrono::milliseconds(50);
    options_.client.timeout = std::chrono::seconds(20);
  }
  void TearDown() override {
    server_.reset();
    program::RemoveFolder(folder_);
  }

  static Workload Preset(const char* name) {
    auto workload = FindPreset(name);
    EXPECT_TRUE(workload) << workload.error().message;
    workload->items = 500;
    return *workload;
  }
  void LoadItems(const Workload& workload) {
    const auto loaded = Load(workload, options_);
    ASSERT_TRUE(loaded) << loaded.error().message;
  }
  Result DriveWell(const Workload& workload) {
    auto result = Drive(workload, options_);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : Result();
  }
  uint64_t CountOf(const Result& result, Kind kind) {
    return result.latencies[static_cast<size_t>(kind)].count();
  }

  std::string folder_;
  std::optional<program::OwnServer> server_;
  DriveOptions options_;
};

TEST_F(Driver, EveryLoadedItemIsThereAndWhole) {
  const Workload workload = Preset("ycsb-c");
  options_.clients = 3;
  LoadItems(workload);
  for (const uint32_t window : {1u, 16u}) {
    options_.window = window;
    const Result result = DriveWell(workload);
    EXPECT_GT(result.hits, 0u);
    EXPECT_EQ(result.misses, 0u);
    EXPECT_EQ(result.hits, CountOf(result, Kind::kGet));
    EXPECT_EQ(result.hits, result.operations());
    EXPECT_EQ(result.stats.gets, result.hits);
    EXPECT_GT(result.per_second, 0);
    EXPECT_GT(result.cpu_seconds, 0);
  }
}

TEST_F(Driver, NothingIsThereBeforeItIsLoaded) {
  const Result result = DriveWell(Preset("ycsb-c"));
  EXPECT_EQ(result.hits, 0u);
  EXPECT_GT(result.misses, 0u);
}

TEST_F(Driver, NewItemsAreFoundByAllClients) {
  const Workload workload = Preset("ycsb-d");
  options_.clients = 2;
  options_.warmup = std::chrono::milliseconds(10);
  LoadItems(workload);
  for (const uint32_t window : {1u, 8u}) {
    options_.window = window;
    const Result result = DriveWell(workload);
    EXPECT_GT(CountOf(result, Kind::kInsert), 0u);
    EXPECT_EQ(result.misses, 0u);
    EXPECT_GT(result.inserted, 0u);
  }
}

TEST_F(Driver, ConditionsThatDoNotHoldAreCounted) {
  Workload workload = Preset("herd-50");
  workload.mix = {};
  for (const Kind kind : {Kind::kAdd, Kind::kReplace, Kind::kDelete, Kind::kSwap, Kind::kModify}) {
    workload.mix[kind] = 1;
  }
  constexpr std::array kConditions = {Kind::kAdd, Kind::kReplace, Kind::kDelete, Kind::kSwap};
  for (const uint32_t window : {1u, 8u}) {
    options_.window = window;
    std::map<Kind, uint64_t> counts;
    uint64_t refused = 0;
    uint64_t operations = 0;
    // A busy machine comes to a handful of operations in the time, which need not be of all kinds.
    for (int tries = 0; tries < 100 && (tries == 0 || operations < 1000); ++tries) {
      const Result result = DriveWell(workload);
      for (const Kind kind : kConditions) counts[kind] += CountOf(result, kind);
      refused += result.refused;
      operations += result.operations();
    }
    for (const Kind kind : kConditions) EXPECT_GT(counts[kind], 0u) << NameOf(kind);
    EXPECT_GT(refused, 0u);
    EXPECT_LT(refused, operations);
  }
}

TEST_F(Driver, AValueThatNobodyWroteIsAnError) {
  const Workload workload = Preset("herd-95");
  LoadItems(workload);
  auto client = Client::Connect(options_.uri);
  ASSERT_TRUE(client);
  std::string key;
  std::string value;
  const Items items(workload.shape);
  for (uint64_t number = 0; number < workload.items; ++number) {
    items.FillKey(number, &key);
    items.FillValue(number, key, &value);
    value.back() = '!';
    ASSERT_TRUE(client->Put(key, value));
  }
  for (const uint32_t window : {1u, 8u}) {
    options_.window = window;
    const auto result = Drive(workload, options_);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kCorrupt);
  }
}

TEST_F(Driver, StartsBeyondReachAreCountedAndTheirLatenciesToo) {
  const Workload workload = Preset("ycsb-c");
  LoadItems(workload);
  options_.rate = 1e9;
  options_.clients = 2;
  for (const uint32_t window : {1u, 16u}) {
    options_.window = window;
    const Result result = DriveWell(workload);
    // Of 50 million that were due.
    EXPECT_NEAR(static_cast<double>(result.operations() + result.never_started), 5e7, 2);
    EXPECT_GT(result.never_started, 25'000'000u);
    EXPECT_GT(result.late_starts, 0u);
    EXPECT_GT(result.latency().most(), 25'000'000u);  // from when it was due, not from its start
  }
}

TEST_F(Driver, AnEasyRateIsKept) {
  const Workload workload = Preset("ycsb-c");
  LoadItems(workload);
  options_.rate = 1000;
  const Result result = DriveWell(workload);
  EXPECT_EQ(result.operations() + result.never_started, 50u);
}

TEST_F(Driver, AReplayIsDoneOnceAndInOrder) {
  std::istringstream lines("put a 100\nget a\ndelete a\nget a\nadd b 5\nadd b 5\nget b\n");
  auto replay = Replay::Parse(&lines, "lines");
  ASSERT_TRUE(replay);
  Workload workload;
  workload.replay = std::make_shared<const Replay>(std::move(*replay));
  options_.duration = {};
  options_.clients = 2;
  const Result result = DriveWell(workload);
  EXPECT_EQ(result.operations(), 7u);
  EXPECT_EQ(result.hits, 2u);
  EXPECT_EQ(result.misses, 1u);
  EXPECT_EQ(result.refused, 1u);
}

TEST_F(Driver, AServerThatIsNotThereIsAnError) {
  options_.uri = "shm:" + folder_ + "/none.sock";
  options_.client.timeout = std::chrono::milliseconds(100);
  options_.clients = 3;
  const auto loaded = Load(Preset("ycsb-c"), options_);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Code::kUnavailable) << loaded.error().message;
}

}  // namespace
}  // namespace plov::bench
