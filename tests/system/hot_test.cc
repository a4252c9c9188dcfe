// One hot key, overwritten as fast as the server can by two writers that keep many PUTs under way:
// its readers starve at bucket and record, and are served by the server in the end. Every GET ends
// within its deadline with a right value, that of a write which was under way or acknowledged.
//
// PLOV_HOT_SECONDS sets the duration for each size of the value (1).

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/support/sanitizers.h"

namespace plov {
namespace {

using test::Child;
using test::Plovd;
using test::SharedMemory;
using Clock = std::chrono::steady_clock;

// Many times what a GET takes: the thread sanitizer seals a few values of 1 MiB a second.
constexpr std::chrono::seconds kTimeout{test::kSanitized ? 10 : 2};
constexpr size_t kWriters = 2;

struct Shared {
  std::atomic<bool> stop;
  std::array<std::atomic<uint64_t>, kWriters> started;
  std::array<std::atomic<uint64_t>, kWriters> acknowledged;
  std::atomic<uint64_t> gets, torn_buckets, torn_records, by_message, slowest_us;
};

// "writer:number:" and one letter over and over.
std::string ValueOf(size_t writer, uint64_t number, size_t bytes) {
  std::string value = std::to_string(writer) + ":" + std::to_string(number) + ":";
  value.resize(std::max(value.size(), bytes), static_cast<char>('a' + number % 26));
  return value;
}

int Overwrite(const Plovd& server, Shared* shared, size_t writer, size_t bytes) {
  Client client = server.Connect({.timeout = std::chrono::seconds(60)});
  const size_t batch = bytes > 100'000 ? 2 : 32;
  while (!shared->stop) {
    std::vector<std::string> values;
    for (size_t i = 0; i < batch; ++i) {
      values.push_back(ValueOf(writer, ++shared->started[writer], bytes));
    }
    std::vector<PutItem> items;
    for (const std::string& value : values) items.push_back({"hot", value});
    size_t good = 0;
    client.PutMany(items, [&](size_t, Client::PutResult result) {
      good += result.has_value();
      ++shared->acknowledged[writer];
    });
    if (good != batch) return 1;
  }
  return 0;
}

// A single GET, GetInto and a window of eight take turns.
class Reader {
 public:
  Reader(const Plovd& server, Shared* shared, size_t bytes, size_t cache_bytes)
      : shared_(shared),
        bytes_(bytes),
        client_(server.Connect({.timeout = kTimeout, .location_cache_bytes = cache_bytes})),
        buffer_(bytes + 64) {}

  int Run() {
    bool good = true;
    const std::vector<std::string_view> window(8, "hot");
    while (good && !shared_->stop) {
      Begin();
      good = End(client_.Get("hot"));
      Begin();
      good = End(client_.GetInto("hot", buffer_)) && good;
      Begin();
      client_.GetMany(window,
                      [&](size_t, Client::GetResult result) { good = End(result) && good; });
    }
    const ClientStats stats = client_.stats();
    shared_->gets += stats.gets;
    shared_->torn_buckets += stats.torn_buckets;
    shared_->torn_records += stats.torn_records;
    shared_->by_message += stats.fallbacks;
    return good ? 0 : 2;
  }

 private:
  void Begin() {
    began_ = Clock::now();
    for (size_t i = 0; i < kWriters; ++i) low_[i] = shared_->acknowledged[i];
  }

  bool End(const Client::GetResult& result) {
    const auto spent =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_).count();
    uint64_t slowest = shared_->slowest_us;
    while (static_cast<uint64_t>(spent) > slowest &&
           !shared_->slowest_us.compare_exchange_weak(slowest, static_cast<uint64_t>(spent))) {
    }
    const bool right = result && *result && IsRight((*result)->value);
    if (!right) {
      std::fprintf(stderr, "after %ld us: %s\n", spent,
                   !result   ? result.error().message.c_str()
                   : *result ? std::string((*result)->value.substr(0, 40)).c_str()
                             : "absent");
    }
    return right;
  }

  // Of one writer's values only the last acknowledged one before the GET, or later ones. (Which
  // writer's is the newer nobody knows but the server.)
  bool IsRight(std::string_view value) const {
    const std::string head(value.substr(0, 40));
    const size_t writer = head[0] == '0' ? 0 : 1;
    const uint64_t number = std::strtoull(head.c_str() + 2, nullptr, 10);
    return number >= low_[writer] && number <= shared_->started[writer] &&
           value == ValueOf(writer, number, bytes_);
  }

  Shared* shared_;
  size_t bytes_;
  Client client_;
  std::vector<std::byte> buffer_;
  Clock::time_point began_;
  std::array<uint64_t, kWriters> low_{};
};

class Hot : public ::testing::TestWithParam<size_t> {};

TEST_P(Hot, EveryGetEndsInTimeWithARightValue) {
  const size_t bytes = GetParam();
  const Plovd server({"--memory", "256M"});
  const SharedMemory<Shared> shared;
  ASSERT_TRUE(server.Connect().Put("hot", ValueOf(0, ++shared->started[0], bytes)));
  ++shared->acknowledged[0];
  std::vector<Child> children;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    children.push_back(
        Child::Fork([&, writer] { return Overwrite(server, shared.get(), writer, bytes); }));
  }
  for (const size_t cache_bytes : std::initializer_list<size_t>{0, 1 << 16}) {
    children.push_back(Child::Fork(
        [&, cache_bytes] { return Reader(server, shared.get(), bytes, cache_bytes).Run(); }));
  }
  std::this_thread::sleep_for(std::chrono::seconds(test::NumberFrom("PLOV_HOT_SECONDS", 1)));
  shared->stop = true;
  for (size_t i = 0; i < children.size(); ++i) {
    EXPECT_EQ(children[i].Wait(100), 0) << "process " << i << " (1: a failed PUT; 2: a wrong GET)";
  }
  EXPECT_GT(shared->gets, 0);
  std::printf(
      "%zu bytes: %lu PUTs, %lu GETs, torn %lu buckets %lu records, by message %lu, slowest %lu "
      "us\n",
      bytes, shared->acknowledged[0] + shared->acknowledged[1], shared->gets.load(),
      shared->torn_buckets.load(), shared->torn_records.load(), shared->by_message.load(),
      shared->slowest_us.load());
}

INSTANTIATE_TEST_SUITE_P(Sizes, Hot, ::testing::Values(20, 200, 20'000, 1 << 20),
                         [](const auto& test) { return std::to_string(test.param) + "Bytes"; });

}  // namespace
}  // namespace plov
