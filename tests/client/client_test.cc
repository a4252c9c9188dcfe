// The blocking calls of Client against a real plovd.

#include <gtest/gtest.h>
#include <plov/client.h>
#include <signal.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Plovd;

std::string RandomBytes(size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

std::string ValueOf(const Client::GetResult& result) {
  if (!result) return "error: " + result.error().message;
  if (!*result) return "absent";
  return std::string((*result)->value);
}

TEST(Client, StoresReadsAndDeletes) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  const auto version = client.Put("user:1", "Ada");
  ASSERT_TRUE(version);
  const auto hit = client.Get("user:1");
  EXPECT_EQ(ValueOf(hit), "Ada");
  EXPECT_EQ((*hit)->version, *version);
  EXPECT_TRUE(*client.Delete("user:1"));
  EXPECT_FALSE(*client.Delete("user:1"));
  EXPECT_EQ(ValueOf(client.Get("user:1")), "absent");
}

TEST(Client, KeepsEverySizeOfKeyAndValue) {
  const Plovd server({"--memory", "128M"});
  Client client = server.Connect();
  for (const size_t key_bytes : std::initializer_list<size_t>{1, 7, 8, 20, 255, 256, 1023, 1024}) {
    for (const size_t value_bytes :
         std::initializer_list<size_t>{0, 1, 15, 16, 17, 36, 37, 100, 4096, 16384, 16385, 300000}) {
      const std::string key = RandomBytes(key_bytes, key_bytes * 31 + value_bytes);
      const std::string value = RandomBytes(value_bytes, value_bytes);
      ASSERT_TRUE(client.Put(key, value)) << key_bytes << " " << value_bytes;
      EXPECT_EQ(ValueOf(client.Get(key)), value) << key_bytes << " " << value_bytes;
      EXPECT_EQ(ValueOf(client.Get(key)), value) << "known location";
    }
  }
}

TEST(Client, KeepsTheLargestValueAndRefusesALarger) {
  const Plovd server({"--memory", "256M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  const std::string largest = RandomBytes(size_t{16} << 20, 5);
  ASSERT_TRUE(client.Put("large", largest));
  EXPECT_EQ(ValueOf(client.Get("large")), largest);
  EXPECT_EQ(client.Put("large", largest + "x").error().code, Code::kTooLarge);
  EXPECT_EQ(ValueOf(client.Get("large")), largest);
}

TEST(Client, RefusesWhatCanNeverBeAKey) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  const std::string too_long(1025, 'k');
  for (const std::string& key : {std::string(), too_long}) {
    EXPECT_EQ(client.Put(key, "v").error().code, Code::kInvalidArgument);
    EXPECT_EQ(client.Get(key).error().code, Code::kInvalidArgument);
    EXPECT_EQ(client.Delete(key).error().code, Code::kInvalidArgument);
  }
  EXPECT_TRUE(client.Put("k", "v"));
}

TEST(Client, ValueLimitIsTheServers) {
  const Plovd server({"--memory", "64M", "--max-value", "1000"});
  Client client = server.Connect();
  EXPECT_TRUE(client.Put("k", std::string(1000, 'x')));
  EXPECT_EQ(client.Put("k", std::string(1001, 'x')).error().code, Code::kTooLarge);
}

TEST(TryGet, IsAGetThatWaitsForNobody) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect({.timeout = std::chrono::milliseconds(500)});
  ASSERT_TRUE(client.Put("inline", "v"));
  ASSERT_TRUE(client.Put("record", std::string(1000, 'r')));
  server.Signal(SIGSTOP);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ValueOf(client.TryGet("inline").value()), "v");
    EXPECT_EQ(ValueOf(client.TryGet("record").value()), std::string(1000, 'r'));
    EXPECT_EQ(ValueOf(client.TryGet("nobody").value()), "absent");
  }
  EXPECT_EQ(client.TryGet("")->error().code, Code::kInvalidArgument);
  // A write of the key that was started comes first, and has not ended.
  client.StartPut("inline", "w", {}, [](const Client::PutResult&) {});
  client.Poll();
  EXPECT_FALSE(client.TryGet("inline"));
  EXPECT_EQ(ValueOf(client.TryGet("record").value()), std::string(1000, 'r'));
  server.Signal(SIGKILL);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (client.TryGet("record")) ASSERT_LT(std::chrono::steady_clock::now(), limit);
  EXPECT_EQ(client.Get("record").error().code, Code::kUnavailable);
  EXPECT_FALSE(client.TryGet("record"));
}

TEST(Client, GetIntoFillsTheCallersBuffer) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  for (const size_t bytes : {size_t{0}, size_t{5}, size_t{100}, size_t{511}, size_t{512},
                             size_t{5001}, size_t{100000}}) {
    const std::string value = RandomBytes(bytes, bytes);
    ASSERT_TRUE(client.Put("into", value));
    for (const size_t slack : std::initializer_list<size_t>{0, 3}) {
      std::vector<std::byte> buffer(bytes + slack + 1);
      const auto hit = client.GetInto("into", std::span(buffer).subspan(1));
      ASSERT_EQ(ValueOf(hit), value);
      if (bytes > 0) {
        EXPECT_EQ(static_cast<const void*>((*hit)->value.data()), buffer.data() + 1);
      }
    }
    if (bytes == 0) continue;
    std::vector<std::byte> small(bytes - 1);
    EXPECT_EQ(client.GetInto("into", small).error().code, Code::kBufferTooSmall);
  }
}

// The old value, which the client finds at the place it remembers, lies in the buffer already.
TEST(Client, GetIntoReturnsWhatAnotherHasStoredSince) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  Client other = server.Connect();
  std::vector<std::byte> buffer(100000);
  for (const size_t bytes : {size_t{1}, size_t{5}, size_t{500}, size_t{99999}}) {
    ASSERT_TRUE(other.Put("into", RandomBytes(100000, 0)));
    ASSERT_TRUE(client.GetInto("into", buffer));
    const std::string value = RandomBytes(bytes, bytes);
    ASSERT_TRUE(other.Put("into", value));
    EXPECT_EQ(ValueOf(client.GetInto("into", buffer)), value);
  }
}

TEST(Client, OverwritesInlineByRecordAndBack) {
  for (const char* bucket_bytes : {"64", "128"}) {
    const Plovd server({"--memory", "64M", "--bucket-bytes", bucket_bytes});
    Client client = server.Connect();
    for (int round = 0; round < 20; ++round) {
      const std::string value(round % 2 == 0 ? 10 : 500, static_cast<char>('a' + round));
      ASSERT_TRUE(client.Put("k", value));
      EXPECT_EQ(ValueOf(client.Get("k")), value);
    }
  }
}

TEST(Client, InlineItemsCostOneRead) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect({.location_cache_bytes = 0});
  ASSERT_TRUE(client.Put("k", "small"));
  const uint64_t before = client.stats().reads;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(ValueOf(client.Get("k")), "small");
  EXPECT_EQ(client.stats().reads - before, 100);
}

TEST(Client, KnownRecordsCostOneReadAndMissesOne) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  const std::string value(200, 'v');
  ASSERT_TRUE(client.Put("k", value));
  ASSERT_EQ(ValueOf(client.Get("k")), value);
  uint64_t before = client.stats().reads;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(ValueOf(client.Get("k")), value);
  EXPECT_EQ(client.stats().reads - before, 100);
  before = client.stats().reads;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(ValueOf(client.Get("absent")), "absent");
  EXPECT_EQ(client.stats().reads - before, 100);
}

TEST(Client, RememberedLocationsNeverOutliveTheirValue) {
  const Plovd server({"--memory", "64M"});
  Client reader = server.Connect();
  Client writer = server.Connect();
  for (int round = 0; round < 2000; ++round) {
    const std::string value = std::to_string(round) + std::string(100, '.');
    ASSERT_TRUE(writer.Put("k", value));
    ASSERT_EQ(ValueOf(reader.Get("k")), value);
    if (round % 7 == 0) {
      ASSERT_TRUE(*writer.Delete("k"));
      ASSERT_EQ(ValueOf(reader.Get("k")), "absent");
    }
  }
}

TEST(Client, ManyShardsShareTheKeys) {
  const Plovd server({"--memory", "128M", "--shards", "3"});
  Client client = server.Connect();
  EXPECT_EQ(client.shard_count(), 3);
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(client.Put("k" + std::to_string(i), std::to_string(i)));
  }
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(ValueOf(client.Get("k" + std::to_string(i))), std::to_string(i));
  }
  const auto texts = client.ServerStats();
  ASSERT_TRUE(texts);
  ASSERT_EQ(texts->size(), 3);
  for (const std::string& text : *texts) EXPECT_FALSE(text.starts_with("items 0\n"));
}

// As often as there is room for a message beside the GETs.
TEST(Reports, TellTheServerOfEachGetOnce) {
  const Plovd server({"--memory", "64M"});
  ASSERT_TRUE(server.Connect().Put("key", "value"));
  Client client = server.Connect({.report_period = std::chrono::microseconds(1)});
  const auto reported = [&client] {
    const std::string text = client.ServerStats()->at(0);
    const size_t at = text.find("\nreported_gets ");
    return at == std::string::npos ? 0 : std::stoull(text.substr(at + 15));
  };
  uint64_t gets = 0;
  for (; gets < 5000; ++gets) ASSERT_EQ(ValueOf(client.Get("key")), "value");
  EXPECT_GT(reported(), 0u);
  EXPECT_LE(reported(), gets);
}

TEST(Client, EachThreadHasItsOwn) {
  const Plovd server({"--memory", "128M"});
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&server, &wrong, t] {
      Client client = server.Connect({.timeout = std::chrono::seconds(20)});
      for (int i = 0; i < 2000; ++i) {
        const std::string key = std::to_string(t) + ":" + std::to_string(i);
        if (!client.Put(key, key + key) || ValueOf(client.Get(key)) != key + key) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(Client, NoServerIsSaidAtOnce) {
  const test::TemporaryFolder folder;
  const auto client = Client::Connect("shm:" + folder.path() + "/nobody.sock");
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, Code::kUnavailable);
  EXPECT_EQ(Client::Connect("carrier-pigeon:1").error().code, Code::kInvalidArgument);
}

TEST(Client, ScanVisitsEveryItemOnce) {
  const Plovd server({"--memory", "64M", "--shards", "2"});
  Client client = server.Connect();
  std::vector<int> seen(5000);
  for (size_t i = 0; i < seen.size(); ++i) {
    ASSERT_TRUE(client.Put(std::to_string(i), std::string(i % 300, 'x')));
  }
  const auto summary = client.Scan([&seen](std::string_view key, const Item& item) {
    const size_t index = std::stoul(std::string(key));
    ++seen[index];
    return item.value.size() == index % 300;
  });
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->items, seen.size());
  EXPECT_TRUE(summary->settled);
  EXPECT_EQ(summary->unreadable, 0);
  EXPECT_EQ(std::ranges::count(seen, 1), static_cast<std::ptrdiff_t>(seen.size()));
}

// What is stored behind the scan's back lies mostly in buckets that it has seen by then.
TEST(Client, AScanThatSettlesHasSeenWhatWasStoredMeanwhile) {
  const Plovd server({"--memory", "64M"});
  Client client = server.Connect();
  Client other = server.Connect();
  constexpr size_t kItems = 400;
  for (size_t i = 0; i < kItems; ++i) ASSERT_TRUE(client.Put("old" + std::to_string(i), "x"));
  size_t visited = 0;
  std::set<std::string> fresh;
  const auto summary = client.Scan([&](std::string_view key, const Item&) {
    if (key.starts_with("new")) fresh.emplace(key);
    if (++visited == kItems - 10) {
      for (size_t i = 0; i < kItems; ++i) EXPECT_TRUE(other.Put("new" + std::to_string(i), "y"));
    }
    return true;
  });
  ASSERT_TRUE(summary);
  EXPECT_TRUE(summary->settled);
  EXPECT_EQ(fresh.size(), kItems);
  EXPECT_GT(summary->passes, 1);
}

TEST(Client, FullMemoryIsAnErrorAndLosesNothing) {
  const Plovd server({"--memory", "16M"});
  Client client = server.Connect();
  std::vector<std::string> stored;
  std::string value(10000, 'x');
  Code refused = Code::kOk;
  for (int i = 0; i < 10000 && refused == Code::kOk; ++i) {
    const std::string key = "k" + std::to_string(i);
    const auto put = client.Put(key, key + value);
    if (put) {
      stored.push_back(key);
    } else {
      refused = put.error().code;
    }
  }
  EXPECT_EQ(refused, Code::kNoSpace);
  EXPECT_GT(stored.size(), 500);
  for (const std::string& key : stored) ASSERT_EQ(ValueOf(client.Get(key)), key + value);
  ASSERT_TRUE(*client.Delete(stored[0]));
  EXPECT_TRUE(client.Put("again", value));
}

}  // namespace
}  // namespace plov
