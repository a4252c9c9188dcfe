// A GET allocates nothing once its client is warm.

#include <gtest/gtest.h>
#include <plov/client.h>

#include "tests/client/counting_new.h"
#include "tests/support/plovd.h"

namespace plov {
namespace {

TEST(Allocation, GetAllocatesNothing) {
  const test::Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  const std::string large(3000, 'x');
  ASSERT_TRUE(client.Put("small", "value"));
  ASSERT_TRUE(client.Put("large", large));
  const std::vector<std::string_view> keys = {"small", "large", "absent", "large"};
  std::vector<std::byte> buffer(4096);
  size_t hits = 0;
  const auto work = [&] {
    hits += client.Get("small")->has_value();
    hits += client.Get("large")->has_value();
    hits += client.Get("absent")->has_value();
    hits += client.GetInto("large", buffer)->has_value();
    client.GetMany(keys,
                   [&hits](size_t, Client::GetResult result) { hits += result->has_value(); });
  };
  for (int i = 0; i < 10; ++i) work();
  const uint64_t before = AllocationCount();
  for (int i = 0; i < 1000; ++i) work();
  EXPECT_EQ(AllocationCount(), before);
  EXPECT_EQ(hits, 1010 * 6);
}

}  // namespace
}  // namespace plov
