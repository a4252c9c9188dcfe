// Scans of a table that grows: items may come twice, none is missed.

#include <gtest/gtest.h>

#include <set>

#include "tests/client/growing_server.h"

namespace plov {
namespace {

using test::GrowingServer;
using Step = GrowingServer::Step;

struct Seen {
  std::map<std::string, std::string> items;
  size_t calls = 0;
};

// Scans; `each` is called after every item.
std::expected<ScanSummary, Error> Scan(Client* client, Seen* seen,
                                       const std::function<void(size_t)>& each) {
  return client->Scan([=](std::string_view key, const Item& item) {
    seen->items[std::string(key)] = item.value;
    each(seen->calls++);
    return true;
  });
}

void ExpectScansAll(GrowingServer* server, Client* client,
                    const std::function<void(size_t)>& each) {
  server->While([&] {
    Seen seen;
    const auto summary = Scan(client, &seen, each);
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_TRUE(summary->settled);
    EXPECT_EQ(summary->unreadable, 0);
    EXPECT_EQ(summary->items, seen.calls);
    EXPECT_EQ(seen.items, server->items());
  });
}

TEST(GrowthScan, FindsAllAtEveryStep) {
  GrowingServer server;
  std::vector<Client> clients;
  for (size_t step = 0; step <= GrowingServer::kStepCount; ++step) {
    if (step > 0) server.Grow(GrowingServer::kSteps[step - 1]);
    clients.push_back(server.Connect());
    for (Client& client : clients) {
      SCOPED_TRACE(step);
      ExpectScansAll(&server, &client, [](size_t) {});
      EXPECT_EQ(server.last_confirmed(), server.version()) << "a scan notices a growth by itself";
    }
  }
}

TEST(GrowthScan, FindsAllWhenTheTableGrowsUnderIt) {
  for (size_t moment = 0; moment < GrowingServer::kItems; ++moment) {
    SCOPED_TRACE(moment);
    GrowingServer server;
    Client client = server.Connect();
    ExpectScansAll(&server, &client, [&](size_t call) {
      if (call == moment) server.GrowAll();
    });
    EXPECT_EQ(server.last_confirmed(), 3);
  }
}

TEST(GrowthScan, FindsAllAtEachPairOfASteps) {
  for (size_t first = 0; first <= GrowingServer::kStepCount; ++first) {
    for (size_t then = first; then <= GrowingServer::kStepCount; ++then) {
      GrowingServer server;
      Client client = server.Connect();
      for (size_t step = 0; step < first; ++step) server.Grow(GrowingServer::kSteps[step]);
      ExpectScansAll(&server, &client, [&](size_t call) {
        if (call != GrowingServer::kItems / 2) return;
        for (size_t step = first; step < then; ++step) server.Grow(GrowingServer::kSteps[step]);
      });
    }
  }
}

// A home is moved with every item that is reported, from either end of the scan.
TEST(GrowthScan, FindsAllWhileHomesMove) {
  GrowingServer server;
  Client client = server.Connect();
  server.Grow(Step::kListNext);
  ExpectScansAll(&server, &client, [&](size_t) { server.MoveOneHome(); });
}

// What has no displaced keys can be overwritten all the time: the other homes are seen to stay as they are.
TEST(GrowthScan, SettlesWhileItemsAreOverwritten) {
  GrowingServer server;
  Client client = server.Connect();
  server.While([&] {
    Seen seen;
    const auto summary = Scan(&client, &seen, [&](size_t) { server.RewriteHomes(false); });
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_TRUE(summary->settled);
    EXPECT_EQ(summary->passes, 2);
    EXPECT_EQ(seen.items, server.items());
  });
}

TEST(GrowthScan, IsNotSettledWhileHomesWithADirectoryAreOverwritten) {
  GrowingServer server;
  Client client = server.Connect();
  server.While([&] {
    Seen seen;
    const auto summary = Scan(&client, &seen, [&](size_t) { server.RewriteHomes(true); });
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_FALSE(summary->settled);
    EXPECT_EQ(summary->passes, 8);
    EXPECT_EQ(seen.items, server.items());
  });
}

TEST(GrowthScan, ASampleBeginsAnywhereAndFindsAll) {
  GrowingServer server;
  Client client = server.Connect();
  server.While([&] {
    std::set<std::string> firsts;
    for (int i = 0; i < 200; ++i) {
      std::string first;
      std::map<std::string, std::string> items;
      const auto summary = client.Sample([&](std::string_view key, const Item& item) {
        if (first.empty()) first = key;
        items[std::string(key)] = item.value;
        return true;
      });
      ASSERT_TRUE(summary) << summary.error().message;
      EXPECT_EQ(items, server.items());
      firsts.insert(first);
    }
    EXPECT_GT(firsts.size(), 10);
  });
}

TEST(GrowthScan, ASampleFindsAllAtEveryStep) {
  GrowingServer server;
  Client client = server.Connect();
  for (const Step step : GrowingServer::kSteps) {
    server.Grow(step);
    server.While([&] {
      std::map<std::string, std::string> items;
      const auto summary = client.Sample([&](std::string_view key, const Item& item) {
        items[std::string(key)] = item.value;
        return true;
      });
      ASSERT_TRUE(summary) << summary.error().message;
      EXPECT_EQ(items, server.items());
    });
  }
}

TEST(GrowthScan, GoesOnWhenTheServerClosesTheConnection) {
  for (const size_t moment : {size_t{0}, size_t{20}, size_t{51}}) {
    GrowingServer server;
    Client client = server.Connect();
    ExpectScansAll(&server, &client, [&](size_t call) {
      if (call != moment) return;
      server.GrowAll();
      server.AskToCloseAll();
      server.Reuse();
    });
    EXPECT_EQ(client.stats().reconnects, 1);
  }
}

TEST(GrowthScan, BeginsWithAConnectionThatWasClosed) {
  GrowingServer server;
  Client client = server.Connect();
  server.CloseAll();
  ExpectScansAll(&server, &client, [](size_t) {});
}

TEST(GrowthScan, IsNotKeptUpForEverByAServerThatHangsUp) {
  GrowingServer server;
  Client client = server.Connect();
  server.While([&] {
    Seen seen;
    const auto summary = Scan(&client, &seen, [&](size_t) { server.AskToCloseAll(); });
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, Code::kUnavailable);
  });
}

TEST(GrowthScan, EndsWhenTheServerGoes) {
  auto server = std::make_unique<GrowingServer>();
  Client client = server->Connect({.timeout = std::chrono::milliseconds(500)});
  server.reset();
  const auto summary = client.Scan([](std::string_view, const Item&) { return true; });
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().code, Code::kUnavailable);
}

// Retired for ever under the same superblock: the scan ends, with nothing from that table.
TEST(GrowthScan, ATableRetiredAgainstTheRulesEndsIt) {
  GrowingServer server;
  Client client = server.Connect();
  server.RetireAll();
  server.While([&] {
    Seen seen;
    const auto summary = Scan(&client, &seen, [](size_t) {});
    ASSERT_TRUE(summary);
    EXPECT_EQ(seen.calls, 0);
    EXPECT_FALSE(summary->settled);
  });
}

}  // namespace
}  // namespace plov
