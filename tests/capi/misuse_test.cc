// C API: null arguments, impossible options, and calls from within callbacks.

#include <climits>
#include <string>
#include <vector>

#include "tests/capi/fixture.h"

namespace plov::test {
namespace {

using CapiMisuse = CapiTest;

const plov_view kNullKey = {nullptr, 3};

void OnGet(void*, const plov_get_result*) { ADD_FAILURE() << "nothing was to be done"; }
void OnWrite(void*, const plov_write_result*) { ADD_FAILURE() << "nothing was to be done"; }
void OnIncrement(void*, const plov_increment_result*) { ADD_FAILURE() << "nothing was to be done"; }
void OnFlush(void*, const plov_flush_result*) { ADD_FAILURE() << "nothing was to be done"; }
void OnText(void*, uint32_t, const char*) { ADD_FAILURE() << "nothing was to be done"; }
bool OnItem(void*, plov_view, const plov_item*) {
  ADD_FAILURE() << "nothing was to be done";
  return false;
}

TEST(CapiNullClient, IsRefusedByEveryCall) {
  plov_item item;
  uint64_t age_us = 0;
  plov_client_stats stats;
  const plov_view key = plov_text("k");
  const plov_put_item put = {key, key, {}};
  for (const plov_code code : {
           plov_get(nullptr, key, &item),
           plov_get_into(nullptr, key, nullptr, 0, &item),
           plov_age(nullptr, key, &age_us),
           plov_time(nullptr, key, &age_us, &age_us),
           plov_get_many(nullptr, &key, 1, OnGet, nullptr),
           plov_put(nullptr, key, key, nullptr, nullptr),
           plov_put_many(nullptr, &put, 1, OnWrite, nullptr),
           plov_compare_and_put(nullptr, key, key, key, nullptr, nullptr),
           plov_increment(nullptr, key, 1, nullptr, nullptr, nullptr),
           plov_touch(nullptr, key, 0, 0, nullptr),
           plov_get_and_touch(nullptr, key, 0, &item),
           plov_delete(nullptr, key, 0),
           plov_flush(nullptr, 0, nullptr),
           plov_start_get(nullptr, key, OnGet, nullptr),
           plov_start_put(nullptr, key, key, nullptr, OnWrite, nullptr),
           plov_start_compare_and_put(nullptr, key, key, key, nullptr, OnWrite, nullptr),
           plov_start_increment(nullptr, key, 1, nullptr, OnIncrement, nullptr),
           plov_start_touch(nullptr, key, 0, 0, OnWrite, nullptr),
           plov_start_delete(nullptr, key, 0, OnWrite, nullptr),
           plov_start_flush(nullptr, 0, OnFlush, nullptr),
           plov_poll(nullptr, nullptr),
           plov_scan(nullptr, OnItem, nullptr, nullptr),
           plov_ping(nullptr, nullptr),
           plov_sync(nullptr),
           plov_server_stats(nullptr, OnText, nullptr),
           plov_stats(nullptr, &stats, sizeof(stats)),
           plov_last_error(nullptr)->code,
       }) {
    EXPECT_EQ(code, PLOV_INVALID_ARGUMENT);
  }
  EXPECT_EQ(LastMessage(nullptr), "the plov_client is NULL");
  EXPECT_EQ(plov_fd(nullptr), -1);
  EXPECT_EQ(plov_next_poll_us(nullptr), -1);
  EXPECT_EQ(plov_shard_count(nullptr), 0U);
  EXPECT_EQ(plov_close(nullptr), PLOV_OK);
}

TEST_F(CapiMisuse, NullArgumentsAreRefused) {
  plov_client* client = client_.get();
  plov_item item;
  uint64_t age_us = 0;
  const plov_view key = plov_text("k");
  const plov_put_item null_key = {kNullKey, key, {}};
  const plov_put_item null_value = {key, kNullKey, {}};
  for (const plov_code code : {
           plov_get(client, key, nullptr),
           plov_get(client, kNullKey, &item),
           plov_get_into(client, key, &item, sizeof(item), nullptr),
           plov_get_into(client, key, nullptr, 1, &item),
           plov_get_into(client, kNullKey, &item, sizeof(item), &item),
           plov_age(client, key, nullptr),
           plov_age(client, kNullKey, &age_us),
           plov_time(client, key, nullptr, &age_us),
           plov_time(client, key, &age_us, nullptr),
           plov_time(client, kNullKey, &age_us, &age_us),
           plov_get_many(client, nullptr, 1, OnGet, nullptr),
           plov_get_many(client, &key, 1, nullptr, nullptr),
           plov_get_many(client, &kNullKey, 1, OnGet, nullptr),
           plov_put(client, kNullKey, key, nullptr, nullptr),
           plov_put(client, key, kNullKey, nullptr, nullptr),
           plov_put_many(client, nullptr, 1, OnWrite, nullptr),
           plov_put_many(client, &null_key, 1, OnWrite, nullptr),
           plov_put_many(client, &null_value, 1, OnWrite, nullptr),
           plov_put_many(client, &null_value, 1, nullptr, nullptr),
           plov_compare_and_put(client, kNullKey, key, key, nullptr, nullptr),
           plov_compare_and_put(client, key, kNullKey, key, nullptr, nullptr),
           plov_compare_and_put(client, key, key, kNullKey, nullptr, nullptr),
           plov_increment(client, kNullKey, 1, nullptr, nullptr, nullptr),
           plov_touch(client, kNullKey, 0, 0, nullptr),
           plov_get_and_touch(client, key, 0, nullptr),
           plov_get_and_touch(client, kNullKey, 0, &item),
           plov_delete(client, kNullKey, 0),
           plov_start_get(client, key, nullptr, nullptr),
           plov_start_get(client, kNullKey, OnGet, nullptr),
           plov_start_put(client, key, key, nullptr, nullptr, nullptr),
           plov_start_put(client, kNullKey, key, nullptr, OnWrite, nullptr),
           plov_start_put(client, key, kNullKey, nullptr, OnWrite, nullptr),
           plov_start_compare_and_put(client, key, key, key, nullptr, nullptr, nullptr),
           plov_start_compare_and_put(client, kNullKey, key, key, nullptr, OnWrite, nullptr),
           plov_start_compare_and_put(client, key, kNullKey, key, nullptr, OnWrite, nullptr),
           plov_start_compare_and_put(client, key, key, kNullKey, nullptr, OnWrite, nullptr),
           plov_start_increment(client, key, 1, nullptr, nullptr, nullptr),
           plov_start_increment(client, kNullKey, 1, nullptr, OnIncrement, nullptr),
           plov_start_touch(client, key, 0, 0, nullptr, nullptr),
           plov_start_touch(client, kNullKey, 0, 0, OnWrite, nullptr),
           plov_start_delete(client, key, 0, nullptr, nullptr),
           plov_start_flush(client, 0, nullptr, nullptr),
           plov_start_delete(client, kNullKey, 0, OnWrite, nullptr),
           plov_scan(client, nullptr, nullptr, nullptr),
           plov_server_stats(client, nullptr, nullptr),
       }) {
    EXPECT_EQ(code, PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(LastMessage(client), "an argument that must not be NULL is NULL");
  }
  EXPECT_EQ(plov_stats(client, nullptr, 0), PLOV_INVALID_ARGUMENT);
}

TEST_F(CapiMisuse, ConnectNeedsUriAndClient) {
  plov_client* client = client_.get();  // any value: it is to be overwritten
  plov_error error;
  EXPECT_EQ(plov_connect(nullptr, nullptr, &client, &error), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(client, nullptr);
  EXPECT_STRNE(error.message, "");
  EXPECT_EQ(plov_connect(server_.uri().c_str(), nullptr, nullptr, &error), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_connect(nullptr, nullptr, nullptr, nullptr), PLOV_INVALID_ARGUMENT);
}

TEST_F(CapiMisuse, ImpossibleOptionsAreRefused) {
  const plov_options good = plov_default_options();
  std::vector<plov_options> bad(9, good);
  bad[0] = {};  // a forgotten plov_default_options()
  bad[1].timeout_us = 0;
  bad[2].timeout_us = UINT64_MAX;
  bad[3].window = 0;
  bad[4].window = 65;
  bad[5].spin_us = UINT64_MAX;
  bad[6].read_from = PLOV_READ_ANY_REPLICA + 1;
  bad[7].max_age_us = 0;
  bad[8].max_age_us = PLOV_TIMEOUT_US_MAX + 1;
  for (const plov_options& options : bad) {
    plov_client* client = nullptr;
    plov_error error;
    EXPECT_EQ(plov_connect(server_.uri().c_str(), &options, &client, &error),
              PLOV_INVALID_ARGUMENT);
    EXPECT_STRNE(error.message, "");
  }
}

TEST_F(CapiMisuse, ExtremeOptionsWork) {
  plov_options options = plov_default_options();
  options.timeout_us = PLOV_TIMEOUT_US_MAX;
  options.location_cache_bytes = 0;
  options.spin_us = 0;
  options.window = 64;
  options.read_from = PLOV_READ_ANY_REPLICA;
  options.max_age_us = PLOV_TIMEOUT_US_MAX;
  plov_client* client = nullptr;
  ASSERT_EQ(plov_connect(server_.uri().c_str(), &options, &client, nullptr), PLOV_OK);
  EXPECT_EQ(plov_put(client, plov_text("k"), plov_text("v"), nullptr, nullptr), PLOV_OK);
  EXPECT_EQ(Value(client, "k"), "v");
  EXPECT_EQ(plov_close(client), PLOV_OK);
}

// A program that was built with a header of fewer or of more options.
TEST_F(CapiMisuse, OptionsOfOtherSizesAreTheirPrograms) {
  struct {
    plov_options options;
    uint64_t of_a_later_header = 77;
  } later;
  plov_fill_options(&later.options, sizeof(later));
  EXPECT_EQ(later.options.struct_bytes, sizeof(later));
  EXPECT_EQ(later.of_a_later_header, 0u);
  plov_options earlier = plov_default_options();
  earlier.struct_bytes = offsetof(plov_options, window);
  earlier.window = 1000;  // is not in it
  plov_options none = plov_default_options();
  none.struct_bytes = 0;
  const auto connects = [this](const plov_options* options) {
    plov_client* client = nullptr;
    const plov_code code = plov_connect(server_.uri().c_str(), options, &client, nullptr);
    EXPECT_EQ(plov_close(client), PLOV_OK);
    return code;
  };
  EXPECT_EQ(connects(&later.options), PLOV_OK);
  EXPECT_EQ(connects(&earlier), PLOV_OK);
  EXPECT_EQ(connects(&none), PLOV_INVALID_ARGUMENT);
}

TEST_F(CapiMisuse, UnknownPutModesAreRefused) {
  const plov_view key = plov_text("k");
  const plov_put_options options = {PLOV_PREPEND_OR_ADD + 1, 0, 0, 0};
  const plov_put_item item = {key, key, options};
  for (const plov_code code : {
           plov_put(client_.get(), key, key, &options, nullptr),
           plov_put_many(client_.get(), &item, 1, OnWrite, nullptr),
           plov_start_put(client_.get(), key, key, &options, OnWrite, nullptr),
           plov_compare_and_put(client_.get(), key, key, key, &options, nullptr),
           plov_start_compare_and_put(client_.get(), key, key, key, &options, OnWrite, nullptr),
       }) {
    EXPECT_EQ(code, PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(LastMessage(client_.get()), "no such plov_put_mode");
  }
}

TEST_F(CapiMisuse, OnlySetCompares) {
  const plov_view key = plov_text("k");
  for (uint32_t mode = PLOV_ADD; mode <= PLOV_PREPEND_OR_ADD; ++mode) {
    const plov_put_options options = {mode, 0, 0, 0};
    for (const plov_code code : {
             plov_compare_and_put(client_.get(), key, key, key, &options, nullptr),
             plov_start_compare_and_put(client_.get(), key, key, key, &options, OnWrite, nullptr),
         }) {
      EXPECT_EQ(code, PLOV_INVALID_ARGUMENT);
      EXPECT_NE(LastMessage(client_.get()).find("PLOV_SET"), std::string::npos);
    }
  }
}

TEST_F(CapiMisuse, ImpossibleIncrementOptionsAreRefused) {
  std::vector<plov_increment_options> bad(2, plov_default_increment_options());
  bad[0] = {};  // a forgotten plov_default_increment_options()
  bad[1].mode = PLOV_UNSIGNED_SUBTRACT + 1;
  const char* whys[] = {"plov_default_increment_options()", "no such plov_number_mode"};
  for (size_t i = 0; i < bad.size(); ++i) {
    for (const plov_code code : {
             plov_increment(client_.get(), plov_text("k"), 1, &bad[i], nullptr, nullptr),
             plov_start_increment(client_.get(), plov_text("k"), 1, &bad[i], OnIncrement, nullptr),
         }) {
      EXPECT_EQ(code, PLOV_INVALID_ARGUMENT);
      EXPECT_NE(LastMessage(client_.get()).find(whys[i]), std::string::npos) << i;
    }
  }
}

TEST_F(CapiMisuse, IncrementOptionsOfOtherSizesAreTheirPrograms) {
  struct {
    plov_increment_options options;
    uint64_t of_a_later_header = 77;
  } later;
  plov_fill_increment_options(&later.options, sizeof(later));
  EXPECT_EQ(later.options.struct_bytes, sizeof(later));
  EXPECT_EQ(later.of_a_later_header, 0u);
  later.options.has_initial = 1;
  plov_increment_options earlier = plov_default_increment_options();
  earlier.struct_bytes = offsetof(plov_increment_options, min);
  earlier.min = 1000;  // is not in it
  int64_t number = 0;
  const plov_view key = plov_text("k");
  EXPECT_EQ(plov_increment(client_.get(), key, 1, &later.options, &number, nullptr), PLOV_OK);
  EXPECT_EQ(plov_increment(client_.get(), key, 1, &earlier, &number, nullptr), PLOV_OK);
  EXPECT_EQ(number, 2);
}

// Every call that needs the server, from within a callback.
void ExpectAllRefused(plov_client* client) {
  plov_item item;
  plov_reduced reduced;
  plov_filtered filtered;
  uint64_t age_us = 0;
  const plov_view key = plov_text("k");
  const plov_vector operand = plov_elements(PLOV_INT8, "1", 1);
  const plov_put_item put = {key, key, {}};
  for (const plov_code code : {
           plov_get(client, key, &item),
           plov_get_into(client, key, nullptr, 0, &item),
           plov_age(client, key, &age_us),
           plov_time(client, key, &age_us, &age_us),
           plov_get_many(client, &key, 1, OnGet, nullptr),
           plov_put(client, key, key, nullptr, nullptr),
           plov_put_many(client, &put, 1, OnWrite, nullptr),
           plov_compare_and_put(client, key, key, key, nullptr, nullptr),
           plov_increment(client, key, 1, nullptr, nullptr, nullptr),
           plov_touch(client, key, 0, 0, nullptr),
           plov_get_and_touch(client, key, 0, &item),
           plov_delete(client, key, 0),
           plov_flush(client, 0, nullptr),
           plov_update_vector(client, key, PLOV_VECTOR_ADD, operand, nullptr, 0, nullptr),
           plov_reduce_vector(client, key, PLOV_VECTOR_ADD, nullptr, &reduced),
           plov_filter_vector(client, key, PLOV_LESS, operand, nullptr, &filtered),
           plov_poll(client, nullptr),
           plov_scan(client, OnItem, nullptr, nullptr),
           plov_ping(client, nullptr),
           plov_server_stats(client, OnText, nullptr),
           plov_sync(client),
           plov_close(client),
       }) {
    EXPECT_EQ(code, PLOV_INVALID_ARGUMENT);
    EXPECT_NE(LastMessage(client).find("callback"), std::string::npos);
  }
  plov_client_stats stats;
  EXPECT_EQ(plov_stats(client, &stats, sizeof(stats)), PLOV_OK);
  EXPECT_EQ(plov_shard_count(client), 1U);
}

struct Inside {
  plov_client* client;
  int calls = 0;

  static Inside* Enter(void* context) {
    auto* inside = static_cast<Inside*>(context);
    ++inside->calls;
    ExpectAllRefused(inside->client);
    return inside;
  }
};

TEST_F(CapiMisuse, BlockingCallsInCallbacksAreRefusedAndHarmless) {
  plov_client* client = client_.get();
  const plov_view key = plov_text("k");
  const plov_put_item put = {key, plov_text("v"), {}};
  const auto on_get = [](void* context, const plov_get_result*) { Inside::Enter(context); };
  const auto on_write = [](void* context, const plov_write_result*) { Inside::Enter(context); };
  const auto on_text = [](void* context, uint32_t, const char*) { Inside::Enter(context); };
  const auto on_item = [](void* context, plov_view, const plov_item*) {
    return Inside::Enter(context)->calls > 0;
  };
  Inside inside{.client = client};
  EXPECT_EQ(plov_put_many(client, &put, 1, on_write, &inside), PLOV_OK);
  EXPECT_EQ(plov_get_many(client, &key, 1, on_get, &inside), PLOV_OK);
  EXPECT_EQ(plov_scan(client, on_item, &inside, nullptr), PLOV_OK);
  EXPECT_EQ(plov_server_stats(client, on_text, &inside), PLOV_OK);
  EXPECT_EQ(plov_start_get(client, key, on_get, &inside), PLOV_OK);
  for (size_t left = 1; left > 0;) ASSERT_EQ(plov_poll(client, &left), PLOV_OK);
  EXPECT_EQ(inside.calls, 5);
  EXPECT_EQ(Value(client, "k"), "v");
}

}  // namespace
}  // namespace plov::test
