// C API: memory that runs out.

#include <array>
#include <string>

#include "tests/capi/failing_new.h"
#include "tests/capi/fixture.h"

namespace plov::test {
namespace {

using CapiMemory = CapiTest;

void OnGet(void*, const plov_get_result*) { ADD_FAILURE() << "nothing was to be done"; }

TEST_F(CapiMemory, MemoryThatRunsOutIsAnErrorAndNotAnException) {
  plov_client* client = nullptr;
  plov_error error;
  FailAllocationsAfter(0);
  const plov_code connected = plov_connect(server_.uri().c_str(), nullptr, &client, &error);
  AllowAllocations();
  EXPECT_EQ(connected, PLOV_SYSTEM);
  EXPECT_EQ(client, nullptr);
  EXPECT_STREQ(error.message, "memory ran out");

  const plov_view key = plov_text("k");
  FailAllocationsAfter(0);
  const plov_code got = plov_get_many(client_.get(), &key, 1, OnGet, nullptr);
  AllowAllocations();
  EXPECT_EQ(got, PLOV_SYSTEM);
  EXPECT_EQ(LastMessage(client_.get()), "memory ran out");
  EXPECT_EQ(Value(client_.get(), "k"), "PLOV_NOT_FOUND");
}

// Callbacks that were called, of each kind of call.
struct Calls {
  size_t gets = 0, puts = 0, started = 0, items = 0;

  static void OnGet(void* calls, const plov_get_result*) { ++static_cast<Calls*>(calls)->gets; }
  static void OnPut(void* calls, const plov_write_result*) { ++static_cast<Calls*>(calls)->puts; }
  static void OnStartedGet(void* calls, const plov_get_result*) {
    ++static_cast<Calls*>(calls)->started;
  }
  static void OnStartedPut(void* calls, const plov_write_result*) {
    ++static_cast<Calls*>(calls)->started;
  }
  static void OnStartedIncrement(void* calls, const plov_increment_result*) {
    ++static_cast<Calls*>(calls)->started;
  }
  static bool OnItem(void* calls, plov_view, const plov_item*) {
    ++static_cast<Calls*>(calls)->items;
    return true;
  }
};

// Every allocation fails once, with all that come after it. Each callback runs once or the call
// says that none does; then the client goes on.
TEST_F(CapiMemory, WhicheverAllocationFailsTheClientGoesOn) {
  const std::string large(100'000, 'x');
  const plov_view value = plov_text(large.c_str());
  const std::array<plov_view, 3> keys = {plov_text("a"), plov_text("b"), plov_text("c")};
  std::array<plov_put_item, 3> items{};
  for (size_t i = 0; i < keys.size(); ++i) items[i] = {keys[i], value, {}};
  bool needs_more = true;
  for (uint64_t after = 0; needs_more; ++after) {
    ASSERT_LT(after, 2000u);
    const CClient client = ConnectInC(server_.uri());
    Calls calls;
    plov_item item;
    size_t started = 0, left = 0;
    FailAllocationsAfter(after);
    const plov_code put = plov_put(client.get(), keys[0], value, nullptr, nullptr);
    const plov_code got = plov_get(client.get(), keys[0], &item);
    const bool puts =
        plov_put_many(client.get(), items.data(), items.size(), Calls::OnPut, &calls) == PLOV_OK;
    const bool gets =
        plov_get_many(client.get(), keys.data(), keys.size(), Calls::OnGet, &calls) == PLOV_OK;
    for (const plov_view& key : keys) {
      started += plov_start_get(client.get(), key, Calls::OnStartedGet, &calls) == PLOV_OK;
      started += plov_start_put(client.get(), key, plov_text("small"), nullptr, Calls::OnStartedPut,
                                &calls) == PLOV_OK;
      // Refused, for it is text.
      started += plov_start_increment(client.get(), key, 1, nullptr, Calls::OnStartedIncrement,
                                      &calls) == PLOV_OK;
      started += plov_start_touch(client.get(), key, 0, 0, Calls::OnStartedPut, &calls) == PLOV_OK;
    }
    do {
      plov_poll(client.get(), &left);
    } while (left > 0);
    const plov_code scanned = plov_scan(client.get(), Calls::OnItem, &calls, nullptr);
    needs_more = FailedAllocations() > 0;
    AllowAllocations();
    EXPECT_TRUE(put == PLOV_OK || put == PLOV_SYSTEM || put == PLOV_UNKNOWN) << after;
    EXPECT_TRUE(got == PLOV_OK || got == PLOV_SYSTEM || got == PLOV_NOT_FOUND) << after;
    EXPECT_EQ(calls.puts, puts ? keys.size() : 0) << after;
    EXPECT_EQ(calls.gets, gets ? keys.size() : 0) << after;
    EXPECT_EQ(calls.started, started) << after;
    EXPECT_TRUE(scanned == PLOV_OK || needs_more) << after;
    ASSERT_EQ(plov_put(client.get(), keys[1], value, nullptr, nullptr), PLOV_OK)
        << after << ": " << LastMessage(client.get());
    EXPECT_EQ(Value(client.get(), "b"), large) << after;
  }
}

}  // namespace
}  // namespace plov::test
