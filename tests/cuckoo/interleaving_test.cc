// Readers against the writer, interleaved at every store: real Lookups whose READs copy single
// words in any order, each word between two stores of a real Table. A history of every key says
// which answers are right.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/cuckoo/heap_shard.h"
#include "tests/cuckoo/watched_words.h"

namespace plov::cuckoo {
namespace {

using Action = Lookup::Action;
using Verdict = Table::Verdict;
using Random = std::mt19937_64;

// What a key held, one state after the other: a version, or nullopt when it was absent. A GET is
// linearizable if it answers with a state that was the newest at some instant between its start
// and its end, and not with an older one than a GET that had ended before.
class History {
 public:
  // The newest state may be seen from Begin on; from End on no older one may.
  void Begin(std::optional<uint64_t> state) { states_.push_back(state); }
  void End() { oldest_ = states_.size() - 1; }
  // The write was refused. True when no reader has seen what was never there.
  bool Undo() {
    states_.pop_back();
    return oldest_ < states_.size();
  }

  size_t oldest() const { return oldest_; }

  // Whether an answer is right for a GET that began when `oldest` was the oldest state allowed.
  bool Accept(size_t oldest, std::optional<uint64_t> answer) {
    for (size_t i = oldest; i < states_.size(); ++i) {
      if (states_[i] != answer) continue;
      oldest_ = std::max(oldest_, i);
      return true;
    }
    return false;
  }

 private:
  std::vector<std::optional<uint64_t>> states_{std::nullopt};
  size_t oldest_ = 0;
};

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

struct Totals {
  uint64_t ended = 0;
  uint64_t overlapped = 0;  // ended and had stores between start and end
  uint64_t hits = 0;
  uint64_t absents = 0;
  uint64_t asked_server = 0;
};

// The writer: puts and erases under the rules W1 to W6, and gives freed records away at once.
class Writer {
 public:
  Writer(const Scene& scene, uint64_t seed)
      : shard_({.bucket_count = scene.bucket_count,
                .bucket_bytes = scene.bucket_bytes,
                .hash_seed = seed}),
        key_count_(scene.key_count) {
    const auto fits = [&](const auto& key) { return shard_.WaysOf(key)[0] < scene.home_count; };
    for (uint64_t next = 0; keys_.size() < key_count_;) keys_.push_back(NextKey(&next, fits));
    histories_.resize(key_count_);
    // Few more than there can be items, so that memory comes back soon.
    const uint64_t area = shard_.geometry().BucketOffset(scene.bucket_count);
    for (uint64_t i = 0; i < key_count_ + 2; ++i) free_.push_back(area + i * kRecordSlotBytes);
  }

  HeapShard& shard() { return shard_; }
  const std::string& key(size_t number) const { return keys_[number]; }
  History& history(size_t number) { return histories_[number]; }
  size_t key_count() const { return key_count_; }
  size_t busy_with() const { return busy_with_; }

  void Step(Random* random) {
    busy_with_ = (*random)() % key_count_;
    const std::string& key = keys_[busy_with_];
    const uint64_t hash = shard_.HashOf(key);
    Table::Slot slot;
    const Verdict verdict = shard_.table().Find(hash, key, &slot);
    ASSERT_NE(verdict, Verdict::kCorrupt);
    const uint64_t what = (*random)() % 4;
    if (verdict == Verdict::kAbsent) {
      Insert(hash, key, random);
    } else if (what == 0) {
      Overwrite(slot, key, random);
    } else {
      Erase(hash, slot);
      // The same key again, which may now find another place free.
      if (what == 1) Insert(hash, key, random);
    }
  }

 private:
  static constexpr uint64_t kRecordSlotBytes = 96;

  verify::Bucket Item(const std::string& key, Random* random) {
    const std::string value((*random)() % 20, 'v');
    const verify::ItemView view{key, value, ++last_version_, 0, 0};
    verify::Bucket item;
    if ((*random)() % 2 == 0) {
      item.SetInline(view, shard_.geometry().bucket_bytes);
      return item;
    }
    const uint64_t offset = free_.back();
    free_.pop_back();
    const size_t bytes = verify::RecordBytes(key.size(), value.size());
    uint64_t* words = verify::WordsAt(shard_.region(), offset);
    verify::WriteRecordHead(words, view, value.size());
    verify::WriteRecordValue(words, key.size(), value);
    verify::SealRecord(words, bytes, shard_.view().record_seed);
    item.SetReference({shard_.HashOf(key), view.version, offset, static_cast<uint32_t>(bytes), 0},
                      shard_.geometry().bucket_bytes);
    return item;
  }

  void Insert(uint64_t hash, const std::string& key, Random* random) {
    const verify::Bucket item = Item(key, random);
    histories_[busy_with_].Begin(last_version_);
    if (shard_.table().Insert(hash, item)) {
      histories_[busy_with_].End();
      return;
    }
    EXPECT_TRUE(histories_[busy_with_].Undo());
    Free(item);
  }

  void Overwrite(const Table::Slot& slot, const std::string& key, Random* random) {
    const verify::Bucket item = Item(key, random);
    histories_[busy_with_].Begin(last_version_);
    Retract(slot.bucket);
    shard_.table().Replace(slot, item);
    histories_[busy_with_].End();
    Free(slot.bucket);
  }

  void Erase(uint64_t hash, const Table::Slot& slot) {
    histories_[busy_with_].Begin(std::nullopt);
    Retract(slot.bucket);
    shard_.table().Erase(hash, slot);
    histories_[busy_with_].End();
    Free(slot.bucket);
  }

  void Retract(const verify::Bucket& bucket) {
    if (bucket.kind() != verify::BucketKind::kReference) return;
    verify::RetractLive(verify::WordsAt(shard_.region(), bucket.reference().offset) + 1);
  }

  void Free(const verify::Bucket& bucket) {
    if (bucket.kind() == verify::BucketKind::kReference) free_.push_back(bucket.reference().offset);
  }

  HeapShard shard_;
  size_t key_count_;
  std::vector<std::string> keys_;
  std::vector<History> histories_;
  std::vector<uint64_t> free_;  // offsets of record slots
  uint64_t last_version_ = 0;
  size_t busy_with_ = 0;
};

// One READ under way: the words of the region in the order in which they are copied.
class Read {
 public:
  void Start(const Lookup::Want& want, Random* random) {
    want_ = want;
    copy_.assign(verify::RoundUpToWord(want.bytes) / verify::kWordBytes, 0);
    order_.resize(copy_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    switch ((*random)() % 4) {
      case 0:
        std::ranges::shuffle(order_, *random);
        break;
      case 1:
        std::ranges::reverse(order_);
        break;
      default:
        break;
    }
  }

  // Copies up to `count` more words; true when that was all.
  bool Go(std::byte* region, size_t count) {
    const uint64_t* from = verify::WordsAt(region, want_.offset);
    for (; count > 0 && !order_.empty(); --count) {
      copy_[order_.back()] = verify::LoadWord(from + order_.back());
      order_.pop_back();
    }
    return order_.empty();
  }

  Action FeedTo(Lookup* lookup, verify::Bucket* bucket) {
    const auto bytes = std::as_bytes(std::span(copy_)).first(want_.bytes);
    if (want_.record) return lookup->FeedRecord(bytes);
    std::ranges::copy(copy_, bucket->words());
    return lookup->FeedBucket(*bucket);
  }

 private:
  Lookup::Want want_{};
  std::vector<uint64_t> copy_;
  std::vector<size_t> order_;
};

// A client with one lookup at a time, which goes on a bit whenever it is ticked.
class Reader {
 public:
  Reader(Writer* writer, size_t cache_bytes) : writer_(writer), cache_(cache_bytes) {}

  void Tick(uint64_t store_count, Random* random, Totals* totals) {
    if (!is_running_) {
      Start(store_count, random);
      return;
    }
    const size_t words = (*random)() % 2 == 0 ? verify::kBucketWordsMax : 1 + (*random)() % 4;
    if (!read_.Go(writer_->shard().region(), words)) return;
    const Action action = read_.FeedTo(&lookup_, &bucket_);
    if (action == Action::kRead || action == Action::kPause) {
      read_.Start(lookup_.want(), random);
      return;
    }
    is_running_ = false;
    ++totals->ended;
    totals->overlapped += store_count != started_at_store_;
    Judge(action, totals);
  }

  const LookupStats& stats() const { return stats_; }

 private:
  void Start(uint64_t store_count, Random* random) {
    is_running_ = true;
    started_at_store_ = store_count;
    number_ = (*random)() % 2 == 0 ? writer_->busy_with() : (*random)() % writer_->key_count();
    oldest_ = writer_->history(number_).oldest();
    const std::string& key = writer_->key(number_);
    const Lookup::Context context{&writer_->shard().view(), &cache_, &stats_,
                                  [] { return uint64_t{1}; }};
    const Action action = lookup_.Start(context, key, writer_->shard().HashOf(key), 1);
    ASSERT_EQ(action, Action::kRead);
    read_.Start(lookup_.want(), random);
  }

  void Judge(Action action, Totals* totals) {
    const std::string& key = writer_->key(number_);
    if (action == Action::kAskServer) {  // no answer of its own; but nothing is damaged here
      ++totals->asked_server;
      EXPECT_FALSE(lookup_.suspect()) << key;
      return;
    }
    std::optional<uint64_t> answer;
    if (action == Action::kHit) {
      ++totals->hits;
      answer = lookup_.item().version;
      ASSERT_EQ(lookup_.item().key, key);
    } else {
      ASSERT_EQ(action, Action::kAbsent);
      ++totals->absents;
    }
    ASSERT_TRUE(writer_->history(number_).Accept(oldest_, answer))
        << key << " may not be " << (answer ? "of version " + std::to_string(*answer) : "absent");
  }

  Writer* writer_;
  LocationCache cache_;
  LookupStats stats_;
  Lookup lookup_;
  Read read_;
  verify::Bucket bucket_;
  bool is_running_ = false;
  size_t number_ = 0;
  size_t oldest_ = 0;
  uint64_t started_at_store_ = 0;
};

// The observer refers to the test's own variables, also when the test ends early.
struct ObserverReset {
  ~ObserverReset() { verify::store_observer = nullptr; }
};

class Interleaving : public ::testing::TestWithParam<Scene> {};

void Report(const Totals& totals, const std::vector<std::unique_ptr<Reader>>& readers,
            uint64_t moves) {
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

TEST_P(Interleaving, EveryAnswerIsLinearizable) {
  constexpr uint64_t kLookups = 150'000;
  const Scene& scene = GetParam();
  Random random(scene.bucket_count * 1000 + scene.key_count);
  Writer writer(scene, 77);
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 3; ++i) {
    readers.push_back(std::make_unique<Reader>(&writer, scene.cache_bytes));
  }
  Totals totals;
  uint64_t store_count = 0;
  std::bernoulli_distribution ticks(scene.tick_chance);
  const ObserverReset reset;
  verify::store_observer = [&](verify::Store, const uint64_t*) {
    ++store_count;
    while (ticks(random)) readers[random() % readers.size()]->Tick(store_count, &random, &totals);
  };
  while (totals.overlapped < kLookups && !::testing::Test::HasFailure()) {
    ASSERT_NO_FATAL_FAILURE(writer.Step(&random));
  }
  Report(totals, readers, writer.shard().table().stats().moves);
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
