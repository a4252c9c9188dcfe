// A table that grows a hundredfold and more under the eyes of readers.
//
// One process writes - new items, and now and then an item anew or a delete - while three others
// check what they GET against its ledger and a fourth dumps the table again and again. At last
// every reader checks every item.
//
// PLOV_GROWTH_ITEMS sets how many items there are at the end (300,000; the variants have a third).

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/environment.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "tests/support/sanitizers.h"
#include "tests/system/ledger.h"

namespace plov {
namespace {

using test::Child;
using test::Ledger;
using test::Plovd;
using test::SharedMemory;

constexpr uint64_t kFirstItems = 1000;
constexpr uint64_t kNeverItems = 1000;  // at the ledger's end: never written
constexpr size_t kBatch = 250;
constexpr uint32_t kWindow = 16;

struct Progress {
  std::atomic<uint64_t> begun;  // items that have a first write
  std::atomic<bool> done;
  std::atomic<uint64_t> gets;
  std::atomic<uint64_t> refreshes;
  std::atomic<uint64_t> fallbacks;
  std::atomic<uint64_t> scans;
  std::atomic<uint64_t> scans_over_growth;
  std::atomic<uint64_t> readers_over_growth;  // readers that read a superblock anew
};

struct World {
  World(uint64_t item_count, std::vector<std::string> options)
      : items(item_count), ledger(item_count + kNeverItems), server(std::move(options)) {}

  uint64_t items;
  Ledger ledger;
  SharedMemory<Progress> progress;
  Plovd server;
};

ClientOptions Patient(size_t cache_bytes) {
  return {
      .timeout = std::chrono::seconds(30), .location_cache_bytes = cache_bytes, .window = kWindow};
}

class Writer {
 public:
  explicit Writer(World* world) : world_(world), client_(world->server.Connect(Patient(0))) {}

  // New items up to `end`.
  bool Extend(uint64_t end) {
    while (world_->progress->begun < end) {
      std::vector<uint64_t> batch;
      uint64_t next = world_->progress->begun;
      while (next < end && batch.size() < kBatch) batch.push_back(next++);
      world_->progress->begun = next;
      if (!WriteAll(batch) || !WriteAll(Again(next))) return false;
    }
    return true;
  }

 private:
  // Some old items, each once.
  std::vector<uint64_t> Again(uint64_t count) {
    std::vector<uint64_t> items(kBatch / 8);
    for (uint64_t& item : items) item = random_() % count;
    std::ranges::sort(items);
    items.erase(std::ranges::unique(items).begin(), items.end());
    std::erase_if(items, [this](uint64_t item) { return !world_->ledger.IsQuiet(item); });
    return items;
  }

  bool WriteAll(const std::vector<uint64_t>& items) {
    std::vector<std::string> texts;
    texts.reserve(2 * items.size());
    std::vector<uint64_t> put;
    std::vector<PutItem> puts;
    for (const uint64_t item : items) {
      const uint32_t write = world_->ledger.Begin(item);
      if (Ledger::Deletes(item, write)) {
        const auto gone = client_.Delete(Ledger::KeyOf(item));
        if (!gone) return Fail(gone.error());
        if (*gone == Ledger::Deletes(item, write - 1)) return Fail({Code::kNotFound, "wrong"});
        world_->ledger.End(item);
        continue;
      }
      const std::string& key = texts.emplace_back(Ledger::KeyOf(item));
      const std::string& value = texts.emplace_back(Ledger::ValueOf(item, write));
      puts.push_back({key, value});
      put.push_back(item);
    }
    bool good = true;
    client_.PutMany(puts, [&](size_t index, Client::PutResult result) {
      if (result) {
        world_->ledger.End(put[index]);
      } else {
        good = Fail(result.error());
      }
    });
    return good;
  }

  static bool Fail(const Error& error) {
    std::fprintf(stderr, "a write failed: %s\n", error.message.c_str());
    return false;
  }

  World* world_;
  Client client_;
  std::mt19937_64 random_{1};
};

class Reader {
 public:
  Reader(World* world, size_t cache_bytes)
      : world_(world), client_(world->server.Connect(Patient(cache_bytes))), random_(cache_bytes) {}

  int Run() {
    bool good = true;
    uint64_t cursor = 0;
    while (good && !world_->progress->done) {
      // A little beyond what is begun: absent, or about to come.
      const uint64_t end = std::min(world_->progress->begun + 100, world_->ledger.capacity());
      if (cursor >= end) cursor = 0;
      const uint64_t count = std::min<uint64_t>(64, end - cursor);
      good = Many(cursor, count);
      cursor += count;
      for (int i = 0; i < 8; ++i) {
        good =
            good && One(random_() % end) && Into(random_() % end) && One(end - 1 - random_() % 400);
      }
    }
    for (uint64_t item = 0; good && item < world_->ledger.capacity(); item += 1000) {
      good = Many(item, std::min<uint64_t>(1000, world_->ledger.capacity() - item));
    }
    const ClientStats stats = client_.stats();
    world_->progress->gets += stats.gets;
    world_->progress->refreshes += stats.refreshes;
    world_->progress->fallbacks += stats.fallbacks;
    world_->progress->readers_over_growth += stats.refreshes > 0 ? 1 : 0;
    return good ? 0 : 2;
  }

 private:
  bool One(uint64_t item) {
    const uint32_t low = world_->ledger.low(item);
    return world_->ledger.Explains(item, low, client_.Get(Ledger::KeyOf(item)));
  }
  bool Into(uint64_t item) {
    const uint32_t low = world_->ledger.low(item);
    return world_->ledger.Explains(item, low, client_.GetInto(Ledger::KeyOf(item), buffer_));
  }
  bool Many(uint64_t first, uint64_t count) {
    std::vector<std::string> names;
    std::vector<uint32_t> lows;
    for (uint64_t item = first; item < first + count; ++item) {
      names.push_back(Ledger::KeyOf(item));
      lows.push_back(world_->ledger.low(item));
    }
    const std::vector<std::string_view> keys(names.begin(), names.end());
    bool good = true;
    uint64_t told = 0;
    client_.GetMany(keys, [&](size_t index, Client::GetResult result) {
      good = world_->ledger.Explains(first + index, lows[index], result) && good;
      ++told;
    });
    return good && told == count;
  }

  World* world_;
  Client client_;
  std::mt19937_64 random_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(50'000);
};

// Dumps must not miss what was there from their begin to their end, nor show what never was.
class Dumper {
 public:
  explicit Dumper(World* world) : world_(world), client_(world->server.Connect(Patient(0))) {}

  int Run() {
    do {
      const uint64_t growths = test::StatOf(&client_, "growths");
      if (!Dump()) return 2;
      ++world_->progress->scans;
      if (test::StatOf(&client_, "growths") > growths) ++world_->progress->scans_over_growth;
    } while (!world_->progress->done);
    return 0;
  }

 private:
  bool Dump() {
    const uint64_t begun = world_->progress->begun;
    std::vector<uint32_t> lows(begun);
    for (uint64_t item = 0; item < begun; ++item) lows[item] = world_->ledger.low(item);
    std::vector<bool> seen(begun);
    bool good = true;
    const auto summary = client_.Scan([&](std::string_view key, const Item& found) {
      const uint64_t item = std::stoull(std::string(key.substr(1)));
      const uint32_t low = item < begun ? lows[item] : 0;
      good = good && world_->ledger.Explains(item, low, std::optional(found));
      if (item < begun) seen[item] = true;
      return good;
    });
    if (!summary) std::fprintf(stderr, "a dump failed: %s\n", summary.error().message.c_str());
    for (uint64_t item = 0; good && summary && item < begun; ++item) {
      good =
          seen[item] || world_->ledger.AllowsAbsence(item, lows[item], world_->ledger.high(item));
      if (!good) std::fprintf(stderr, "a dump missed item %lu (low %u)\n", item, lows[item]);
    }
    return good && summary && summary->unreadable == 0;
  }

  World* world_;
  Client client_;
};

void Report(World* world, std::chrono::steady_clock::duration spent) {
  Client client = world->server.Connect(Patient(0));
  const Progress& progress = *world->progress.get();
  const auto stat = [&client](const char* name) { return test::StatOf(&client, name); };
  std::printf("%lu items, %.1f s, %lu growths, table %lu MiB, memory %lu MiB used, %lu committed\n",
              stat("items"), std::chrono::duration<double>(spent).count(), stat("growths"),
              stat("table_bytes") >> 20, stat("memory_used_bytes") >> 20,
              stat("memory_committed_bytes") >> 20);
  std::printf(
      "%lu GETs, %lu by message, %lu refreshes; %lu dumps, %lu over a growth; %lu dropped\n",
      progress.gets.load(), progress.fallbacks.load(), progress.refreshes.load(),
      progress.scans.load(), progress.scans_over_growth.load(),
      stat("clients_dropped_unconfirmed"));
}

void GrowUnderReaders(uint64_t items, std::vector<std::string> options) {
  const uint64_t memory_mib = 256 + items / 1250;
  options.insert(options.end(), {"--memory", std::to_string(memory_mib) + "M"});
  World world(items, std::move(options));
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(Writer(&world).Extend(kFirstItems));
  std::vector<Child> children;
  for (const size_t cache_bytes : std::initializer_list<size_t>{0, 2048, 16 << 20}) {
    children.push_back(
        Child::Fork([&world, cache_bytes] { return Reader(&world, cache_bytes).Run(); }));
  }
  children.push_back(Child::Fork([&world] { return Dumper(&world).Run(); }));
  Child writer = Child::Fork([&world] { return Writer(&world).Extend(world.items) ? 0 : 1; });
  const int limit_seconds = static_cast<int>((test::kSanitized ? 300 : 90) + items / 10'000);
  EXPECT_EQ(writer.Wait(limit_seconds), 0) << "a write failed, or hangs (-1000)";
  const auto written = std::chrono::steady_clock::now();
  world.progress->done = true;
  for (size_t i = 0; i < children.size(); ++i) {
    EXPECT_EQ(children[i].Wait(limit_seconds), 0) << "process " << i << " (2: a wrong GET or dump)";
  }
  Report(&world, written - began);
  Client client = world.server.Connect();
  EXPECT_GE(test::StatOf(&client, "growths"), 3);
  EXPECT_EQ(test::StatOf(&client, "corrupt"), 0);
  EXPECT_EQ(test::StatOf(&client, "no_space"), 0);
  EXPECT_EQ(world.progress->readers_over_growth, 3);
}

// The thread sanitizer writes 2,000 a second where other tests run beside it.
uint64_t ItemsAtTheEnd() {
  return test::NumberFrom("PLOV_GROWTH_ITEMS", test::kThreadSanitizer ? 100'000 : 300'000);
}

TEST(Growth, NoItemIsEverMissing) { GrowUnderReaders(ItemsAtTheEnd(), {}); }

TEST(Growth, NoItemIsEverMissingInTwoShards) {
  GrowUnderReaders(ItemsAtTheEnd() / 3, {"--shards", "2"});
}

TEST(Growth, NoItemIsEverMissingInLargeBuckets) {
  GrowUnderReaders(ItemsAtTheEnd() / 3, {"--bucket-bytes", "128"});
}

}  // namespace
}  // namespace plov
