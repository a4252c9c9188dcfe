// C API: several keys at once.

#include <string>
#include <vector>

#include "tests/capi/fixture.h"

namespace plov::test {
namespace {

using CapiTogether = CapiTest;

void OnGet(void* context, const plov_get_result* result) {
  auto* seen = static_cast<std::vector<std::string>*>(context);
  const plov_view value = result->item.value;
  seen->push_back(std::to_string(result->index) + " " + plov_code_name(result->code) + " " +
                  std::string(static_cast<const char*>(value.data), value.bytes));
}

TEST_F(CapiTogether, ACommitIsAppliedWholeOrNotAtAll) {
  plov_client* client = client_.get();
  uint64_t version = 0, first = 0;
  ASSERT_EQ(plov_put(client, plov_text("a"), plov_text("1"), nullptr, &version), PLOV_OK);
  const plov_commit_read reads[] = {{plov_text("a"), version}, {plov_text("b"), 0}};
  const plov_commit_write writes[] = {{plov_text("a"), {}, 0, 0, 1},
                                      {plov_text("b"), plov_text("2"), 1000, 7, 0}};
  ASSERT_EQ(plov_commit(client, reads, 2, writes, 2, &first), PLOV_OK);
  EXPECT_EQ(first, version + 1);
  EXPECT_EQ(plov_commit(client, reads, 2, writes, 2, nullptr), PLOV_VERSION_MISMATCH);
  plov_item item;
  ASSERT_EQ(plov_get(client, plov_text("b"), &item), PLOV_OK);
  EXPECT_EQ(item.version, first + 1);
  EXPECT_EQ(item.flags, 7u);
  EXPECT_NE(item.expiry, 0u);
  const plov_view keys[] = {plov_text("b"), plov_text("a")};
  std::vector<std::string> seen;
  ASSERT_EQ(plov_snapshot(client, keys, 2, OnGet, &seen), PLOV_OK);
  EXPECT_EQ(seen, (std::vector<std::string>{"0 PLOV_OK 2", "1 PLOV_NOT_FOUND "}));
}

TEST_F(CapiTogether, AStartedCommitTellsItsVersion) {
  const plov_commit_write write = {plov_text("k"), plov_text("v"), 0, 0, 0};
  uint64_t version = 0;
  const auto done = [](void* context, const plov_write_result* result) {
    EXPECT_EQ(result->code, PLOV_OK);
    *static_cast<uint64_t*>(context) = result->version;
  };
  ASSERT_EQ(plov_start_commit(client_.get(), nullptr, 0, &write, 1, done, &version), PLOV_OK);
  size_t left = 1;
  while (left > 0) ASSERT_EQ(plov_poll(client_.get(), &left), PLOV_OK);
  plov_item item;
  ASSERT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_OK);
  EXPECT_EQ(item.version, version);
}

TEST_F(CapiTogether, WhatIsNullIsRefused) {
  plov_client* client = client_.get();
  const plov_view bad = {nullptr, 3};
  const plov_commit_read read = {bad, 0};
  const plov_commit_write write = {plov_text("k"), bad, 0, 0, 0};
  const auto unused = [](void*, const plov_write_result*) { ADD_FAILURE(); };
  EXPECT_EQ(plov_commit(nullptr, nullptr, 0, nullptr, 0, nullptr), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_commit(client, nullptr, 0, nullptr, 0, nullptr), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_commit(client, nullptr, 1, nullptr, 0, nullptr), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_commit(client, &read, 1, nullptr, 0, nullptr), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_commit(client, nullptr, 0, &write, 1, nullptr), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_start_commit(client, nullptr, 0, &write, 1, unused, nullptr),
            PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_start_commit(client, nullptr, 1, nullptr, 0, unused, nullptr),
            PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_snapshot(client, nullptr, 1, OnGet, nullptr), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_snapshot(client, &bad, 1, OnGet, nullptr), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_snapshot(client, nullptr, 0, nullptr, nullptr), PLOV_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace plov::test
