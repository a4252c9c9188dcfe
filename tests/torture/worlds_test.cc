// What a run checks without a history: standing items, items that expire, shifted clocks.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/support/plovd.h"
#include "torture/clock_shift.h"
#include "torture/expiries.h"
#include "torture/standing.h"

namespace plov::torture {
namespace {

TEST(Standing, IsFoundUntilOneOfItIsGone) {
  const test::Plovd plovd({"--memory", "16M"});
  auto client = Client::Connect(plovd.uri());
  ASSERT_TRUE(client);
  const Standing standing(/*run=*/1);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(standing.Load(&*client));
  EXPECT_EQ(standing.Get(&*client), std::nullopt);
  std::string key;
  ASSERT_TRUE(client->Scan([&key](std::string_view any, const Item&) {
    key = any;
    return false;
  }));
  ASSERT_TRUE(client->Put(key, "another's"));
  EXPECT_NE(standing.Get(&*client), std::nullopt);
  ASSERT_TRUE(client->Delete(key));
  EXPECT_NE(standing.Get(&*client).value_or("").find("was absent"), std::string::npos);
}

TEST(Expiries, EndWhenTheyShould) {
  const test::Plovd plovd({"--memory", "16M"});
  auto client = Client::Connect(plovd.uri());
  ASSERT_TRUE(client);
  Expiries expiries(Plan(), /*process=*/1);
  const Instant end = Now() + 3'000'000'000;
  while (Now() < end) {
    EXPECT_EQ(expiries.Step(&*client, 0), std::nullopt);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(expiries.judged(), 0U);
}

// A store that takes its own clock for the server's, or forgets an item, is noticed.
TEST(Expiries, AnItemThatIsGoneTooEarlyIsWrong) {
  const test::Plovd plovd({"--memory", "16M"});
  auto client = Client::Connect(plovd.uri());
  ASSERT_TRUE(client);
  Expiries expiries(Plan(), /*process=*/1);
  bool is_noticed = false;
  for (int i = 0; i < 1'000 && !is_noticed; ++i) {
    is_noticed = expiries.Step(&*client, 0).has_value();
    std::vector<std::string> keys;
    ASSERT_TRUE(client->Scan([&keys](std::string_view key, const Item&) {
      keys.emplace_back(key);
      return true;
    }));
    for (const std::string& key : keys) ASSERT_TRUE(client->Delete(key));
  }
  EXPECT_TRUE(is_noticed);
}

TEST(ClockShift, NowGoesOnInAShiftedProcess) {
  if (!CanShiftClock()) GTEST_SKIP() << "no time namespaces here";
  for (size_t client = 0; client < 3; ++client) {
    const Instant before = Now();
    const pid_t pid = ::fork();
    if (pid == 0) {
      const bool shifted = ShiftClock(ShiftOfClient(client)).has_value();
      const Instant now = Now();
      ::_exit(shifted && now >= before && now < before + 100'000'000'000 ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0) << "client " << client;
  }
}

}  // namespace
}  // namespace plov::torture
