// Interleaving: readers against the writer, in one thread. Real Lookups whose READs copy single
// words in any order, each word between two stores of the real writer; a history of every key says
// which answers are right.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuckoo/lookup.h"
#include "tests/cuckoo/shard_memory.h"

namespace plov::cuckoo {

using Action = Lookup::Action;
using FindResult = Table::FindResult;
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
  std::optional<uint64_t> newest() const { return states_.back(); }

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

struct Totals {
  uint64_t ended = 0;
  uint64_t overlapped = 0;  // ended and had stores between start and end
  uint64_t hits = 0;
  uint64_t absents = 0;
  uint64_t asked_server = 0;
  uint64_t suspicions = 0;  // of the above, by an old view: bytes that would never become whole
  uint64_t refreshes = 0;   // lookups begun again under a newer view
};

// The writer: puts and erases under the rules W1 to W6, and gives freed records away at once. A
// Shard has a table() of whatever kind, region(), view(), and makes items.
template <typename Shard>
class Writer {
 public:
  Writer(Shard* shard, std::vector<std::string> keys)
      : shard_(shard), keys_(std::move(keys)), histories_(keys_.size()) {}

  Shard& shard() { return *shard_; }
  const std::string& key(size_t number) const { return keys_[number]; }
  History& history(size_t number) { return histories_[number]; }
  size_t key_count() const { return keys_.size(); }
  size_t busy_with() const { return busy_with_; }

  void Step(Random* random) {
    busy_with_ = (*random)() % keys_.size();
    const std::string& key = keys_[busy_with_];
    const uint64_t hash = shard_->HashOf(key);
    Table::Slot slot;
    const FindResult verdict = shard_->table().Find(hash, key, &slot);
    ASSERT_NE(verdict, FindResult::kCorrupt);
    const uint64_t what = (*random)() % 4;
    if (verdict == FindResult::kAbsent) {
      ASSERT_FALSE(history().newest()) << key << " is lost";
      Insert(hash, key, random);
      return;
    }
    ASSERT_TRUE(history().newest()) << key << " has come back";
    if (what == 0) {
      Overwrite(slot, key, random);
    } else {
      Erase(hash, slot);
      // The same key again, which may now find another place free.
      if (what == 1) Insert(hash, key, random);
    }
  }

 private:
  History& history() { return histories_[busy_with_]; }

  verify::Bucket Item(const std::string& key, Random* random) {
    const std::string value((*random)() % 20, 'v');
    return shard_->Item(key, value, (*random)() % 2 == 0 ? Form::kInline : Form::kReference);
  }

  void Insert(uint64_t hash, const std::string& key, Random* random) {
    const verify::Bucket item = Item(key, random);
    history().Begin(shard_->last_version());
    if (shard_->table().Insert(hash, item)) {
      history().End();
      return;
    }
    EXPECT_TRUE(history().Undo());
    shard_->Free(item);
  }

  void Overwrite(const Table::Slot& slot, const std::string& key, Random* random) {
    const verify::Bucket item = Item(key, random);
    history().Begin(shard_->last_version());
    shard_->Retract(slot.bucket);
    shard_->table().Replace(slot, item);
    history().End();
    shard_->Free(slot.bucket);
  }

  void Erase(uint64_t hash, const Table::Slot& slot) {
    history().Begin(std::nullopt);
    shard_->Retract(slot.bucket);
    shard_->table().Erase(hash, slot);
    history().End();
    shard_->Free(slot.bucket);
  }

  Shard* shard_;
  std::vector<std::string> keys_;
  std::vector<History> histories_;
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
    const auto bytes = std::as_writable_bytes(std::span(copy_)).first(want_.bytes);
    if (want_.record) return lookup->FeedRecord(bytes);
    std::ranges::copy(copy_, bucket->words());
    return lookup->FeedBucket(bucket);
  }

 private:
  Lookup::Want want_{};
  std::vector<uint64_t> copy_;
  std::vector<size_t> order_;
};

// A client with one lookup at a time, which goes on a bit whenever it is ticked. It knows the shard
// by its own view, which gets old until a lookup says so.
template <typename Shard>
class Reader {
 public:
  Reader(Writer<Shard>* writer, size_t cache_bytes)
      : writer_(writer), view_(writer->shard().view()), cache_(cache_bytes) {}

  void Tick(uint64_t store_count, Random* random, Totals* totals) {
    if (!is_running_) {
      Begin(store_count, random);
      return;
    }
    const size_t words = (*random)() % 2 == 0 ? verify::kBucketWordsMax : 1 + (*random)() % 4;
    if (!read_.Go(writer_->shard().region(), words)) return;
    const Action action = read_.FeedTo(&lookup_, &bucket_);
    if (action == Action::kRead || action == Action::kPause) {
      read_.Start(lookup_.want(), random);
      return;
    }
    if (action == Action::kRefresh) {
      ++totals->refreshes;
      ASSERT_FALSE(HasNewestView()) << "no newer view can help " << writer_->key(number_);
      view_ = writer_->shard().view();
      StartLookup(random);
      return;
    }
    is_running_ = false;
    ++totals->ended;
    totals->overlapped += store_count != started_at_store_;
    Check(action, random, totals);
  }

  const ShardView& view() const { return view_; }
  const LookupStats& stats() const { return stats_; }

 private:
  bool HasNewestView() const {
    return view_.superblock_version == writer_->shard().view().superblock_version;
  }

  void Begin(uint64_t store_count, Random* random) {
    is_running_ = true;
    started_at_store_ = store_count;
    number_ = (*random)() % 2 == 0 ? writer_->busy_with() : (*random)() % writer_->key_count();
    oldest_ = writer_->history(number_).oldest();
    if ((*random)() % 64 == 0) view_ = writer_->shard().view();  // as after a new connection
    StartLookup(random);
  }

  void StartLookup(Random* random) {
    const std::string& key = writer_->key(number_);
    context_ = {&view_, &cache_, &stats_, [] { return uint64_t{1}; }};
    const Action action = lookup_.Start(&context_, key, writer_->shard().HashOf(key), 1);
    ASSERT_EQ(action, Action::kRead);
    read_.Start(lookup_.want(), random);
  }

  // The server's answer would be right. Under the newest view nothing is damaged here.
  void CheckAskServer(Random* random, Totals* totals) {
    ++totals->asked_server;
    if (lookup_.suspect()) {
      ++totals->suspicions;
      EXPECT_FALSE(HasNewestView()) << writer_->key(number_);
    }
    if ((*random)() % 2 == 0) view_ = writer_->shard().view();
  }

  void Check(Action action, Random* random, Totals* totals) {
    if (action == Action::kAskServer) {
      CheckAskServer(random, totals);
      return;
    }
    const std::string& key = writer_->key(number_);
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

  Writer<Shard>* writer_;
  ShardView view_;
  LocationCache cache_;
  LookupStats stats_;
  Lookup::Context context_{};
  Lookup lookup_;
  Read read_;
  verify::Bucket bucket_;
  bool is_running_ = false;
  size_t number_ = 0;
  size_t oldest_ = 0;
  uint64_t started_at_store_ = 0;
};

}  // namespace plov::cuckoo
