// Many items of many sizes, written by several processes at once, read back whole.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Child;
using test::Plovd;

constexpr int kWriters = 4;
constexpr size_t kItemsPerWriter = 25'000;

// 1 byte to 1 MiB: most are small, one in 500 is large, as caches see it.
size_t ValueBytes(size_t item) {
  std::mt19937_64 random(item);
  const double exponent = std::uniform_real_distribution<double>(0, 14)(random);
  if (item % 500 == 0) return 65536 + random() % (1048576 - 65536 + 1);
  return static_cast<size_t>(std::exp2(exponent));
}

std::string ValueOf(size_t item) {
  std::string value(ValueBytes(item), '\0');
  uint64_t state = item;
  for (char& c : value) {
    state = state * 6364136223846793005 + 1442695040888963407;
    c = static_cast<char>(state >> 56);
  }
  return value;
}

std::string KeyOf(size_t item) { return "item:" + std::to_string(item); }

int WriteShare(const Plovd& server, size_t writer) {
  Client client = server.Connect({.timeout = std::chrono::seconds(60)});
  for (size_t i = 0; i < kItemsPerWriter; ++i) {
    const size_t item = i * kWriters + writer;
    if (!client.Put(KeyOf(item), ValueOf(item))) return 1;
  }
  return 0;
}

TEST(Items, HundredThousandFromFourProcessesReadBackWhole) {
  const Plovd server({"--memory", "2G"});
  std::vector<Child> writers;
  for (size_t writer = 0; writer < kWriters; ++writer) {
    writers.push_back(Child::Fork([&server, writer] { return WriteShare(server, writer); }));
  }
  for (Child& writer : writers) ASSERT_EQ(writer.Wait(300), 0);
  Client client = server.Connect({.timeout = std::chrono::seconds(60)});
  size_t right = 0;
  for (size_t item = 0; item < kWriters * kItemsPerWriter; ++item) {
    const auto hit = client.Get(KeyOf(item));
    right += hit && *hit && (*hit)->value == ValueOf(item);
  }
  EXPECT_EQ(right, kWriters * kItemsPerWriter);
}

}  // namespace
}  // namespace plov
