// A process that forks: the child cannot use its parent's client, but connects for itself.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "tests/support/child.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"

namespace plov {
namespace {

using test::Child;
using test::Eventually;
using test::Plovd;
using test::SharedMemory;
using test::StatOf;

constexpr std::chrono::seconds kWaitMax{60};

TEST(Fork, AChildConnectsForItselfAndItsEndIsNoticed) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  ASSERT_TRUE(client.Put("of the parent", "p"));
  const SharedMemory<std::atomic<int>> stored;
  const Child child = Child::Fork([&] {
    Client own = server.Connect();
    const auto hit = own.Get("of the parent");
    if (!hit || !*hit || !own.Put("of the child", std::string(100'000, 'c'))) return 1;
    stored->store(1, std::memory_order_release);
    ::pause();
    return 2;
  });
  EXPECT_TRUE(Eventually([&] { return stored->load(std::memory_order_acquire) == 1; }, kWaitMax));
  const auto hit = client.Get("of the child");
  ASSERT_TRUE(hit && *hit);
  EXPECT_EQ((*hit)->value, std::string(100'000, 'c'));
  EXPECT_EQ(StatOf(&client, "clients"), 2);
  child.Signal(SIGKILL);
  EXPECT_TRUE(Eventually([&] { return StatOf(&client, "clients") == 1; }, kWaitMax));
  EXPECT_EQ(client.stats().reconnects, 0);
}

}  // namespace
}  // namespace plov
