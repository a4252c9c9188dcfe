// COMMITs of a store (W12): what readers see of one between any two stores of it, what it leaves, and what refuses it.
// This executable compiles the store once more under an observer of shared words.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/server/store_world.h"
#include "tests/server/test_log.h"
#include "tests/watched/watched_words.h"

namespace plov::server {
namespace {

using verify::Operation;
using Random = std::mt19937_64;

verify::Request PutOf(std::string_view key, std::string_view value) {
  return RequestOf(Operation::kPut, key, value);
}
verify::Request DeleteOf(std::string_view key) { return RequestOf(Operation::kDelete, key); }

StoreOptions TightOptions() {
  StoreOptions options = StoreWorld::SmallOptions();
  options.bucket_count = 64;
  options.grows = true;
  options.stashes = true;
  return options;
}

// The stores of a server's shards; strict: of one, with a log.
class Worlds {
 public:
  Worlds(const StoreOptions& options, uint32_t count, bool is_strict = false) : turns_(count) {
    std::vector<Siblings::Sibling> all;
    for (uint32_t i = 0; i < count; ++i) {
      StoreOptions one = options;
      one.shard = i;
      one.shard_count = count;
      worlds_.push_back(std::make_unique<StoreWorld>(one));
      all.push_back({&worlds_[i]->store(), &turns_[i], [this] { ++told_; }});
    }
    siblings_.emplace(std::move(all));
    if (!is_strict) return;
    log_.emplace(log::CommitMode::kStrict);
    worlds_[0]->store().LogTo(&log_->commit(), log_->mode());
  }

  StoreWorld* Of(const std::string& key) { return worlds_[siblings_->Of(key)].get(); }
  const std::vector<std::unique_ptr<StoreWorld>>& all() const { return worlds_; }
  WriteReply Commit(const verify::Transaction& transaction) {
    const auto& first =
        transaction.reads.empty() ? transaction.writes.front().key : transaction.reads.front().key;
    StoreWorld* world = Of(std::string(first));
    return DoCommit(&world->store(), transaction, world->now_us, {},
                    worlds_.size() > 1 ? &*siblings_ : nullptr);
  }
  bool is_strict() const { return log_.has_value(); }
  // What was answered is in the table then.
  void Publish() {
    if (!log_) return;
    log_->Commit();
    while (worlds_[0]->store().PublishDurable(1)) continue;
  }
  // How often a store was told that it has changed.
  uint64_t told() const { return told_; }

 private:
  std::vector<TurnLock> turns_;
  std::optional<TestLog> log_;
  std::vector<std::unique_ptr<StoreWorld>> worlds_;
  std::optional<Siblings> siblings_;
  uint64_t told_ = 0;
};

// One for each key, so that what it remembers of it stays as it was before the COMMIT.
struct Reader {
  explicit Reader(StoreWorld* world) : knows(world, size_t{1} << 12), knows_nothing(world) {}
  OneSidedReader knows;
  OneSidedReader knows_nothing;
};

// The value; "" when it is absent, nullopt while that is not to be told by READs.
std::optional<std::string> Seen(StoreWorld* world, OneSidedReader* reader, const std::string& key) {
  const Answer answer = reader->Get(key);
  const auto home = world->BucketAt(world->WaysOf(key)[0]);
  // Who finds it nowhere else asks the server, which answers when the COMMIT is over.
  if (home && home->stashed() && !world->IndexOf(key)) return std::nullopt;
  if (answer.hit()) return answer.item.value;
  if (answer.absent()) return "";
  return std::nullopt;
}

class CommitWatch {
 public:
  CommitWatch(uint64_t seed, const StoreOptions& options, size_t keys, uint32_t shards = 1,
              bool is_strict = false)
      : random_(seed), worlds_(options, shards, is_strict) {
    for (size_t i = 0; i < keys; ++i) {
      keys_.push_back("key" + std::to_string(i));
      values_[keys_.back()] = "";
    }
    for (const std::string& key : keys_) {
      if (OneIn(2)) continue;
      values_[key] = Value();
      EXPECT_EQ(worlds_.Of(key)->Put(key, values_[key]).status, Code::kOk);
    }
    worlds_.Publish();
  }

  void Step() {
    verify::Transaction all;
    std::vector<std::string> values;
    values.reserve(8);
    const auto before = values_;
    for (size_t i = 1 + Below(6); i > 0; --i) {
      const std::string& key = keys_[Below(keys_.size())];
      values.push_back(OneIn(3) ? "" : Value());
      all.writes.push_back(values.back().empty() ? DeleteOf(key) : PutOf(key, values.back()));
      values_[key] = values.back();
    }
    for (const auto& world : worlds_.all()) world->Refresh();
    std::vector<std::unique_ptr<Reader>> readers;
    for (const std::string& key : keys_) {
      readers.push_back(std::make_unique<Reader>(worlds_.Of(key)));
      Seen(worlds_.Of(key), &readers.back()->knows, key);  // remembers where it is
    }
    bool has_new = false;
    std::optional<WriteReply> reply;
    if (worlds_.is_strict()) reply = worlds_.Commit(all);  // which no reader sees yet
    verify::store_observer = [&](verify::Store, const uint64_t*) {
      if (!wrong_.empty()) return;
      ++looks_;
      Look(before, &readers, &has_new);
    };
    if (!reply) reply = worlds_.Commit(all);
    worlds_.Publish();
    verify::store_observer = nullptr;
    EXPECT_EQ(reply->status, Code::kOk);
    EXPECT_EQ(wrong_, "");
    for (const auto& world : worlds_.all()) {
      world->store().growth().OnConfirmed(UINT64_MAX);
      if (OneIn(4)) world->store().OnIdle();
      world->Refresh();
    }
    for (const std::string& key : keys_) {
      const Answer answer = OneSidedReader(worlds_.Of(key)).Get(key);
      EXPECT_EQ(answer.hit() ? answer.item.value : "", values_.at(key)) << key;
    }
  }

  uint64_t looks() const { return looks_; }
  uint64_t torn() const { return torn_; }
  const Worlds& worlds() const { return worlds_; }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  std::string Value() {
    const uint64_t number = ++written_;
    return OneIn(2) ? InlineValue(number) : RecordValue(number, 60 + Below(300));
  }

  // Once any key shows what it is to become no other one shows what it was.
  void Look(const std::map<std::string, std::string>& before,
            std::vector<std::unique_ptr<Reader>>* readers, bool* has_new) {
    std::string old;
    for (size_t i = 0; i < keys_.size() && wrong_.empty(); ++i) {
      const std::string& key = keys_[i];
      for (OneSidedReader* reader : {&(*readers)[i]->knows, &(*readers)[i]->knows_nothing}) {
        LookAt(key, Seen(worlds_.Of(key), reader, key), before.at(key), &old, has_new);
      }
    }
    if (*has_new && !old.empty() && wrong_.empty())
      wrong_ = old + " is as it was, and others are not";
  }
  void LookAt(const std::string& key, const std::optional<std::string>& seen,
              const std::string& before, std::string* old, bool* has_new) {
    const std::string& after = values_.at(key);
    torn_ += seen ? 0 : 1;
    if (!seen || (before == after && *seen == after)) return;
    if (*seen != before && *seen != after) {
      wrong_ = key + " is neither as it was nor as it is to be";
    } else if (*seen == after) {
      *has_new = true;
    } else {
      *old = key;
    }
  }

  Random random_;
  Worlds worlds_;
  std::vector<std::string> keys_;
  std::map<std::string, std::string> values_;  // "": it is absent
  uint64_t written_ = 0;
  uint64_t looks_ = 0;
  uint64_t torn_ = 0;
  std::string wrong_;
};

TEST(StoreCommit, IsSeenWholeOrNotAtAllBetweenAnyTwoStores) {
  uint64_t looks = 0, torn = 0, grew = 0, displaced = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    CommitWatch watch(seed, TightOptions(), 40 + 40 * (seed % 4));
    for (int i = 0; i < 12; ++i) watch.Step();
    looks += watch.looks();
    torn += watch.torn();
    grew += watch.worlds().all()[0]->store().growth().growths();
    displaced += watch.worlds().all()[0]->store().table().stats().moves;
  }
  EXPECT_GT(looks, 10'000u);
  EXPECT_GT(torn, 1'000u);
  EXPECT_GT(grew, 0u);
  EXPECT_GT(displaced, 0u);
}

// Where the log has it before the table, which has room: the readers here cannot ask for what is stashed.
TEST(StoreCommit, IsSoWhenItIsDurable) {
  uint64_t looks = 0, torn = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    CommitWatch watch(seed, TightOptions(), 40 + 40 * (seed % 2), 1, true);
    for (int i = 0; i < 12; ++i) watch.Step();
    looks += watch.looks();
    torn += watch.torn();
  }
  EXPECT_GT(looks, 2'000u);
  EXPECT_GT(torn, 500u);
}

// Full tables, where keys find no bucket.
TEST(StoreCommit, IsSoWhereKeysAreStashed) {
  uint64_t stashed = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    StoreOptions options = TightOptions();
    options.grows = false;
    CommitWatch watch(seed, options, 140);
    for (int i = 0; i < 12; ++i) watch.Step();
    stashed += watch.worlds().all()[0]->store().table().stash().added();
  }
  EXPECT_GT(stashed, 0u);
}

TEST(StoreCommit, IsSoOverSeveralShards) {
  uint64_t looks = 0, torn = 0, told = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    CommitWatch watch(seed, TightOptions(), 40 + 40 * (seed % 4), seed % 2 == 0 ? 2 : 3);
    for (int i = 0; i < 12; ++i) watch.Step();
    looks += watch.looks();
    torn += watch.torn();
    told += watch.worlds().told();
  }
  EXPECT_GT(looks, 5'000u);
  EXPECT_GT(torn, 1'000u);
  EXPECT_GT(told, 100u);
}

// Whatever versions the shards have had, which each begins somewhere.
TEST(StoreCommit, HasConsecutiveVersionsOverSeveralShards) {
  for (int i = 0; i < 8; ++i) {
    Worlds worlds(TightOptions(), 3);
    uint64_t last = 0;
    std::set<StoreWorld*> of;
    for (const char* key : {"a", "b", "c", "e"}) {
      last = std::max(last, worlds.Of(key)->Put(key, "1").version);
      of.insert(worlds.Of(key));
    }
    ASSERT_GT(of.size(), 1u);
    const verify::Transaction all{.reads = {{"new", 0}},
                                  .writes = {PutOf("a", "2"), PutOf("b", "2"), DeleteOf("c"),
                                             PutOf("a", "3"), PutOf("e", "2")}};
    EXPECT_EQ(worlds.Commit(all).version, last + 5);
    const auto version = [&](const char* key) {
      return OneSidedReader(worlds.Of(key)).Get(key).item.version;
    };
    EXPECT_EQ(version("b"), last + 2);
    EXPECT_EQ(version("a"), last + 4);
    EXPECT_EQ(version("e"), last + 5);
    EXPECT_TRUE(OneSidedReader(worlds.Of("c")).Get("c").absent());
    EXPECT_GT(worlds.Of("b")->Put("b", "4").version, last + 2);
  }
}

// Of one of several shards, too, or by a read of one that is not written.
TEST(StoreCommit, IsRefusedWhereAReadOfAnotherShardDoesNotStand) {
  Worlds worlds(TightOptions(), 2);
  const std::string here = "a";
  std::string there = "b";
  while (worlds.Of(there) == worlds.Of(here)) there += "b";
  const WriteReply put = worlds.Of(there)->Put(there, "1");
  verify::Transaction all{.reads = {{there, put.version + 1}}, .writes = {PutOf(here, "2")}};
  EXPECT_EQ(worlds.Commit(all).status, Code::kVersionMismatch);
  EXPECT_TRUE(OneSidedReader(worlds.Of(here)).Get(here).absent());
  all.reads = {{there, put.version}};
  EXPECT_EQ(worlds.Commit(all).status, Code::kOk);
  EXPECT_EQ(OneSidedReader(worlds.Of(here)).Get(here).item.value, "2");
}

TEST(StoreCommit, AppliesItsWritesInTheirOrder) {
  StoreWorld world(TightOptions());
  const WriteReply first = world.Put("a", "1");
  verify::Transaction all;
  all.reads = {{"a", first.version}, {"b", 0}};
  all.writes = {PutOf("a", "2"), PutOf("b", "2"), DeleteOf("a"), PutOf("b", "3"), DeleteOf("none")};
  const WriteReply reply = DoCommit(&world.store(), all, world.now_us);
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_EQ(reply.version, first.version + 5);
  EXPECT_TRUE(Holds(&world, {{"b", {.value = "3", .version = first.version + 4}}}));
}

TEST(StoreCommit, IsRefusedWhereAReadDoesNotStand) {
  StoreWorld world(TightOptions());
  const WriteReply a = world.Put("a", "1");
  const WriteReply b = world.Put("b", "1");
  const Model before = {{"a", {.value = "1", .version = a.version}},
                        {"b", {.value = "1", .version = b.version}}};
  using Reads = std::vector<verify::TransactionRead>;
  for (const Reads& reads : {Reads{{"a", a.version}, {"b", a.version}}, Reads{{"a", 0}},
                             Reads{{"c", b.version}}, Reads{{"c", 0}, {"b", b.version + 1}}}) {
    verify::Transaction all{.reads = reads, .writes = {PutOf("a", "2"), DeleteOf("b")}};
    EXPECT_EQ(DoCommit(&world.store(), all, world.now_us).status, Code::kVersionMismatch);
    EXPECT_TRUE(Holds(&world, before));
  }
  const verify::Transaction reads{.reads = {{"a", a.version}, {"c", 0}}, .writes = {}};
  EXPECT_EQ(DoCommit(&world.store(), reads, world.now_us).status, Code::kOk);
}

TEST(StoreCommit, TakesAnExpiredItemForAbsent) {
  StoreWorld world(TightOptions());
  const WriteReply put = world.Put("a", "1", {.ttl_seconds = 1});
  world.now_us += 10'000'000;
  verify::Transaction all{.reads = {{"a", put.version}}, .writes = {PutOf("b", "2")}};
  EXPECT_EQ(DoCommit(&world.store(), all, world.now_us).status, Code::kVersionMismatch);
  all.reads = {{"a", 0}};
  EXPECT_EQ(DoCommit(&world.store(), all, world.now_us).status, Code::kOk);
}

// All or none, also where some of it would fit.
TEST(StoreCommit, LeavesEverythingAsItWasWhereMemoryIsFull) {
  StoreOptions options = TightOptions();
  options.memory_bytes = 2 * kMiB;
  StoreWorld world(options);
  Model model;
  for (uint64_t i = 0;; ++i) {
    const std::string key = "key" + std::to_string(i), value = RecordValue(i, 4000);
    const WriteReply reply = world.Put(key, value);
    world.store().growth().OnConfirmed(UINT64_MAX);
    if (reply.status == Code::kNoSpace) break;
    model[key] = {.value = value, .version = reply.version};
  }
  const size_t allocated = world.store().records().allocated_bytes();
  const std::string small = "small", large = RecordValue(7, 600'000);
  const verify::Transaction all{.reads = {},
                                .writes = {PutOf("x", small), DeleteOf("key1"), PutOf("y", large)}};
  world.Refresh();
  EXPECT_EQ(DoCommit(&world.store(), all, world.now_us).status, Code::kNoSpace);
  world.Refresh();
  EXPECT_TRUE(Holds(&world, model));
  EXPECT_EQ(world.store().records().allocated_bytes(), allocated);
}

TEST(StoreCommit, TakesNothingThatNoClientSends) {
  StoreWorld world(TightOptions());
  const std::string whole =
      verify::EncodeTransaction({.reads = {{"a", 0}}, .writes = {PutOf("b", "1")}});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    auto request = RequestOf(Operation::kCommit, "a", std::string_view(whole).substr(0, bytes));
    Transaction transaction;
    EXPECT_FALSE(transaction.Open(request, 1, &world.store())) << bytes;
  }
}

}  // namespace
}  // namespace plov::server
