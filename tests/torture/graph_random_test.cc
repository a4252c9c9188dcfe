// GraphChecker on histories of a server of two shards that is right, on ones in which one thing is wrong, and compared with
// a search for an order.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/torture/sharded_world.h"
#include "torture/graph_checker.h"

namespace plov::torture {
namespace {

struct GraphChecked {
  std::string reason;
  size_t held = 0;  // at most
  uint64_t unknown_found = 0;
};

// In the order of their ends, with the horizon that this makes. kept: few, so that even a short history has operations that
// are dropped while others come.
GraphChecked CheckAsItComes(TransactionHistory records, size_t kept = 2) {
  std::ranges::sort(records, {}, &TransactionRecord::end);
  std::vector<Instant> horizons(records.size() + 1, kForever);
  for (size_t i = records.size(); i-- > 0;) {
    horizons[i] = std::min(horizons[i + 1], records[i].start);
  }
  GraphChecker checker(kept);
  GraphChecked checked;
  for (size_t i = 0; i < records.size(); ++i) {
    checker.Feed(records[i]);
    checked.held = std::max(checked.held, checker.held());
    if (i + 1 < records.size()) checker.Advance(horizons[i + 1]);
  }
  checker.Finish();
  const auto violations = checker.TakeViolations();
  checked.reason = violations.empty() ? "" : violations.front().reason;
  checked.unknown_found = checker.TakeUnknownFound();
  return checked;
}

TransactionHistory Draw(ShardedWorld* world, size_t count) {
  TransactionHistory records;
  for (size_t i = 0; i < count; ++i) records.push_back(world->Next());
  return records;
}

TEST(GraphRandom, WhatIsRightPasses) {
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    ShardedWorld world(
        {.seed = seed, .spread = seed % 2 == 0 ? 40 : 400, .unknown_in = seed % 3 * 20});
    EXPECT_EQ(CheckAsItComes(Draw(&world, 300)).reason, "") << "seed " << seed;
  }
}

TEST(GraphRandom, ALongRunIsRightAndBounded) {
  for (const Instant spread : {40, 1000}) {
    ShardedWorld world({.seed = 7, .keys = 32, .spread = spread, .unknown_in = 100});
    const GraphChecked checked = CheckAsItComes(Draw(&world, 30'000), GraphChecker::kKept);
    EXPECT_EQ(checked.reason, "");
    EXPECT_GT(checked.unknown_found, 30);
    EXPECT_LT(checked.held, 3 * GraphChecker::kKept);
  }
}

TEST(GraphRandom, WhatALongOperationHoldsIsDroppedAfterIt) {
  ShardedWorld world({.seed = 7, .keys = 32});
  TransactionHistory records = Draw(&world, 20'000);
  std::ranges::sort(records, {}, &TransactionRecord::end);
  const size_t half = records.size() / 2;
  const Instant middle = records[half].start;
  GraphChecker checker;
  for (size_t i = 0; i < half; ++i) {
    checker.Feed(records[i]);
    checker.Advance(1000);
  }
  EXPECT_GT(checker.held(), half - 1000);
  checker.Feed(Snapshot(1000, middle, {NotFound(31)}));
  checker.Advance(records[half].start - 100);
  for (size_t i = half; i < records.size(); ++i) {
    checker.Feed(records[i]);
    checker.Advance(records[i].end - 100);
  }
  EXPECT_LT(checker.held(), 3 * GraphChecker::kKept);
  checker.Finish();
  EXPECT_TRUE(checker.TakeViolations().empty());
}

// One thing made wrong in a history that is right; nullopt: there is nothing of the kind.
using Mutate = std::function<std::optional<TransactionHistory>(ShardedWorld*, TransactionHistory)>;

// Of 400 histories in which it can be done, in how many it is noticed.
int CountNoticed(const Mutate& mutate) {
  int noticed = 0;
  int made = 0;
  for (uint32_t seed = 1; made < 400 && seed < 4000; ++seed) {
    ShardedWorld world({.seed = seed});
    const TransactionHistory records = Draw(&world, 200);
    const auto wrong = mutate(&world, records);
    if (!wrong) continue;
    ++made;
    noticed += CheckAsItComes(*wrong).reason.empty() ? 0 : 1;
  }
  EXPECT_EQ(made, 400);
  return noticed;
}

// The state of the key before the one that the item is of.
const ShardedWorld::State* Former(const ShardedWorld& world, const TransactionItem& item) {
  const auto& states = world.states(item.key);
  for (size_t i = 1; i < states.size(); ++i) {
    if (item.version != 0 && states[i].item.version == item.version) return &states[i - 1];
  }
  return nullptr;
}

// choose: whether the item of the record may be made a former one.
std::optional<TransactionHistory> MakeOlder(
    ShardedWorld* world, TransactionHistory records,
    const std::function<bool(const TransactionRecord&, const ShardedWorld::State&)>& choose) {
  const size_t from = world->Below(100);
  for (size_t i = from; i < records.size(); ++i) {
    if (records[i].outcome != Outcome::kOk) continue;
    for (TransactionItem& item : std::span(records[i].items).first(records[i].count)) {
      const ShardedWorld::State* former = item.writes() ? nullptr : Former(*world, item);
      if (former == nullptr || former->item.version == 0 || !choose(records[i], *former)) continue;
      item.version = former->item.version;
      if (item.value != kForeign) item.value = former->item.value;
      return records;
    }
  }
  return std::nullopt;
}

TEST(GraphRandom, AStaleReadIsAlwaysNoticed) {
  EXPECT_EQ(CountNoticed([](ShardedWorld* world, const TransactionHistory& records) {
              return MakeOlder(
                  world, records,
                  [](const TransactionRecord& record, const ShardedWorld::State& state) {
                    return record.writes() == 0 && state.known < record.start;
                  });
            }),
            400);
}

TEST(GraphRandom, ALostUpdateIsAlwaysNoticed) {
  EXPECT_EQ(CountNoticed([](ShardedWorld* world, const TransactionHistory& records) {
              return MakeOlder(
                  world, records,
                  [](const TransactionRecord& record, const ShardedWorld::State& state) {
                    return std::ranges::any_of(record.all(), [&](const TransactionItem& item) {
                      return item.writes() && item.key == state.item.key;
                    });
                  });
            }),
            400);
}

// A snapshot finds one PUT of a commit, and what another one of it had overwritten.
TEST(GraphRandom, ACommitThatIsSeenInPartIsAlwaysNoticed) {
  EXPECT_EQ(CountNoticed([](ShardedWorld* world,
                            TransactionHistory records) -> std::optional<TransactionHistory> {
              std::map<uint64_t, size_t> commits;  // by version and key
              for (size_t i = 0; i < records.size(); ++i) {
                uint64_t version = records[i].version;
                if (records[i].outcome != Outcome::kOk) continue;
                for (const TransactionItem& item : records[i].all()) {
                  if (item.writes()) commits[version++ * 32 + item.key] = i + 1;
                }
              }
              for (TransactionRecord& record : records) {
                if (record.kind != TransactionKind::kSnapshot) continue;
                for (size_t a = 0; a < record.count; ++a) {
                  for (size_t b = 0; b < record.count; ++b) {
                    const auto& one = record.items[a];
                    auto& two = record.items[b];
                    const size_t by = commits[one.version * 32 + one.key];
                    if (a == b || by == 0 || by != commits[two.version * 32 + two.key]) continue;
                    const auto* former = Former(*world, two);
                    if (former == nullptr || former->item.version == 0) continue;
                    // Not what the same commit has written before.
                    if (commits[former->item.version * 32 + two.key] == by) continue;
                    two = former->item;
                    return records;
                  }
                }
              }
              return std::nullopt;
            }),
            400);
}

// Any read finds what was there before, whether or not something shows it: half of the intervals overlap.
TEST(GraphRandom, AnOlderReadIsMostlyNoticed) {
  const int noticed = CountNoticed([](ShardedWorld* world, const TransactionHistory& records) {
    return MakeOlder(world, records,
                     [](const TransactionRecord&, const ShardedWorld::State&) { return true; });
  });
  RecordProperty("noticed_of_400", noticed);
  EXPECT_GT(noticed, 280);
}

// Whether there is an order; the state of each key is that of the highest version of those that were done.
class OrderSearch {
 public:
  explicit OrderSearch(const TransactionHistory& records) : records_(records) {}
  bool Finds() { return From(0); }

 private:
  struct State {
    uint64_t version = 0;
    ValueId value = kForeign;
  };

  bool From(uint32_t done) {
    if (done + 1 == uint32_t{1} << records_.size()) return true;
    if (const auto known = known_.find(done); known != known_.end()) return known->second;
    bool found = false;
    for (uint32_t next = 0; next < records_.size() && !found; ++next) {
      found = (done >> next & 1) == 0 && MayCome(done, next) && From(done | uint32_t{1} << next);
    }
    return known_[done] = found;
  }

  State StateOf(uint32_t done, uint32_t key) const {
    State state;
    for (size_t i = 0; i < records_.size(); ++i) {
      if ((done >> i & 1) == 0) continue;
      uint64_t version = records_[i].version;
      for (const TransactionItem& item : records_[i].all()) {
        if (!item.writes()) continue;
        if (item.key == key && version > state.version) state = {version, item.value};
        ++version;
      }
    }
    return state;
  }

  bool MayCome(uint32_t done, uint32_t next) const {
    const TransactionRecord& record = records_[next];
    for (size_t i = 0; i < records_.size(); ++i) {
      if ((done >> i & 1) == 0 && records_[i].end < record.start) return false;
    }
    uint64_t version = record.version;
    for (const TransactionItem& item : record.all()) {
      const State state = StateOf(done, item.key);
      if (item.writes()) {
        if (state.version >= version++) return false;
        continue;
      }
      const uint64_t there = state.value == kForeign ? 0 : state.version;
      if (there != item.version || (item.value != kForeign && item.value != state.value)) {
        return false;
      }
      if (record.version != 0 && state.version >= record.version) return false;
    }
    return true;
  }

  const TransactionHistory& records_;
  std::map<uint32_t, bool> known_;
};

// One thing is made otherwise; it may still be right.
void Disturb(ShardedWorld* world, TransactionHistory* records) {
  TransactionRecord& record = (*records)[world->Below(static_cast<uint32_t>(records->size()))];
  if (world->Below(3) == 0) {
    const Instant by = world->Below(120);
    record.start += by - 60;
    record.end += by - 60;
    return;
  }
  for (TransactionItem& item : std::span(record.items).first(record.count)) {
    if (item.writes() || world->Below(2) == 0) continue;
    const auto& states = world->states(item.key);
    const auto& other = states[world->Below(static_cast<uint32_t>(states.size()))];
    const bool is_commit = record.kind == TransactionKind::kCommit;
    // A version without an answer is known to who has read it only.
    if (is_commit && !other.answered) continue;
    item = is_commit ? If(item.key, other.item.version) : other.item;
  }
}

// Those without an answer as the search takes them: what is found was applied at some time, with the versions that this
// shows. nullopt: one that nobody has found may explain absences.
std::optional<TransactionHistory> Answered(const TransactionHistory& records) {
  std::map<ValueId, uint64_t> found;
  for (const TransactionRecord& record : records) {
    for (const TransactionItem& item : record.all()) {
      if (record.outcome == Outcome::kOk && !item.writes())
        found.try_emplace(item.value, item.version);
    }
  }
  TransactionHistory answered;
  for (TransactionRecord record : records) {
    if (record.outcome == Outcome::kUnknown) {
      record.end = kForever;
      record.outcome = Outcome::kOk;
      for (const TransactionItem& item : record.all()) {
        const auto at = item.use == ItemUse::kPut ? found.find(item.value) : found.end();
        if (at != found.end()) record.version = at->second - record.IndexOfWrite(item.value);
        if (record.version == 0 && item.use == ItemUse::kDelete) return std::nullopt;
      }
      if (record.version == 0) continue;
    }
    answered.push_back(record);
  }
  return answered;
}

struct Agreement {
  int wrong = 0;
  int missed = 0;
};

// What has an order must pass.
Agreement CompareWithSearch(uint32_t unknown_in) {
  Agreement agreement;
  for (uint32_t seed = 1; seed <= 30'000; ++seed) {
    ShardedWorld world(
        {.seed = seed, .keys = 3, .spread = 60, .unknown_in = unknown_in, .refuses = false});
    TransactionHistory records = Draw(&world, 9);
    for (uint32_t i = world.Below(3); i > 0; --i) Disturb(&world, &records);
    const auto answered = Answered(records);
    if (!answered) continue;
    const bool is_right = OrderSearch(*answered).Finds();
    const std::string reason = CheckAsItComes(records, seed % 2 * GraphChecker::kKept).reason;
    if (is_right) {
      EXPECT_EQ(reason, "") << "seed " << seed;
    }
    agreement.wrong += is_right ? 0 : 1;
    agreement.missed += !is_right && reason.empty() ? 1 : 0;
  }
  return agreement;
}

TEST(GraphRandom, AgreesWithASearchForAnOrder) {
  const Agreement agreement = CompareWithSearch(0);
  RecordProperty("wrong", agreement.wrong);
  RecordProperty("missed", agreement.missed);
  EXPECT_GT(agreement.wrong, 3000);
  // None in 400,000 histories; where keys were absent at several times it can be.
  EXPECT_LE(agreement.missed, agreement.wrong / 1000);
}

TEST(GraphRandom, AgreesWithASearchWhereSomeHaveNoAnswer) {
  const Agreement agreement = CompareWithSearch(5);
  RecordProperty("wrong", agreement.wrong);
  RecordProperty("missed", agreement.missed);
  EXPECT_GT(agreement.wrong, 3000);
  // Absences that these may explain, or that they rest on.
  EXPECT_LE(agreement.missed, agreement.wrong / 20);
}

}  // namespace
}  // namespace plov::torture
