// Callbacks that throw, calls against the thread rule, and options that cannot be.

#include <gtest/gtest.h>
#include <plov/client.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;
using test::Plovd;

struct Callbacks : testing::Test {
  Callbacks() {
    for (int i = 0; i < 100; ++i) names.push_back("k" + std::to_string(i));
    keys.assign(names.begin(), names.end());
    for (const std::string& name : names) items.push_back({name, name});
    client.PutMany(items, [](size_t, Client::PutResult result) { EXPECT_TRUE(result); });
  }

  // Everything works as if nothing had been thrown.
  void ExpectUsable() {
    size_t right = 0;
    client.GetMany(keys, [&](size_t i, Client::GetResult hit) {
      right += hit && *hit && (*hit)->value == names[i];
    });
    EXPECT_EQ(right, keys.size());
    EXPECT_TRUE(client.Put("new", "value"));
    EXPECT_TRUE(client.Get("new")->has_value());
  }

  const Plovd server{{"--memory", "64M"}};
  Client client = server.Connect();
  std::vector<std::string> names;
  std::vector<std::string_view> keys;
  std::vector<PutItem> items;
};

TEST_F(Callbacks, GetManyTakesStringsToo) {
  std::vector<std::string> values(names.size());
  client.GetMany(names, [&](size_t i, Client::GetResult hit) { values[i] = (*hit)->value; });
  EXPECT_EQ(values, names);
}

TEST_F(Callbacks, AnExceptionEndsGetMany) {
  size_t calls = 0;
  const auto done = [&calls](size_t, Client::GetResult) {
    if (++calls == 10) throw std::runtime_error("ten");
  };
  EXPECT_THROW(client.GetMany(keys, done), std::runtime_error);
  EXPECT_EQ(calls, 10u);
  ExpectUsable();
}

TEST_F(Callbacks, AnExceptionEndsPutMany) {
  size_t calls = 0;
  const auto done = [&calls](size_t, Client::PutResult) {
    if (++calls == 10) throw std::runtime_error("ten");
  };
  EXPECT_THROW(client.PutMany(items, done), std::runtime_error);
  EXPECT_GE(calls, 10u);
  ExpectUsable();
}

TEST_F(Callbacks, AnExceptionEndsAScan) {
  size_t calls = 0;
  const auto each = [&calls](std::string_view, const Item&) -> bool {
    ++calls;
    throw std::runtime_error("one");
  };
  EXPECT_THROW((void)client.Scan(each), std::runtime_error);
  EXPECT_EQ(calls, 1u);
  ExpectUsable();
}

TEST_F(Callbacks, AnExceptionLeavesPollAndTheOthersGoOn) {
  size_t ended = 0;
  for (size_t i = 0; i < 20; ++i) {
    client.StartGet(names[i], [&ended, i](Client::GetResult) {
      ++ended;
      if (i % 5 == 0) throw std::runtime_error("five");
    });
    client.StartPut(names[50 + i], names[50 + i], {}, [&ended](Client::PutResult) { ++ended; });
  }
  size_t thrown = 0;
  for (bool left = true; left;) {
    try {
      left = client.Poll() > 0;
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  EXPECT_EQ(ended, 40u);
  EXPECT_GE(thrown, 1u);
  ExpectUsable();
}

TEST_F(Callbacks, AnExceptionWhileTheClientIsClosedIsDropped) {
  size_t ended = 0;
  {
    Client mortal = server.Connect();
    mortal.StartGet("k1", [&ended](Client::GetResult) {
      ++ended;
      throw std::runtime_error("late");
    });
  }
  EXPECT_EQ(ended, 1u);
}

// The other thread's call is refused, whichever it is, and this one's goes on.
TEST_F(Callbacks, ACallOfAnotherThreadIsRefused) {
  size_t refused = 0, right = 0;
  client.GetMany(keys, [&](size_t i, Client::GetResult hit) {
    right += hit && *hit && (*hit)->value == names[i];
    if (i != 0) return;
    std::thread other([&] {
      const auto is_refusal = [](const auto& result) {
        return !result && result.error().code == Code::kInvalidArgument;
      };
      refused += is_refusal(client.Get("k1"));
      refused += is_refusal(client.Put("k1", "v"));
      refused += is_refusal(client.Delete("k1"));
      refused += is_refusal(client.Ping());
      refused += is_refusal(client.Sync());
      refused += is_refusal(client.Snapshot());
      client.StartGet("k1", [&](Client::GetResult result) { refused += is_refusal(result); });
      client.GetMany(std::span(keys).first(2),
                     [&](size_t, Client::GetResult result) { refused += is_refusal(result); });
    });
    other.join();
  });
  EXPECT_EQ(refused, 9u);
  EXPECT_EQ(right, keys.size());
  ExpectUsable();
}

TEST_F(Callbacks, AClientThatWasMovedFromRefusesEverything) {
  Client other = std::move(client);
  EXPECT_TRUE(other.Get("k1")->has_value());
  // NOLINTBEGIN(bugprone-use-after-move)
  EXPECT_EQ(client.Get("k1").error().code, Code::kInvalidArgument);
  EXPECT_EQ(client.Put("k1", "v").error().code, Code::kInvalidArgument);
  EXPECT_EQ(client.Scan([](auto...) { return true; }).error().code, Code::kInvalidArgument);
  EXPECT_EQ(client.Sync().error().code, Code::kInvalidArgument);
  size_t refused = 0;
  client.StartPut("k1", "v", {}, [&](Client::PutResult result) {
    refused += result.error().code == Code::kInvalidArgument;
  });
  client.StartDelete("k1", 0, [&](Client::DeleteResult result) {
    refused += result.error().code == Code::kInvalidArgument;
  });
  client.PutMany(items, [&](size_t, Client::PutResult result) { refused += !result; });
  EXPECT_EQ(refused, 2 + items.size());
  EXPECT_EQ(client.Poll(), 0u);
  EXPECT_EQ(client.fd(), -1);
  EXPECT_EQ(client.next_poll().count(), 0);
  EXPECT_EQ(client.stats().gets, 0u);
  EXPECT_EQ(client.shard_count(), 0u);
  // NOLINTEND(bugprone-use-after-move)
  client = std::move(other);
  ExpectUsable();
}

TEST_F(Callbacks, OptionsThatCannotBeAreRefused) {
  for (const ClientOptions& options :
       {ClientOptions{.timeout = microseconds(0)}, ClientOptions{.timeout = seconds(-1)},
        ClientOptions{.timeout = std::chrono::hours(24 * 366)}, ClientOptions{.window = 0},
        ClientOptions{.window = 65}, ClientOptions{.spin = microseconds(-1)}}) {
    const auto refused = Client::Connect(server.uri(), options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  }
}

TEST_F(Callbacks, ANegativeTimeToLiveIsRefused) {
  const PutOptions never{.ttl = seconds(-1)};
  EXPECT_EQ(client.Put("k1", "v", never).error().code, Code::kInvalidArgument);
  size_t refused = 0;
  client.StartPut("k1", "v", never, [&](Client::PutResult result) {
    refused += !result && result.error().code == Code::kInvalidArgument;
  });
  while (client.Poll() > 0) {
  }
  EXPECT_EQ(refused, 1u);
  EXPECT_TRUE(client.Put("k1", "v", {.ttl = seconds::max()}));
  EXPECT_EQ((*client.Get("k1"))->expiry, UINT32_MAX);
}

}  // namespace
}  // namespace plov
