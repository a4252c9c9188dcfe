// What a client does while READs are under way; the tests of growth run over this fabric as well.

#include <gtest/gtest.h>

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

// The READ of the superblock does not come: the GET ends in time, and so does the next, beside it.
TEST(LateFabric, ASuperblockThatDoesNotComeIsATimeout) {
  GrowingServer server;
  Client client = server.Connect({.timeout = milliseconds(30)});
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

}  // namespace
}  // namespace plov
