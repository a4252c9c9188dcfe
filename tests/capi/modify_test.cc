// C API: writes that make their value of the one that is there.

#include <cstdint>
#include <ctime>
#include <optional>
#include <vector>

#include "tests/capi/fixture.h"

namespace plov::test {
namespace {

using CapiModify = CapiTest;

constexpr size_t kModifiedBytesMax = size_t{16} << 10;
constexpr uint64_t kUnsignedMax = UINT64_MAX;

plov_view ViewOf(const std::string& text) { return plov_bytes(text.data(), text.size()); }

uint64_t Put(plov_client* client, const char* key, const std::string& value,
             const plov_put_options& options = {}) {
  uint64_t version = 0;
  EXPECT_EQ(plov_put(client, plov_text(key), ViewOf(value), &options, &version), PLOV_OK);
  return version;
}

plov_item ItemOf(plov_client* client, const char* key) {
  plov_item item;
  EXPECT_EQ(plov_get(client, plov_text(key), &item), PLOV_OK);
  return item;
}

plov_increment_options OptionsOf(plov_number_mode mode, std::optional<int64_t> initial = {}) {
  plov_increment_options options = plov_default_increment_options();
  options.mode = mode;
  options.has_initial = initial.has_value();
  options.initial = initial.value_or(0);
  return options;
}

// The new number, or the name of the code.
std::string Incremented(plov_client* client, const char* key, int64_t delta,
                        const plov_increment_options* options = nullptr) {
  int64_t number = -77;
  const plov_code code = plov_increment(client, plov_text(key), delta, options, &number, nullptr);
  if (code != PLOV_OK) return plov_code_name(code);
  if (options == nullptr || options->mode == PLOV_SIGNED) return std::to_string(number);
  return std::to_string(static_cast<uint64_t>(number));
}

bool IsAbout(uint64_t expiry, uint64_t seconds_from_now) {
  const uint64_t then = static_cast<uint64_t>(std::time(nullptr)) + seconds_from_now;
  return expiry + 60 > then && expiry < then + 60;
}

TEST_F(CapiModify, AppendAndPrependAddToTheValueThatIsThere) {
  plov_client* client = client_.get();
  Put(client, "k", "b", PutOptionsOf(PLOV_SET, 7, 0, 1000));
  const uint64_t version = Put(client, "k", "c", PutOptionsOf(PLOV_APPEND, 8, 0, 9000));
  const uint64_t next = Put(client, "k", "a", PutOptionsOf(PLOV_PREPEND, 8, version));
  EXPECT_GT(next, version);
  const plov_item item = ItemOf(client, "k");
  EXPECT_EQ(String(item.value), "abc");
  EXPECT_EQ(item.version, next);
  EXPECT_EQ(item.flags, 7U);  // they stay
  EXPECT_TRUE(IsAbout(item.expiry, 1000)) << item.expiry;
  const plov_put_options old = PutOptionsOf(PLOV_APPEND, 0, version);
  EXPECT_EQ(plov_put(client, plov_text("k"), plov_text("d"), &old, nullptr), PLOV_VERSION_MISMATCH);
  EXPECT_EQ(Value(client, "k"), "abc");
}

TEST_F(CapiModify, AppendOfAnAbsentKeyStoresItWhereItIsToldTo) {
  plov_client* client = client_.get();
  for (const plov_put_mode mode : {PLOV_APPEND, PLOV_PREPEND}) {
    const plov_put_options options = PutOptionsOf(mode);
    EXPECT_EQ(plov_put(client, plov_text("k"), plov_text("v"), &options, nullptr), PLOV_NOT_FOUND);
  }
  Put(client, "back", "b", PutOptionsOf(PLOV_APPEND_OR_ADD, 7, 0, 1000));
  Put(client, "back", "c", PutOptionsOf(PLOV_APPEND_OR_ADD, 8));
  Put(client, "front", "b", PutOptionsOf(PLOV_PREPEND_OR_ADD, 7));
  Put(client, "front", "a", PutOptionsOf(PLOV_PREPEND_OR_ADD, 8));
  EXPECT_EQ(Value(client, "front"), "ab");
  const plov_item item = ItemOf(client, "back");
  EXPECT_EQ(String(item.value), "bc");
  EXPECT_EQ(item.flags, 7U);
  EXPECT_TRUE(IsAbout(item.expiry, 1000)) << item.expiry;
}

TEST_F(CapiModify, AppendsOfABatchAreAppliedInTheirOrder) {
  std::vector<plov_put_item> items;
  for (const char* value : {"a", "b", "c", "d"}) {
    items.push_back({plov_text("k"), plov_text(value), PutOptionsOf(PLOV_APPEND_OR_ADD)});
  }
  const auto done = [](void*, const plov_write_result* result) {
    EXPECT_EQ(result->code, PLOV_OK) << result->message;
  };
  ASSERT_EQ(plov_put_many(client_.get(), items.data(), items.size(), done, nullptr), PLOV_OK);
  EXPECT_EQ(Value(client_.get(), "k"), "abcd");
}

TEST_F(CapiModify, WhatIsAppendedHasALimitAndTheValueHasTheServers) {
  const std::string part(kModifiedBytesMax, 'p');
  const std::string large(300'000, 'v');
  const std::string too_large(kModifiedBytesMax + 1, 'p');
  plov_client* client = client_.get();
  Put(client, "k", large);
  Put(client, "k", part, PutOptionsOf(PLOV_APPEND));
  EXPECT_EQ(Value(client, "k"), large + part);
  const plov_put_options append = PutOptionsOf(PLOV_APPEND);
  EXPECT_EQ(plov_put(client, plov_text("k"), ViewOf(too_large), &append, nullptr), PLOV_TOO_LARGE);
  EXPECT_EQ(plov_put(client, plov_text("none"), ViewOf(part), &append, nullptr), PLOV_NOT_FOUND);
  EXPECT_EQ(Value(client, "k"), large + part);
  const std::string largest(size_t{16} << 20, 'm');
  Put(client, "k", largest);
  EXPECT_EQ(plov_put(client, plov_text("k"), plov_text("1"), &append, nullptr), PLOV_TOO_LARGE);
}

TEST_F(CapiModify, ComparesAndPuts) {
  plov_client* client = client_.get();
  const plov_view key = plov_text("k");
  const auto compare_and_put = [&](const char* expected, const char* value,
                                   const plov_put_options* options = nullptr,
                                   uint64_t* version = nullptr) {
    return plov_compare_and_put(client, key, plov_text(expected), plov_text(value), options,
                                version);
  };
  EXPECT_EQ(compare_and_put("one", "two"), PLOV_NOT_FOUND);
  EXPECT_EQ(LastMessage(client), "the key is absent");
  Put(client, "k", "one", PutOptionsOf(PLOV_SET, 7, 0, 1000));
  uint64_t version = 0;
  EXPECT_EQ(compare_and_put("on", "two", nullptr, &version), PLOV_VERSION_MISMATCH);
  EXPECT_EQ(version, 0U);
  EXPECT_EQ(compare_and_put("one", "two", nullptr, &version), PLOV_OK);
  plov_item item = ItemOf(client, "k");
  EXPECT_EQ(String(item.value), "two");
  EXPECT_EQ(item.version, version);
  EXPECT_EQ(item.flags, 0U);  // the new value's
  EXPECT_EQ(item.expiry, 0U);
  const plov_put_options other = PutOptionsOf(PLOV_SET, 0, version + 1);
  EXPECT_EQ(compare_and_put("two", "three", &other), PLOV_VERSION_MISMATCH);
  const plov_put_options same = PutOptionsOf(PLOV_SET, 9, version, 1000);
  EXPECT_EQ(compare_and_put("three", "three", &same), PLOV_VERSION_MISMATCH);
  EXPECT_EQ(compare_and_put("two", "", &same), PLOV_OK);
  item = ItemOf(client, "k");
  EXPECT_EQ(item.flags, 9U);
  EXPECT_TRUE(IsAbout(item.expiry, 1000)) << item.expiry;
  EXPECT_EQ(plov_compare_and_put(client, key, {nullptr, 0}, plov_text("v"), nullptr, nullptr),
            PLOV_OK);
  EXPECT_EQ(Value(client, "k"), "v");
}

TEST_F(CapiModify, WhatComparesHasALimit) {
  const std::string half(kModifiedBytesMax / 2, 'h');
  const std::string more(kModifiedBytesMax / 2 + 1, 'm');
  plov_client* client = client_.get();
  const plov_view key = plov_text("k");
  Put(client, "k", half);
  EXPECT_EQ(plov_compare_and_put(client, key, ViewOf(half), ViewOf(half), nullptr, nullptr),
            PLOV_OK);
  EXPECT_EQ(plov_compare_and_put(client, key, ViewOf(half), ViewOf(more), nullptr, nullptr),
            PLOV_TOO_LARGE);
  EXPECT_EQ(plov_compare_and_put(client, key, ViewOf(more), ViewOf(half), nullptr, nullptr),
            PLOV_TOO_LARGE);
}

TEST_F(CapiModify, IncrementsTheTextOfANumber) {
  plov_client* client = client_.get();
  EXPECT_EQ(Incremented(client, "n", 1), "PLOV_NOT_FOUND");
  Put(client, "n", "10", PutOptionsOf(PLOV_SET, 7, 0, 1000));
  EXPECT_EQ(Incremented(client, "n", 32), "42");
  EXPECT_EQ(Incremented(client, "n", -50), "-8");
  int64_t number = 0;
  uint64_t version = 0;
  EXPECT_EQ(plov_increment(client, plov_text("n"), 1, nullptr, &number, &version), PLOV_OK);
  EXPECT_EQ(number, -7);
  const plov_item item = ItemOf(client, "n");
  EXPECT_EQ(String(item.value), "-7");
  EXPECT_EQ(item.version, version);
  EXPECT_EQ(item.flags, 7U);  // they stay
  EXPECT_TRUE(IsAbout(item.expiry, 1000)) << item.expiry;
  EXPECT_EQ(plov_increment(client, plov_text("n"), 1, nullptr, nullptr, nullptr), PLOV_OK);
  EXPECT_EQ(Value(client, "n"), "-6");
}

TEST_F(CapiModify, IncrementRefusesWhatIsNoNumber) {
  plov_client* client = client_.get();
  for (const char* value : {"", "x", "1x", "1.5", " 1", "-", "9223372036854775808"}) {
    Put(client, "n", value);
    EXPECT_EQ(Incremented(client, "n", 1), "PLOV_NOT_A_NUMBER") << value;
    EXPECT_STRNE(LastMessage(client).c_str(), "");
    EXPECT_EQ(Value(client, "n"), value);
  }
  Put(client, "n", std::string(100'000, '1'));
  EXPECT_EQ(Incremented(client, "n", 1), "PLOV_NOT_A_NUMBER");
}

TEST_F(CapiModify, IncrementHasLimits) {
  plov_client* client = client_.get();
  plov_increment_options options = OptionsOf(PLOV_SIGNED, 5);
  options.min = 0;
  options.max = 10;
  EXPECT_EQ(Incremented(client, "n", 6, &options), "PLOV_OUT_OF_RANGE");
  EXPECT_EQ(Value(client, "n"), "PLOV_NOT_FOUND");
  EXPECT_EQ(Incremented(client, "n", 5, &options), "10");
  EXPECT_EQ(Incremented(client, "n", 1, &options), "PLOV_OUT_OF_RANGE");
  EXPECT_EQ(Incremented(client, "n", -11, &options), "PLOV_OUT_OF_RANGE");
  EXPECT_EQ(Incremented(client, "n", -10, &options), "0");
  EXPECT_EQ(Value(client, "n"), "0");
  EXPECT_EQ(Incremented(client, "n", INT64_MAX), "9223372036854775807");
  EXPECT_EQ(Incremented(client, "n", 1), "PLOV_OUT_OF_RANGE");
  EXPECT_EQ(Incremented(client, "n", INT64_MIN), "-1");
  EXPECT_EQ(Incremented(client, "n", INT64_MIN), "PLOV_OUT_OF_RANGE");
}

TEST_F(CapiModify, IncrementOfAnAbsentKeyStoresTheNumber) {
  plov_client* client = client_.get();
  plov_increment_options options = OptionsOf(PLOV_SIGNED, 100);
  options.flags = 7;
  options.ttl_seconds = 1000;
  EXPECT_EQ(Incremented(client, "n", 5, &options), "105");
  options.flags = 8;
  options.ttl_seconds = 0;
  EXPECT_EQ(Incremented(client, "n", 5, &options), "110");
  const plov_item item = ItemOf(client, "n");
  EXPECT_EQ(item.flags, 7U);
  EXPECT_TRUE(IsAbout(item.expiry, 1000)) << item.expiry;
}

TEST_F(CapiModify, IncrementLooksAtTheVersion) {
  plov_client* client = client_.get();
  plov_increment_options options = OptionsOf(PLOV_SIGNED, 0);
  options.expected_version = Put(client, "n", "1");
  EXPECT_EQ(Incremented(client, "absent", 1, &options), "PLOV_NOT_FOUND");
  EXPECT_EQ(Incremented(client, "n", 1, &options), "2");
  EXPECT_EQ(Incremented(client, "n", 1, &options), "PLOV_VERSION_MISMATCH");
}

TEST_F(CapiModify, UnsignedNumbersCountAsMemcachedsDo) {
  plov_client* client = client_.get();
  const plov_increment_options add =
      OptionsOf(PLOV_UNSIGNED_ADD, static_cast<int64_t>(kUnsignedMax - 1));
  const plov_increment_options subtract = OptionsOf(PLOV_UNSIGNED_SUBTRACT);
  EXPECT_EQ(Incremented(client, "n", 1, &add), "18446744073709551615");
  EXPECT_EQ(Value(client, "n"), "18446744073709551615");
  EXPECT_EQ(Incremented(client, "n", 1), "PLOV_NOT_A_NUMBER");  // of the signed
  EXPECT_EQ(Incremented(client, "n", 3, &add), "2");
  EXPECT_EQ(Incremented(client, "n", 1, &subtract), "1");
  EXPECT_EQ(Incremented(client, "n", static_cast<int64_t>(kUnsignedMax), &subtract), "0");
  Put(client, "n", "-1");
  EXPECT_EQ(Incremented(client, "n", 1, &add), "PLOV_NOT_A_NUMBER");
  EXPECT_EQ(Incremented(client, "absent", 1, &subtract), "PLOV_NOT_FOUND");
}

TEST_F(CapiModify, TouchChangesTheExpiryAlone) {
  plov_client* client = client_.get();
  const plov_view key = plov_text("k");
  EXPECT_EQ(plov_touch(client, key, 1000, 0, nullptr), PLOV_NOT_FOUND);
  const uint64_t first = Put(client, "k", "v", PutOptionsOf(PLOV_SET, 7));
  uint64_t version = 0;
  EXPECT_EQ(plov_touch(client, key, 1000, 0, &version), PLOV_OK);
  EXPECT_GT(version, first);
  plov_item item = ItemOf(client, "k");
  EXPECT_EQ(String(item.value), "v");
  EXPECT_EQ(item.version, version);
  EXPECT_EQ(item.flags, 7U);
  EXPECT_TRUE(IsAbout(item.expiry, 1000)) << item.expiry;
  EXPECT_EQ(plov_touch(client, key, 0, first, nullptr), PLOV_VERSION_MISMATCH);
  EXPECT_EQ(plov_touch(client, key, UINT64_MAX, version, &version), PLOV_OK);
  EXPECT_EQ(ItemOf(client, "k").expiry, UINT32_MAX);  // as long as the format allows
  EXPECT_EQ(plov_touch(client, key, 0, version, nullptr), PLOV_OK);
  EXPECT_EQ(ItemOf(client, "k").expiry, 0U);
}

TEST_F(CapiModify, GetAndTouchGivesTheItemAsItWas) {
  plov_client* client = client_.get();
  plov_item item;
  EXPECT_EQ(plov_get_and_touch(client, plov_text("k"), 1000, &item), PLOV_NOT_FOUND);
  EXPECT_EQ(item.value.data, nullptr);
  EXPECT_EQ(LastMessage(client), "the key is absent");
  for (const size_t bytes : {size_t{0}, size_t{10}, size_t{5000}, size_t{2'000'000}}) {
    const std::string value(bytes, 'v');
    const uint64_t version = Put(client, "k", value, PutOptionsOf(PLOV_SET, 7));
    ASSERT_EQ(plov_get_and_touch(client, plov_text("k"), 1000, &item), PLOV_OK);
    EXPECT_EQ(String(item.value), value);
    EXPECT_GT(item.version, version);
    EXPECT_EQ(item.flags, 7U);
    EXPECT_EQ(item.expiry, 0U);  // the former one
    const uint64_t touched = item.version;
    item = ItemOf(client, "k");
    EXPECT_EQ(item.version, touched);
    EXPECT_TRUE(IsAbout(item.expiry, 1000)) << item.expiry;
  }
}

TEST_F(CapiModify, FlushDeletesAllThatIsThere) {
  plov_client* client = client_.get();
  for (const char* key : {"a", "b", "c"}) Put(client, key, "v", PutOptionsOf(PLOV_SET, 7));
  uint64_t deleted = 0;
  EXPECT_EQ(plov_flush(client, 1000, &deleted), PLOV_OK);
  EXPECT_EQ(deleted, 0U);
  EXPECT_EQ(String(ItemOf(client, "a").value), "v");
  EXPECT_EQ(plov_flush(client, 0, &deleted), PLOV_OK);
  EXPECT_EQ(deleted, 3U);
  plov_item item;
  EXPECT_EQ(plov_get(client, plov_text("a"), &item), PLOV_NOT_FOUND);
  EXPECT_EQ(plov_flush(client, 0, nullptr), PLOV_OK);
  Put(client, "a", "v", PutOptionsOf(PLOV_SET, 7));
  const auto note = [](void* context, const plov_flush_result* result) {
    EXPECT_EQ(result->code, PLOV_OK) << result->message;
    *static_cast<uint64_t*>(context) = result->deleted;
  };
  EXPECT_EQ(plov_start_flush(client, 0, note, &deleted), PLOV_OK);
  size_t left = 1;
  while (left > 0) EXPECT_EQ(plov_poll(client, &left), PLOV_OK);
  EXPECT_EQ(deleted, 1U);
}

// The asynchronous forms.

struct Log {
  std::vector<std::string> lines;

  static void OnWrite(void* context, const plov_write_result* result) {
    static_cast<Log*>(context)->Add(result->code, result->message,
                                    result->version != 0 ? "version" : "no version");
  }
  static void OnIncrement(void* context, const plov_increment_result* result) {
    EXPECT_EQ(result->version != 0, result->code == PLOV_OK);
    EXPECT_TRUE(result->code == PLOV_OK || result->number == 0);
    static_cast<Log*>(context)->Add(result->code, result->message, std::to_string(result->number));
  }
  void Add(plov_code code, std::string_view message, const std::string& outcome) {
    EXPECT_EQ(code == PLOV_OK, message.empty());
    lines.push_back(code == PLOV_OK ? outcome : plov_code_name(code));
  }
};

void RunToEnd(plov_client* client) {
  for (size_t left = 1; left > 0;) ASSERT_EQ(plov_poll(client, &left), PLOV_OK);
}

TEST_F(CapiModify, StartedOnesEndWithTheirOutcome) {
  plov_client* client = client_.get();
  const plov_view key = plov_text("k");
  Log log;
  plov_increment_options options = OptionsOf(PLOV_SIGNED, 40);
  const auto increment = [&](int64_t delta, const plov_increment_options* given) {
    EXPECT_EQ(plov_start_increment(client, key, delta, given, Log::OnIncrement, &log), PLOV_OK);
  };
  const auto compare_and_put = [&](const char* expected, const char* value) {
    EXPECT_EQ(plov_start_compare_and_put(client, key, plov_text(expected), plov_text(value),
                                         nullptr, Log::OnWrite, &log),
              PLOV_OK);
  };
  const auto touch = [&](uint64_t expected_version) {
    EXPECT_EQ(plov_start_touch(client, key, 1000, expected_version, Log::OnWrite, &log), PLOV_OK);
  };
  // Those of one key take effect in their order.
  increment(2, nullptr);
  touch(0);
  compare_and_put("42", "x");
  increment(2, &options);
  options.max = 43;
  increment(2, &options);
  compare_and_put("43", "x");
  compare_and_put("42", "x");
  increment(2, nullptr);
  touch(999'999'999);
  touch(0);
  RunToEnd(client);
  EXPECT_EQ(log.lines,
            (std::vector<std::string>{"PLOV_NOT_FOUND", "PLOV_NOT_FOUND", "PLOV_NOT_FOUND", "42",
                                      "PLOV_OUT_OF_RANGE", "PLOV_VERSION_MISMATCH", "version",
                                      "PLOV_NOT_A_NUMBER", "PLOV_VERSION_MISMATCH", "version"}));
  const plov_item item = ItemOf(client, "k");
  EXPECT_EQ(String(item.value), "x");
  EXPECT_TRUE(IsAbout(item.expiry, 1000)) << item.expiry;
}

TEST_F(CapiModify, EachOfManyStartedIncrementsCounts) {
  Log log;
  const plov_increment_options options = OptionsOf(PLOV_SIGNED, 0);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(
        plov_start_increment(client_.get(), plov_text("n"), 1, &options, Log::OnIncrement, &log),
        PLOV_OK);
  }
  RunToEnd(client_.get());
  ASSERT_EQ(log.lines.size(), 1000U);
  for (size_t i = 0; i < log.lines.size(); ++i) EXPECT_EQ(log.lines[i], std::to_string(i + 1));
  EXPECT_EQ(Value(client_.get(), "n"), "1000");
}

TEST_F(CapiModify, TheOptionsOfAStartedOneNeedNotStay) {
  Log log;
  {
    plov_increment_options increment = OptionsOf(PLOV_SIGNED, 5);
    EXPECT_EQ(
        plov_start_increment(client_.get(), plov_text("n"), 1, &increment, Log::OnIncrement, &log),
        PLOV_OK);
    increment = {};
    plov_put_options put = PutOptionsOf(PLOV_SET, 7);
    EXPECT_EQ(plov_start_compare_and_put(client_.get(), plov_text("n"), plov_text("6"),
                                         plov_text("x"), &put, Log::OnWrite, &log),
              PLOV_OK);
    put = {PLOV_ADD, 8, 9, 10};
  }
  RunToEnd(client_.get());
  EXPECT_EQ(log.lines, (std::vector<std::string>{"6", "version"}));
  EXPECT_EQ(ItemOf(client_.get(), "n").flags, 7U);
}

TEST_F(CapiModify, ClosingStartsNoneOfThem) {
  struct Ended {
    plov_client* client;
    std::vector<plov_code> codes;
  } ended{.client = client_.get(), .codes = {}};
  const auto done = [](void* context, const plov_increment_result* result) {
    auto* mine = static_cast<Ended*>(context);
    const plov_view key = plov_text("k");
    mine->codes = {
        result->code,
        plov_start_increment(mine->client, key, 1, nullptr, Log::OnIncrement, nullptr),
        plov_start_touch(mine->client, key, 1, 0, Log::OnWrite, nullptr),
        plov_start_compare_and_put(mine->client, key, key, key, nullptr, Log::OnWrite, nullptr),
    };
  };
  ASSERT_EQ(plov_start_increment(client_.get(), plov_text("k"), 1, nullptr, done, &ended), PLOV_OK);
  client_.reset();
  EXPECT_EQ(ended.codes, std::vector<plov_code>(4, PLOV_UNAVAILABLE));
}

}  // namespace
}  // namespace plov::test
