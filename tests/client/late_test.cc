// What a client does while READs are under way; the tests of growth run over this fabric as well.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/client/growing_server.h"
#include "tests/client/late_fabric.h"

namespace plov {
namespace {

using fabric::Late;
using std::chrono::milliseconds;
using test::GrowingServer;

// After every test, of growth as well: the view changed under no READ, and what was confirmed was
// true.
class NothingHasty : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo&) override {
    EXPECT_EQ(Late().overlaps, 0);
    EXPECT_EQ(Late().hasty_confirms, 0);
    Late().overlaps = 0;
    Late().hasty_confirms = 0;
  }
};

const bool g_listens = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new NothingHasty);
  return true;
}();

TEST(LateFabric, IsLate) {
  GrowingServer server;
  Client client = server.Connect();
  const uint64_t before = Late().late_reads;
  server.While([&] { EXPECT_TRUE(client.Get("key:1")); });
  EXPECT_GT(Late().late_reads, before);
  EXPECT_TRUE(g_listens);
}

TEST(LateFabric, TryGetWaitsForNoRead) {
  GrowingServer server;
  Client client = server.Connect();
  server.While([&] {
    EXPECT_FALSE(client.TryGet("key:1"));
    EXPECT_TRUE(client.Get("key:1"));
    EXPECT_FALSE(client.TryGet("key:1"));
  });
  EXPECT_EQ(client.stats().gets, 1u);
}

// A server that always has one more message keeps no call beyond its deadline.
TEST(LateFabric, RepliesWithoutEndAreNotListenedToForEver) {
  GrowingServer server;
  Client client = server.Connect({.timeout = milliseconds(200)});
  Late().reads_complete = false;
  Late().endless_replies = true;
  server.answers = false;
  server.While([&] {
    EXPECT_EQ(client.Get("key:1").error().code, Code::kTimeout);
    EXPECT_EQ(client.Put("key:1", "value").error().code, Code::kTimeout);
    EXPECT_EQ(client.Ping().error().code, Code::kTimeout);
    const std::array<std::string_view, 2> keys = {"key:1", "key:2"};
    client.GetMany(keys, [](size_t, const Client::GetResult& result) {
      EXPECT_EQ(result.error().code, Code::kTimeout);
    });
  });
  Late().endless_replies = false;
  Late().reads_complete = true;
}

// The READ of the superblock does not come: the GET ends in time, and so does the next, beside it.
TEST(LateFabric, ASuperblockThatDoesNotComeIsATimeout) {
  GrowingServer server;
  Client client = server.Connect({.timeout = milliseconds(500)});
  server.GrowAll();
  Late().superblocks_complete = false;
  server.While([&] {
    for (int i = 0; i < 3; ++i) {
      const auto hit = client.Get("key:1");
      ASSERT_FALSE(hit);
      EXPECT_EQ(hit.error().code, Code::kTimeout);
    }
    const auto summary = client.Scan([](std::string_view, const Item&) { return true; });
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, Code::kTimeout);
  });
  Late().superblocks_complete = true;
  server.While([&] {
    const auto hit = client.Get("key:1");
    ASSERT_TRUE(hit) << hit.error().message;
    EXPECT_TRUE(hit->has_value());
    EXPECT_TRUE(client.Scan([](std::string_view, const Item&) { return true; }));
  });
}

// Torn for some time each time: not so long that the server is asked.
TEST(LateFabric, ASuperblockThatIsTornForAWhileIsReadAgain) {
  GrowingServer server;
  Client client = server.Connect({.location_cache_bytes = 0});
  const auto get_all = [&] {
    Late().torn_superblocks = 60;
    server.While([&] {
      for (const auto& [key, value] : server.items()) EXPECT_TRUE(client.Get(key));
    });
    EXPECT_EQ(Late().torn_superblocks, 0);
  };
  server.Grow(GrowingServer::Step::kListNext);
  server.Grow(GrowingServer::Step::kMoveHalf);
  get_all();
  server.Grow(GrowingServer::Step::kMoveRest);
  server.Grow(GrowingServer::Step::kListNextOnly);
  server.RetireAll();
  get_all();
  EXPECT_EQ(client.stats().refreshes, 2);
  EXPECT_EQ(server.asked(), 0);
}

// Another superblock each time, and none of them better.
TEST(LateFabric, SuperblocksWithoutEndLeadToTheServer) {
  GrowingServer server;
  Client client = server.Connect();
  server.RetireAll();
  Late().endless_superblocks = true;
  server.While([&] {
    const auto hit = client.Get("key:1");
    ASSERT_TRUE(hit) << hit.error().message;
    EXPECT_TRUE(hit->has_value());
  });
  Late().endless_superblocks = false;
  EXPECT_EQ(server.asked(), 1);
  EXPECT_GT(client.stats().refreshes, 1);
  EXPECT_LT(client.stats().refreshes, 100);
}

// What a Scan left under way is no GET's.
TEST(LateFabric, AReadOfAScanThatTimedOutIsNobodys) {
  GrowingServer server;
  Client client = server.Connect({.timeout = milliseconds(100), .location_cache_bytes = 0});
  for (int round = 0; round < 3; ++round) {
    server.While([&] { ASSERT_TRUE(client.Get("key:1")); });
    Late().reads_complete = false;
    server.While([&] {
      EXPECT_EQ(client.Scan([](std::string_view, const Item&) { return true; }).error().code,
                Code::kTimeout);
    });
    Late().reads_complete = true;
    server.While([&] {
      for (const char* key : {"key:2", "key:3", "key:4"}) {
        const auto hit = client.Get(key);
        ASSERT_TRUE(hit) << hit.error().message;
        ASSERT_TRUE(hit->has_value());
        EXPECT_EQ((*hit)->value, server.items().at(key));
      }
    });
  }
  EXPECT_GE(client.stats().late_reads, 3u);
}

// The buffer is the caller's again as soon as GetInto has returned.
TEST(LateFabric, AReadThatComesAfterGetIntoHasEndedDoesNotTouchTheBuffer) {
  GrowingServer server;
  Client client = server.Connect({.timeout = milliseconds(100), .location_cache_bytes = 0});
  const std::string key = "key:1";  // in a record
  std::vector<std::byte> buffer(server.items().at(key).size());
  Late().reads_complete = false;
  server.While([&] { EXPECT_EQ(client.GetInto(key, buffer).error().code, Code::kTimeout); });
  std::ranges::fill(buffer, std::byte{0x55});
  Late().reads_complete = true;
  server.While([&] {
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(client.Get("key:2"));
  });
  EXPECT_EQ(std::ranges::count(buffer, std::byte{0x55}), static_cast<ptrdiff_t>(buffer.size()));
}

// A GET that ended by its deadline leaves a READ behind, whose bytes are of no other GET.
TEST(LateFabric, AReadThatComesAfterItsGetHasEndedIsNobodys) {
  GrowingServer server;
  Client client = server.Connect({.timeout = milliseconds(500), .location_cache_bytes = 0});
  const std::vector<std::string_view> keys = {"key:1"};
  for (int round = 0; round < 2; ++round) {
    Late().reads_complete = false;
    EXPECT_EQ(client.Get("key:1").error().code, Code::kTimeout);
    EXPECT_EQ(client.Get("key:1").error().code, Code::kTimeout);
    client.GetMany(
        keys, [](size_t, Client::GetResult hit) { EXPECT_EQ(hit.error().code, Code::kTimeout); });
    Late().reads_complete = true;
    for (const char* key : {"key:2", "key:3"}) {
      const auto hit = client.Get(key);
      ASSERT_TRUE(hit) << hit.error().message;
      ASSERT_TRUE(hit->has_value());
      EXPECT_EQ((*hit)->value, server.items().at(key));
    }
  }
  EXPECT_EQ(client.stats().torn_buckets, 0);
}

}  // namespace
}  // namespace plov
