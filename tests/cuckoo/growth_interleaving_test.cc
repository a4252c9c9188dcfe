// Readers against the writer of a table that grows, through many generations. Readers keep their
// views until a lookup asks for a newer one; the memory of old tables is given away meanwhile.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "tests/cuckoo/growing_shard.h"
#include "tests/cuckoo/interleaving.h"
#include "tests/watched/watched_words.h"

namespace plov::cuckoo {
namespace {

using Phase = GrowingTable::Phase;

struct Scene {
  const char* name;
  std::array<uint64_t, 3> bucket_counts;  // of the generations, in turn
  uint32_t bucket_bytes;
  size_t key_count;
  size_t cache_bytes;
  double tick_chance;    // that readers go on after a store
  double growth_chance;  // that the writer's next step is one of growth
  uint64_t unit_bytes;   // of memory that is given away
};

void PrintTo(const Scene& scene, std::ostream* out) { *out << scene.name; }

// When the memory of an old table is given away: when no reader knows the table any more, as it
// must be, or at once, as when a client was forgotten.
enum class Giving { kWhenForgotten, kAtOnce };

// The writer and the clients of one shard.
class Stage {
 public:
  Stage(const Scene& scene, Giving giving)
      : scene_(scene),
        giving_(giving),
        shard_({.bucket_count = scene.bucket_counts[0],
                .bucket_bytes = scene.bucket_bytes,
                .hash_seed = 77,
                .region_bytes = RegionBytes(scene),
                .unit_bytes = scene.unit_bytes}),
        writer_(&shard_, KeysOf(scene)),
        random_(scene.bucket_counts[1] * 1000 + scene.key_count),
        ticks_(scene.tick_chance),
        grows_(scene.growth_chance) {
    for (int i = 0; i < 4; ++i) {
      readers_.push_back(std::make_unique<Reader<GrowingShard>>(&writer_, scene.cache_bytes));
    }
  }

  void OnStore() {
    ++store_count_;
    while (ticks_(random_)) {
      // Some go on more often than others: the last one knows old tables for long.
      const size_t number = std::min(random_() % readers_.size(), random_() % readers_.size());
      readers_[number]->Tick(store_count_, &random_, &totals_);
    }
  }

  void Step() {
    if (grows_(random_)) {
      Grow();
    } else {
      writer_.Step(&random_);
    }
  }

  const Totals& totals() const { return totals_; }

  void Report() {
    LookupStats sum;
    for (const auto& reader : readers_) {
      sum.torn_buckets += reader->stats().torn_buckets;
      sum.restarts += reader->stats().restarts;
      sum.confirmations += reader->stats().confirmations;
      sum.known_reads += reader->stats().known_reads;
      sum.known_misses += reader->stats().known_misses;
    }
    std::printf("%lu lookups: %lu hits, %lu absent, %lu asked (%lu suspicious), %lu refreshes\n",
                totals_.ended, totals_.hits, totals_.absents, totals_.asked_server,
                totals_.suspicions, totals_.refreshes);
    std::printf("%lu torn buckets, %lu restarts, %lu confirmations, %lu known (%lu old)\n",
                sum.torn_buckets, sum.restarts, sum.confirmations, sum.known_reads,
                sum.known_misses);
    std::printf("%lu generations, %lu given up, %lu stalls, %lu moves, %lu stores\n",
                shard_.current().generation, abandoned_, stalls_, shard_.table().stats().moves,
                store_count_);
    EXPECT_GT(totals_.hits, totals_.ended / 10);
    EXPECT_GT(totals_.absents, totals_.ended / 10);
    EXPECT_GT(totals_.refreshes, 200u);
    EXPECT_GT(sum.confirmations, 500u);
    EXPECT_GT(sum.torn_buckets + sum.restarts, 1000u);
    EXPECT_GT(shard_.current().generation, 50u);
    EXPECT_GT(abandoned_, 10u);
    if (giving_ == Giving::kWhenForgotten) {
      EXPECT_EQ(totals_.suspicions, 0u);
      EXPECT_LT(totals_.asked_server, totals_.ended / 20);
    } else {
      EXPECT_GT(totals_.suspicions, 0u) << "nobody has READ what was given away";
    }
  }

 private:
  static constexpr size_t kRetiredMax = 2;

  // Room for the tables that there may be at once and for the records. Little more: what is given
  // away is soon used again.
  static size_t RegionBytes(const Scene& scene) {
    const uint64_t table_bytes = std::ranges::max(scene.bucket_counts) * scene.bucket_bytes;
    return 4096 + (3 + kRetiredMax) * table_bytes + (scene.key_count + 2) * 128;
  }

  static std::vector<std::string> KeysOf(const Scene& scene) {
    std::vector<std::string> keys;
    for (size_t i = 0; i < scene.key_count; ++i) keys.push_back("k" + std::to_string(i));
    return keys;
  }

  void Grow() {
    Give();
    if (shard_.table().phase() == Phase::kSteady) {
      if (shard_.retired().size() >= kRetiredMax) return;
      const uint64_t generation = shard_.current().generation;
      shard_.Prepare(scene_.bucket_counts[generation % scene_.bucket_counts.size()]);
      return;
    }
    if (shard_.MayAbandon() && random_() % 32 == 0) {
      shard_.Abandon();
      ++abandoned_;
      return;
    }
    const bool was_stalled = shard_.table().stalled();
    shard_.Advance(random_() % 4 == 0 ? random_() % 8 : 1);
    stalls_ += !was_stalled && shard_.table().stalled();
  }

  void Give() {
    for (size_t i = 0; i < shard_.retired().size(); ++i) {
      if (giving_ == Giving::kWhenForgotten && IsKnown(shard_.retired()[i])) continue;
      shard_.Release(i, random_() % 4 == 0);
      return;
    }
  }

  bool IsKnown(const Geometry& table) const {
    return std::ranges::any_of(readers_, [&](const auto& reader) {
      return reader->view().tables[0].generation == table.generation ||
             reader->view().tables[1].generation == table.generation;
    });
  }

  Scene scene_;
  Giving giving_;
  GrowingShard shard_;
  Writer<GrowingShard> writer_;
  std::vector<std::unique_ptr<Reader<GrowingShard>>> readers_;
  Random random_;
  std::bernoulli_distribution ticks_;
  std::bernoulli_distribution grows_;
  Totals totals_;
  uint64_t store_count_ = 0;
  uint64_t abandoned_ = 0;
  uint64_t stalls_ = 0;
};

void Play(const Scene& scene, Giving giving) {
  constexpr uint64_t kLookups = 100'000;
  Stage stage(scene, giving);
  const verify::ObserverReset reset;
  verify::store_observer = [&](verify::Store, const uint64_t*) { stage.OnStore(); };
  while (stage.totals().overlapped < kLookups && !::testing::Test::HasFailure()) {
    ASSERT_NO_FATAL_FAILURE(stage.Step());
  }
  stage.Report();
}

class GrowthInterleaving : public ::testing::TestWithParam<Scene> {};

// With that, that a lookup asks for a newer view only when there is one.
TEST_P(GrowthInterleaving, EveryAnswerIsLinearizable) { Play(GetParam(), Giving::kWhenForgotten); }

// Under a view of tables whose memory now holds records, or other tables, or zeros.
TEST_P(GrowthInterleaving, AnOldViewGivesNoWrongAnswer) { Play(GetParam(), Giving::kAtOnce); }

// A next table that is smaller stalls the growth now and then.
INSTANTIATE_TEST_SUITE_P(
    Scenes, GrowthInterleaving,
    ::testing::Values(Scene{"Tiny", {8, 11, 16}, 64, 10, 0, 0.3, 0.5, 64},
                      Scene{"TinyCached", {8, 11, 16}, 64, 12, 256, 0.3, 0.5, 64},
                      Scene{"SameSize", {8, 8, 8}, 64, 8, 0, 0.3, 0.5, 64},
                      Scene{"SameSizeCached", {8, 8, 8}, 64, 9, 1024, 0.3, 0.7, 64},
                      Scene{"Slow", {16, 24, 32}, 64, 18, 0, 0.06, 0.6, 64},
                      Scene{"SlowCached", {16, 24, 32}, 64, 18, 1024, 0.06, 0.6, 8},
                      Scene{"Quick", {12, 16, 12}, 64, 17, 0, 0.6, 0.8, 8},
                      Scene{"QuickCached", {12, 16, 12}, 64, 18, 128, 0.6, 0.7, 64},
                      Scene{"Stalling", {16, 9, 13}, 64, 16, 512, 0.2, 0.6, 64},
                      Scene{"Hasty", {10, 13, 16}, 64, 10, 0, 0.05, 0.95, 64},
                      Scene{"Large", {8, 16, 11}, 128, 14, 128, 0.3, 0.6, 64}),
    [](const auto& scene) { return std::string(scene.param.name); });

}  // namespace
}  // namespace plov::cuckoo
