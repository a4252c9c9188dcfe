// One hot key with a large value, overwritten all the time: readers starve at their buckets and
// records, and are served by the server, which holds the record for them.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/plovd.h"

namespace plov {
namespace {

constexpr size_t kGets = 500;

TEST(Hot, ALargeKeyUnderConstantOverwriteIsAlwaysRead) {
  const test::Plovd server({"--memory", "128M"});
  std::atomic<bool> stop = false;
  Client client = server.Connect({.timeout = std::chrono::seconds(30)});
  ASSERT_TRUE(client.Put("hot", std::string(400'000, 'a')));
  std::jthread writer([&] {
    Client own = server.Connect({.timeout = std::chrono::seconds(30)});
    for (int round = 0; !stop.load(std::memory_order_relaxed); ++round) {
      const std::string value(400'000 + static_cast<size_t>(round % 2),
                              static_cast<char>('a' + round % 26));
      ASSERT_TRUE(own.Put("hot", value));
    }
  });
  size_t right = 0;
  for (size_t i = 0; i < kGets; ++i) {
    const auto hit = client.Get("hot");
    ASSERT_TRUE(hit && *hit);
    const std::string_view value = (*hit)->value;
    right += value.size() >= 400'000 && value.find_first_not_of(value[0]) == std::string_view::npos;
  }
  stop = true;
  EXPECT_EQ(right, kGets);
  const ClientStats stats = client.stats();
  std::printf("torn %lu, GETs by message %lu\n", stats.torn_buckets + stats.torn_records,
              stats.fallbacks);
}

}  // namespace
}  // namespace plov
