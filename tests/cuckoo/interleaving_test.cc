// Readers against the writer of one table that does not grow.
#include "tests/cuckoo/interleaving.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/cuckoo/heap_shard.h"
#include "tests/watched/watched_words.h"

namespace plov::cuckoo {
namespace {

using HeapReaders = std::vector<std::unique_ptr<Reader<HeapShard>>>;

struct Scene {
  const char* name;
  uint64_t bucket_count;
  uint32_t bucket_bytes;
  size_t key_count;
  uint64_t home_count;  // all keys are homed in the first so many buckets
  size_t cache_bytes;
  double tick_chance;  // that readers go on after a store
};

void PrintTo(const Scene& scene, std::ostream* out) { *out << scene.name; }

class Interleaving : public ::testing::TestWithParam<Scene> {};

std::vector<std::string> KeysOf(const Scene& scene, const HeapShard& shard) {
  const auto fits = [&](const auto& key) { return shard.WaysOf(key)[0] < scene.home_count; };
  std::vector<std::string> keys;
  for (uint64_t next = 0; keys.size() < scene.key_count;) keys.push_back(NextKey(&next, fits));
  return keys;
}

void Report(const Totals& totals, const HeapReaders& readers, uint64_t moves) {
  LookupStats sum;
  for (const auto& reader : readers) {
    sum.torn_buckets += reader->stats().torn_buckets;
    sum.torn_records += reader->stats().torn_records;
    sum.restarts += reader->stats().restarts;
    sum.confirmations += reader->stats().confirmations;
    sum.known_reads += reader->stats().known_reads;
    sum.known_misses += reader->stats().known_misses;
  }
  std::printf("%lu lookups, %lu of them overlapped by stores: %lu hits, %lu absent, %lu asked\n",
              totals.ended, totals.overlapped, totals.hits, totals.absents, totals.asked_server);
  std::printf("%lu torn buckets, %lu torn records, %lu restarts, %lu confirmations, ",
              sum.torn_buckets, sum.torn_records, sum.restarts, sum.confirmations);
  std::printf("%lu known (%lu old), %lu moves\n", sum.known_reads, sum.known_misses, moves);
  EXPECT_GT(totals.hits, totals.ended / 10);
  EXPECT_GT(totals.absents, totals.ended / 10);
  EXPECT_LT(totals.asked_server, totals.ended / 20);
  EXPECT_GT(moves, 1000u);
  EXPECT_GT(sum.torn_buckets + sum.torn_records + sum.restarts, 1000u);
  EXPECT_GT(sum.confirmations, 1000u);
}

void Play(const Scene& scene, uint64_t hash_seed) {
  constexpr uint64_t kLookups = 150'000;
  Random random(scene.bucket_count * 1000 + scene.key_count);
  HeapShard shard({.bucket_count = scene.bucket_count,
                   .bucket_bytes = scene.bucket_bytes,
                   .hash_seed = hash_seed});
  Writer<HeapShard> writer(&shard, KeysOf(scene, shard));
  HeapReaders readers;
  for (int i = 0; i < 3; ++i) {
    readers.push_back(std::make_unique<Reader<HeapShard>>(&writer, scene.cache_bytes));
  }
  Totals totals;
  uint64_t store_count = 0;
  std::bernoulli_distribution ticks(scene.tick_chance);
  const verify::ObserverReset reset;
  verify::store_observer = [&](verify::Store, const uint64_t*) {
    ++store_count;
    while (ticks(random)) readers[random() % readers.size()]->Tick(store_count, &random, &totals);
  };
  while (totals.overlapped < kLookups && !::testing::Test::HasFailure()) {
    ASSERT_NO_FATAL_FAILURE(writer.Step(&random));
  }
  Report(totals, readers, shard.table().stats().moves);
}

// What can go wrong among few keys depends on their places.
TEST_P(Interleaving, EveryAnswerIsLinearizable) {
  for (const uint64_t hash_seed : {uint64_t{77}, uint64_t{1}, uint64_t{3}, uint64_t{11}}) {
    SCOPED_TRACE(hash_seed);
    Play(GetParam(), hash_seed);
  }
}

// Slow readers see whole operations between two words, quick ones every state inside of one.
INSTANTIATE_TEST_SUITE_P(Scenes, Interleaving,
                         ::testing::Values(Scene{"Tiny", 8, 64, 8, 8, 0, 0.3},
                                           Scene{"TinyCached", 8, 64, 8, 8, 256, 0.3},
                                           Scene{"Slow", 16, 64, 16, 16, 0, 0.05},
                                           Scene{"SlowCached", 16, 64, 16, 16, 1024, 0.05},
                                           Scene{"Quick", 16, 64, 17, 16, 0, 0.7},
                                           Scene{"QuickCached", 16, 64, 17, 16, 256, 0.7},
                                           Scene{"Crowded", 32, 64, 30, 4, 0, 0.4},
                                           Scene{"CrowdedCached", 16, 64, 16, 3, 256, 0.4},
                                           Scene{"CrowdedMore", 16, 64, 16, 2, 0, 0.5},
                                           Scene{"Large", 16, 128, 16, 16, 64, 0.4},
                                           Scene{"Roomy", 40, 64, 40, 40, 512, 0.4}),
                         [](const auto& scene) { return std::string(scene.param.name); });

}  // namespace
}  // namespace plov::cuckoo
