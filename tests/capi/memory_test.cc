// C API: memory that runs out.

#include "tests/capi/failing_new.h"
#include "tests/capi/fixture.h"

namespace plov::test {
namespace {

using CapiMemory = CapiTest;

void OnGet(void*, const plov_get_result*) { ADD_FAILURE() << "nothing was to be done"; }

TEST_F(CapiMemory, MemoryThatRunsOutIsAnErrorAndNotAnException) {
  plov_client* client = nullptr;
  plov_error error;
  FailAllocations(true);
  const plov_code connected = plov_connect(server_.uri().c_str(), nullptr, &client, &error);
  FailAllocations(false);
  EXPECT_EQ(connected, PLOV_SYSTEM);
  EXPECT_EQ(client, nullptr);
  EXPECT_STREQ(error.message, "memory ran out");

  const plov_view key = plov_text("k");
  FailAllocations(true);
  const plov_code got = plov_get_many(client_.get(), &key, 1, OnGet, nullptr);
  FailAllocations(false);
  EXPECT_EQ(got, PLOV_SYSTEM);
  EXPECT_EQ(LastMessage(client_.get()), "memory ran out");
  EXPECT_EQ(Value(client_.get(), "k"), "PLOV_NOT_FOUND");
}

}  // namespace
}  // namespace plov::test
