// C API: GETs and PUTs by the batch, and the scan.

#include <map>
#include <set>
#include <vector>

#include "tests/capi/fixture.h"

namespace plov::test {
namespace {

using CapiMany = CapiTest;

struct Outcome {
  plov_code code;
  std::string message;
  std::string value;
  uint64_t version;
};
using Outcomes = std::map<size_t, Outcome>;

void OnGet(void* context, const plov_get_result* result) {
  auto* outcomes = static_cast<Outcomes*>(context);
  const bool is_new =
      outcomes
          ->emplace(result->index, Outcome{result->code, result->message,
                                           String(result->item.value), result->item.version})
          .second;
  EXPECT_TRUE(is_new) << result->index;
}

void OnWrite(void* context, const plov_write_result* result) {
  auto* outcomes = static_cast<Outcomes*>(context);
  const bool is_new =
      outcomes->emplace(result->index, Outcome{result->code, result->message, "", result->version})
          .second;
  EXPECT_TRUE(is_new) << result->index;
}

TEST_F(CapiMany, EveryItemIsStoredAndEveryKeyAnsweredOnce) {
  constexpr size_t kCount = 3000;
  std::vector<std::string> texts;
  for (size_t i = 0; i < kCount; ++i) texts.push_back("key:" + std::to_string(i));
  std::vector<plov_put_item> items;
  std::vector<plov_view> keys;
  for (const std::string& text : texts) {
    keys.push_back(plov_text(text.c_str()));
    items.push_back({keys.back(), keys.back(), {}});
  }
  Outcomes puts;
  ASSERT_EQ(plov_put_many(client_.get(), items.data(), items.size(), OnWrite, &puts), PLOV_OK);
  ASSERT_EQ(puts.size(), kCount);
  Outcomes gets;
  ASSERT_EQ(plov_get_many(client_.get(), keys.data(), keys.size(), OnGet, &gets), PLOV_OK);
  ASSERT_EQ(gets.size(), kCount);
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(puts[i].code, PLOV_OK) << puts[i].message;
    EXPECT_EQ(gets[i].code, PLOV_OK) << gets[i].message;
    EXPECT_EQ(gets[i].message, "");
    EXPECT_EQ(gets[i].value, texts[i]);
    EXPECT_EQ(gets[i].version, puts[i].version);
  }
}

TEST_F(CapiMany, EachGetSaysHowItEnded) {
  ASSERT_EQ(plov_put(client_.get(), plov_text("here"), plov_text("v"), nullptr, nullptr), PLOV_OK);
  const std::string long_key(1025, 'k');
  const plov_view keys[] = {plov_text("here"), plov_text("absent"), plov_text(""),
                            plov_text(long_key.c_str())};
  Outcomes gets;
  ASSERT_EQ(plov_get_many(client_.get(), keys, 4, OnGet, &gets), PLOV_OK);
  ASSERT_EQ(gets.size(), 4U);
  EXPECT_EQ(gets[0].code, PLOV_OK);
  EXPECT_EQ(gets[1].code, PLOV_NOT_FOUND);
  EXPECT_EQ(gets[1].message, "the key is absent");
  EXPECT_EQ(gets[2].code, PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(gets[3].code, PLOV_INVALID_ARGUMENT);
  EXPECT_NE(gets[3].message, "");
}

TEST_F(CapiMany, EachPutSaysHowItEndedAndOneKeyKeepsItsOrder) {
  const plov_put_item items[] = {
      {plov_text("k"), plov_text("1"), PutOptionsOf(PLOV_ADD, 1)},
      {plov_text("k"), plov_text("2"), PutOptionsOf(PLOV_ADD, 2)},
      {plov_text("k"), plov_text("3"), PutOptionsOf(PLOV_REPLACE, 3)},
      {plov_text("k"), plov_text("4"), PutOptionsOf(PLOV_SET, 0, 12345678)},
      {plov_text(""), plov_text("5"), {}},
  };
  Outcomes puts;
  ASSERT_EQ(plov_put_many(client_.get(), items, 5, OnWrite, &puts), PLOV_OK);
  ASSERT_EQ(puts.size(), 5U);
  EXPECT_EQ(puts[0].code, PLOV_OK);
  EXPECT_EQ(puts[1].code, PLOV_EXISTS);
  EXPECT_EQ(puts[1].version, 0U);
  EXPECT_EQ(puts[2].code, PLOV_OK);
  EXPECT_EQ(puts[3].code, PLOV_VERSION_MISMATCH);
  EXPECT_EQ(puts[4].code, PLOV_INVALID_ARGUMENT);
  plov_item item;
  ASSERT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_OK);
  EXPECT_EQ(String(item.value), "3");
  EXPECT_EQ(item.flags, 3U);
}

TEST_F(CapiMany, EmptyBatchesEndAtOnce) {
  Outcomes none;
  EXPECT_EQ(plov_get_many(client_.get(), nullptr, 0, OnGet, &none), PLOV_OK);
  EXPECT_EQ(plov_put_many(client_.get(), nullptr, 0, OnWrite, &none), PLOV_OK);
  EXPECT_TRUE(none.empty());
}

struct Visit {
  std::map<std::string, std::string> seen;
  size_t stop_after = SIZE_MAX;
};

bool OnItem(void* context, plov_view key, const plov_item* item) {
  auto* visit = static_cast<Visit*>(context);
  visit->seen[String(key)] = String(item->value);
  return visit->seen.size() < visit->stop_after;
}

TEST_F(CapiMany, ScanVisitsEveryItem) {
  const std::string large(3000, 'x');
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key:" + std::to_string(i);
    const plov_view value = i % 2 == 0 ? plov_text("small") : plov_text(large.c_str());
    ASSERT_EQ(plov_put(client_.get(), plov_text(key.c_str()), value, nullptr, nullptr), PLOV_OK);
  }
  Visit visit;
  plov_scan_summary summary = {};
  ASSERT_EQ(plov_scan(client_.get(), OnItem, &visit, &summary), PLOV_OK);
  EXPECT_EQ(visit.seen.size(), 200U);
  EXPECT_EQ(visit.seen["key:7"], large);
  EXPECT_EQ(visit.seen["key:8"], "small");
  EXPECT_EQ(summary.items, 200U);
  EXPECT_EQ(summary.unreadable, 0U);
  EXPECT_TRUE(summary.settled);
  EXPECT_GE(summary.passes, 1U);
  plov_client_stats stats;
  ASSERT_EQ(plov_stats(client_.get(), &stats, sizeof(stats)), PLOV_OK);
  EXPECT_GE(stats.refreshes, 1U) << "a scan looks whether the table has grown";
}

TEST_F(CapiMany, ScanEndsWhenTheCallbackSaysSo) {
  for (const char* key : {"a", "b", "c", "d"}) {
    ASSERT_EQ(plov_put(client_.get(), plov_text(key), plov_text("v"), nullptr, nullptr), PLOV_OK);
  }
  Visit visit{.seen = {}, .stop_after = 2};
  EXPECT_EQ(plov_scan(client_.get(), OnItem, &visit, nullptr), PLOV_OK);
  EXPECT_EQ(visit.seen.size(), 2U);
}

}  // namespace
}  // namespace plov::test
