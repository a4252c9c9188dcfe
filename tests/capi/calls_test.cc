// C API: the blocking calls.

#include <plov/error.h>

#include <array>
#include <cstring>
#include <ctime>
#include <map>
#include <vector>

#include "tests/capi/fixture.h"
#include "tests/capi/header_in_c.h"

namespace plov::test {
namespace {

using CapiCalls = CapiTest;

TEST(CapiHeader, AgreeWithTheNumbersAndNamesOfCpp) {
  for (unsigned number = 0; number <= PLOV_WRONG_TYPE; ++number) {
    if (number == static_cast<unsigned>(Code::kNoShard)) continue;  // libplov returns none
    std::string name;                                               // "kNoSpace" as "PLOV_NO_SPACE"
    for (const char c : CodeName(static_cast<Code>(number)).substr(1)) {
      if (c >= 'A' && c <= 'Z') name.push_back('_');
      name.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
    }
    EXPECT_EQ(plov_code_name(number), "PLOV" + name);
  }
  for (const unsigned number : {16U, 20U, 1U << 20, ~0U})
    EXPECT_STREQ(plov_code_name(number), "PLOV_SYSTEM");
}

TEST(CapiHeader, IsLaidOutAlikeInBothLanguages) {
  size_t index = 0;
  for (const size_t number : {PLOV_LAYOUT}) EXPECT_EQ(plov_layout_in_c(index++), number) << index;
  EXPECT_EQ(plov_layout_in_c(index), 0U);
}

TEST(CapiHeader, VersionIsTheProjects) { EXPECT_STREQ(plov_version(), PLOV_VERSION); }

TEST(CapiHeader, TextAndBytesAreViews) {
  EXPECT_EQ(String(plov_text("ab")), "ab");
  EXPECT_EQ(plov_text(nullptr).bytes, 0U);
  EXPECT_EQ(String(plov_bytes("a\0b", 3)), std::string("a\0b", 3));
}

TEST_F(CapiCalls, WorkFromC) {
  EXPECT_EQ(plov_round_trip_in_c(client_.get(), "user:1", "Ada"), PLOV_OK);
  EXPECT_EQ(Value(client_.get(), "user:1"), "PLOV_NOT_FOUND");
}

TEST_F(CapiCalls, NothingFailedYetIsSaid) {
  EXPECT_EQ(plov_last_error(client_.get())->code, PLOV_OK);
  EXPECT_EQ(LastMessage(client_.get()), "");
}

TEST_F(CapiCalls, PutsGetsAndDeletes) {
  uint64_t first = 0;
  uint64_t second = 0;
  const plov_put_options flags = PutOptionsOf(PLOV_SET, 0xdeadbeef);
  ASSERT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("one"), nullptr, &first), PLOV_OK);
  ASSERT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("two"), &flags, &second), PLOV_OK);
  EXPECT_GT(second, first);
  plov_item item;
  ASSERT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_OK);
  EXPECT_EQ(String(item.value), "two");
  EXPECT_EQ(item.version, second);
  EXPECT_EQ(item.flags, 0xdeadbeef);
  EXPECT_EQ(item.expiry, 0U);
  EXPECT_EQ(plov_delete(client_.get(), plov_text("k"), 0), PLOV_OK);
  EXPECT_EQ(plov_delete(client_.get(), plov_text("k"), 0), PLOV_NOT_FOUND);
  EXPECT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_NOT_FOUND);
  EXPECT_EQ(item.value.data, nullptr);
  EXPECT_EQ(item.version, 0U);
  EXPECT_EQ(LastMessage(client_.get()), "the key is absent");
}

TEST_F(CapiCalls, KeysAndValuesMayHoldAnything) {
  const plov_view key = plov_bytes("\0\xff k", 4);
  const std::string large(1 << 20, '\0');
  plov_item item;
  ASSERT_EQ(plov_put(client_.get(), key, plov_bytes(nullptr, 0), nullptr, nullptr), PLOV_OK);
  ASSERT_EQ(plov_get(client_.get(), key, &item), PLOV_OK);
  EXPECT_EQ(item.value.bytes, 0U);
  ASSERT_EQ(plov_put(client_.get(), key, plov_bytes(large.data(), large.size()), nullptr, nullptr),
            PLOV_OK);
  ASSERT_EQ(plov_get(client_.get(), key, &item), PLOV_OK);
  EXPECT_EQ(String(item.value), large);
}

TEST_F(CapiCalls, AddAndReplaceLookAtPresence) {
  const plov_put_options add = PutOptionsOf(PLOV_ADD);
  const plov_put_options replace = PutOptionsOf(PLOV_REPLACE);
  const auto put = [this](const plov_put_options& options, const char* value) {
    return plov_put(client_.get(), plov_text("k"), plov_text(value), &options, nullptr);
  };
  EXPECT_EQ(put(replace, "no"), PLOV_NOT_FOUND);
  EXPECT_EQ(put(add, "added"), PLOV_OK);
  EXPECT_EQ(put(add, "no"), PLOV_EXISTS);
  EXPECT_EQ(Value(client_.get(), "k"), "added");
  EXPECT_EQ(put(replace, "replaced"), PLOV_OK);
  EXPECT_EQ(Value(client_.get(), "k"), "replaced");
}

TEST_F(CapiCalls, ExpectedVersionDecides) {
  uint64_t version = 0;
  ASSERT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("a"), nullptr, &version), PLOV_OK);
  const plov_put_options same = PutOptionsOf(PLOV_SET, 0, version);
  uint64_t next = 0;
  EXPECT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("b"), &same, &next), PLOV_OK);
  EXPECT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("c"), &same, nullptr),
            PLOV_VERSION_MISMATCH);
  EXPECT_EQ(plov_put(client_.get(), plov_text("absent"), plov_text("c"), &same, nullptr),
            PLOV_NOT_FOUND);
  EXPECT_EQ(plov_delete(client_.get(), plov_text("k"), version), PLOV_VERSION_MISMATCH);
  EXPECT_EQ(Value(client_.get(), "k"), "b");
  EXPECT_EQ(plov_delete(client_.get(), plov_text("k"), next), PLOV_OK);
}

TEST_F(CapiCalls, TimeToLiveEndsInExpiry) {
  const auto now = static_cast<uint64_t>(std::time(nullptr));
  plov_put_options options = PutOptionsOf(PLOV_SET, 0, 0, 1000);
  plov_item item;
  ASSERT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("v"), &options, nullptr), PLOV_OK);
  ASSERT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_OK);
  EXPECT_GE(item.expiry, now + 990);
  EXPECT_LE(item.expiry, now + 2000);
  options.ttl_seconds = UINT64_MAX;  // as long as the format allows
  ASSERT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("v"), &options, nullptr), PLOV_OK);
  ASSERT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_OK);
  EXPECT_EQ(item.expiry, UINT32_MAX);
}

TEST_F(CapiCalls, ItemsEndAtAMomentOfTheServersClock) {
  uint64_t earliest_us = 0, latest_us = 0;
  ASSERT_EQ(plov_time(client_.get(), plov_text("k"), &earliest_us, &latest_us), PLOV_OK);
  EXPECT_LE(earliest_us, latest_us);
  const auto moment = static_cast<uint32_t>(latest_us / 1'000'000 + 1000);
  plov_put_options options = PutOptionsOf(PLOV_SET, 0, 0, PLOV_UNTIL(moment));
  plov_item item;
  ASSERT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("v"), &options, nullptr), PLOV_OK);
  ASSERT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_OK);
  EXPECT_EQ(item.expiry, moment);
  ASSERT_EQ(plov_touch(client_.get(), plov_text("k"), PLOV_UNTIL(moment + 7), 0, nullptr), PLOV_OK);
  ASSERT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_OK);
  EXPECT_EQ(item.expiry, moment + 7);
  options.ttl_seconds = PLOV_UNTIL(0);
  ASSERT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("v"), &options, nullptr), PLOV_OK);
  ASSERT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_OK);
  EXPECT_EQ(item.expiry, 0u);
  options.ttl_seconds = PLOV_UNTIL(1);
  ASSERT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("v"), &options, nullptr), PLOV_OK);
  EXPECT_EQ(plov_get(client_.get(), plov_text("k"), &item), PLOV_NOT_FOUND);
}

TEST_F(CapiCalls, GetIntoFillsTheCallersBuffer) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{511}, size_t{5000}}) {
    const std::string value(bytes, 'v');
    ASSERT_EQ(
        plov_put(client_.get(), plov_text("k"), plov_bytes(value.data(), bytes), nullptr, nullptr),
        PLOV_OK);
    std::vector<char> buffer(bytes + 1);
    plov_item item;
    ASSERT_EQ(plov_get_into(client_.get(), plov_text("k"), buffer.data(), buffer.size(), &item),
              PLOV_OK);
    EXPECT_EQ(item.value.data, buffer.data());
    EXPECT_EQ(String(item.value), value);
    if (bytes == 0) continue;
    EXPECT_EQ(plov_get_into(client_.get(), plov_text("k"), buffer.data(), bytes - 1, &item),
              PLOV_BUFFER_TOO_SMALL);
    EXPECT_NE(LastMessage(client_.get()).find(std::to_string(bytes)), std::string::npos);
  }
  plov_item item;
  EXPECT_EQ(plov_get_into(client_.get(), plov_text("absent"), nullptr, 0, &item), PLOV_NOT_FOUND);
}

TEST_F(CapiCalls, AServerOfItsOwnHasTheNewest) {
  plov_options options = plov_default_options();
  EXPECT_EQ(options.read_from, static_cast<uint32_t>(PLOV_READ_PRIMARY));
  EXPECT_EQ(options.max_age_us, 1'000'000U);
  for (const uint32_t read_from : {PLOV_READ_PRIMARY, PLOV_READ_ANY_REPLICA}) {
    options.read_from = read_from;
    options.max_age_us = 1;
    plov_client* connected = nullptr;
    ASSERT_EQ(plov_connect(server_.uri().c_str(), &options, &connected, nullptr), PLOV_OK);
    const CClient client(connected);
    ASSERT_EQ(plov_put(client.get(), plov_text("k"), plov_text("v"), nullptr, nullptr), PLOV_OK);
    EXPECT_EQ(Value(client.get(), "k"), "v");
    uint64_t age_us = 1;
    EXPECT_EQ(plov_age(client.get(), plov_text("k"), &age_us), PLOV_OK);
    EXPECT_EQ(age_us, 0U);
  }
}

TEST_F(CapiCalls, PingMeasuresTheRoundTrip) {
  uint64_t nanoseconds = 0;
  EXPECT_EQ(plov_ping(client_.get(), &nanoseconds), PLOV_OK);
  EXPECT_GT(nanoseconds, 0U);
  EXPECT_EQ(plov_ping(client_.get(), nullptr), PLOV_OK);
}

TEST_F(CapiCalls, SyncNeedsALog) {
  EXPECT_EQ(plov_sync(client_.get()), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(LastMessage(client_.get()), "this server keeps no log (plovd --log)");
}

TEST(CapiSync, WaitsForTheLog) {
  const TemporaryFolder folder;
  const Plovd server({"--memory", "64M", "--log", folder.path() + "/log", "--commit", "async",
                      "--log-interval", "1h"});
  const CClient client = ConnectInC(server.uri());
  ASSERT_EQ(plov_put(client.get(), plov_text("k"), plov_text("v"), nullptr, nullptr), PLOV_OK);
  EXPECT_EQ(plov_sync(client.get()), PLOV_OK);
  std::string text;
  const auto keep = [](void* context, uint32_t, const char* said) {
    *static_cast<std::string*>(context) = said;
  };
  ASSERT_EQ(plov_server_stats(client.get(), keep, &text), PLOV_OK);
  EXPECT_NE(text.find("log_pending_batches 0\n"), std::string::npos) << text;
}

TEST_F(CapiCalls, StatsCountWhatWasDone) {
  ASSERT_EQ(plov_put(client_.get(), plov_text("k"), plov_text("v"), nullptr, nullptr), PLOV_OK);
  EXPECT_EQ(Value(client_.get(), "k"), "v");
  EXPECT_EQ(Value(client_.get(), "absent"), "PLOV_NOT_FOUND");
  plov_client_stats stats;
  std::memset(&stats, 0xff, sizeof(stats));
  ASSERT_EQ(plov_stats(client_.get(), &stats, sizeof(stats)), PLOV_OK);
  EXPECT_EQ(stats.gets, 2U);
  EXPECT_EQ(stats.hits, 1U);
  EXPECT_EQ(stats.puts, 1U);
  EXPECT_EQ(stats.reads, stats.bucket_reads + stats.record_reads);
  EXPECT_GE(stats.bucket_reads, 2U);
  for (const uint64_t rare :
       {stats.corrupt, stats.reconnects, stats.retries, stats.fallbacks, stats.refreshes}) {
    EXPECT_EQ(rare, 0U);
  }
}

TEST(CapiShards, EachTellsItsStats) {
  const Plovd server({"--memory", "64M", "--shards", "3"});
  const CClient client = ConnectInC(server.uri());
  EXPECT_EQ(plov_shard_count(client.get()), 3U);
  std::map<uint32_t, std::string> texts;
  const auto each = [](void* context, uint32_t shard, const char* text) {
    static_cast<std::map<uint32_t, std::string>*>(context)->emplace(shard, text);
  };
  ASSERT_EQ(plov_server_stats(client.get(), each, &texts), PLOV_OK);
  ASSERT_EQ(texts.size(), 3U);
  for (const auto& [shard, text] : texts) {
    EXPECT_LT(shard, 3U);
    EXPECT_NE(text.find('\n'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace plov::test
