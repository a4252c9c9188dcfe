#include "verify/counters.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "verify/slow_writes.h"

namespace plov::verify {
namespace {

std::vector<std::byte> PageOf(uint32_t counters, std::string_view text) {
  std::vector<std::byte> page(kPageBytes);
  const uint64_t magic = kCountersMagic;
  const auto text_bytes = static_cast<uint32_t>(text.size());
  std::memcpy(page.data(), &magic, sizeof(magic));
  std::memcpy(page.data() + 8, &counters, sizeof(counters));
  std::memcpy(page.data() + 12, &text_bytes, sizeof(text_bytes));
  std::memcpy(page.data() + kCounterTextAt, text.data(),
              std::min<size_t>(text.size(), kCounterTextMax));
  return page;
}

void Put(std::vector<std::byte>* page, size_t word, uint64_t value) {
  std::memcpy(page->data() + word * kWordBytes, &value, sizeof(value));
}

TEST(Counters, TextHasWhatIsThereAndAges) {
  auto page = PageOf(kCounterCount, "version 1\n");
  for (size_t i = 0; i < kCounterCount; ++i)
    Put(&page, WordOf(static_cast<Counter>(i)), UINT64_MAX);
  Put(&page, WordOf(Counter::kItems), 5);
  Put(&page, WordOf(Counter::kStartedAtUs), 1'000'000);
  Put(&page, WordOf(Counter::kSnapshotAtUs), 3'000'000);
  Put(&page, WordOf(Histogram::kWrites) + 4, 2);
  Put(&page, WordOf(Histogram::kWrites) + kTimeBuckets - 1, 1);
  Put(&page, WordOf(Histogram::kWrites) + kTimeBuckets, 77);
  const auto counters = ReadCounters(page);
  ASSERT_TRUE(counters);
  EXPECT_EQ(TextOf(*counters, 10'000'000),
            "items 5\nsnapshot_at_us 3000000\nsnapshot_age_s 7\nstarted_at_us "
            "1000000\nwrites_under_us_16 2\n"
            "writes_longer 1\nwrites_us 77\ncommits_us 0\nuptime_us 9000000\nclock_us 10000000\n"
            "version 1\n");
}

TEST(Counters, APageThatIsNoneIsRefused) {
  EXPECT_FALSE(ReadCounters(std::vector<std::byte>(kPageBytes)));
  EXPECT_FALSE(ReadCounters(PageOf(kCounterCount + 1, "")));
  EXPECT_FALSE(ReadCounters(PageOf(kCounterCount, std::string(kCounterTextMax + 1, 'x'))));
  EXPECT_TRUE(ReadCounters(PageOf(kCounterCount, std::string(kCounterTextMax, 'x'))));
  auto page = PageOf(kCounterCount, "");
  page.pop_back();
  EXPECT_FALSE(ReadCounters(page));
}

TEST(Counters, TheirTextIsReadAsTheyWere) {
  std::mt19937_64 random(1);
  Counters counters{};
  for (uint64_t& value : counters.values) value = random();
  for (Times& times : counters.histograms) {
    for (uint64_t& count : times.counts) count = random();
    times.sum_us = random();
  }
  counters.values[static_cast<size_t>(Counter::kLogMode)] = UINT64_MAX;
  counters.text = "version 1\noption.listen shm:a b\n";
  const ToldCounters told = CountersOf(TextOf(counters, 12345));
  EXPECT_EQ(told.unix_us, 12345u);
  EXPECT_EQ(told.counters.values, counters.values);
  for (size_t i = 0; i < kHistogramCount; ++i) {
    EXPECT_EQ(told.counters.histograms[i].counts, counters.histograms[i].counts);
    EXPECT_EQ(told.counters.histograms[i].sum_us, counters.histograms[i].sum_us);
  }
  EXPECT_EQ(told.counters.text, counters.text);
}

TEST(Counters, WhatIsNoNumberIsNotThere) {
  const ToldCounters told =
      CountersOf("items\nputs x\nclients -1\ngrowths 99999999999999999999\n\n");
  for (const uint64_t value : told.counters.values) EXPECT_EQ(value, UINT64_MAX);
  EXPECT_EQ(told.unix_us, 0u);
}

TEST(Counters, ShardsMakeSumsAndMaxima) {
  std::array<Counters, 2> shards{};
  for (Counters& shard : shards) shard.values.fill(UINT64_MAX);
  shards[0].values[static_cast<size_t>(Counter::kPuts)] = 3;
  shards[1].values[static_cast<size_t>(Counter::kPuts)] = 4;
  shards[0].values[static_cast<size_t>(Counter::kClients)] = 3;
  shards[1].values[static_cast<size_t>(Counter::kClients)] = 4;
  shards[1].values[static_cast<size_t>(Counter::kLogBytes)] = 5;
  shards[0].histograms[0].counts[1] = 6;
  shards[1].histograms[0] = {.counts = {0, 7}, .sum_us = 8};
  const Counters total = TotalOf(shards);
  EXPECT_EQ(total[Counter::kPuts], 7u);
  EXPECT_EQ(total[Counter::kClients], 4u);
  EXPECT_EQ(total[Counter::kLogBytes], 5u);
  EXPECT_EQ(total[Counter::kItems], UINT64_MAX);
  EXPECT_EQ(total.histograms[0].counts[1], 13u);
  EXPECT_EQ(total.histograms[0].sum_us, 8u);
}

TEST(Counters, ATimeLiesBelowTheEndOfItsBucket) {
  for (const uint64_t us : {0ul, 1ul, 2ul, 3ul, 4ul, 1000ul, 1023ul, 1024ul, 60'000'000ul}) {
    const size_t bucket = TimeBucketOf(us);
    EXPECT_LT(us, uint64_t{1} << bucket);
    if (bucket > 0) {
      EXPECT_GE(us, uint64_t{1} << (bucket - 1));
    }
  }
  EXPECT_EQ(TimeBucketOf(UINT64_MAX), kTimeBuckets - 1);
}

TEST(Counters, TheManualHasEachOfThem) {
  std::ifstream file(PLOV_SOURCE_DIR "/man/plov.1");
  std::stringstream text;
  text << file.rdbuf();
  for (const CounterInfo& info : CounterTable()) {
    EXPECT_NE(text.str().find(" " + std::string(info.name)), std::string::npos) << info.name;
  }
}

TEST(SlowWrites, TornOnesAndStrangeOnesAreLeftOut) {
  std::vector<uint64_t> pages(kSlowWritesBytes / kWordBytes);
  for (uint64_t number = 1; number <= kSlowWritesKept + 10; ++number) {
    SlowWrite write{};
    write.number = number;
    write.spent_us[0] = static_cast<uint32_t>(number);
    StoreSlowWrite(pages.data(), write);
  }
  const auto bytes = std::as_bytes(std::span(pages));
  ASSERT_EQ(ReadSlowWrites(bytes).size(), kSlowWritesKept);
  EXPECT_EQ(ReadSlowWrites(bytes).front().number, 11u);
  EXPECT_EQ(ReadSlowWrites(bytes).back().total_us(), kSlowWritesKept + 10);
  pages[3] ^= 1;
  EXPECT_EQ(ReadSlowWrites(bytes).size(), kSlowWritesKept - 1);
  std::mt19937_64 random(1);
  for (uint64_t& word : pages) word = random();
  EXPECT_TRUE(ReadSlowWrites(bytes).empty());
  EXPECT_TRUE(ReadSlowWrites(bytes.first(100)).empty());
}

}  // namespace
}  // namespace plov::verify
