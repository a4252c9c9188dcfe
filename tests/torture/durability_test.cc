// What a kill of the server may lose: histories written by hand, each with the reason, and made ones.

#include "torture/durability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/torture/generate.h"
#include "tests/torture/operations.h"
#include "torture/life_checker.h"
#include "torture/lives.h"
#include "torture/report.h"
#include "torture/shrink.h"

namespace plov::torture {
namespace {

using History = std::vector<Operation>;

constexpr Commit kModes[] = {Commit::kStrict, Commit::kAcked, Commit::kAsync};

// One restart, at 100; operations that start later are of the next life.
Rules One(Commit commit, uint64_t kept = 0) {
  return {.restarts = {{100, kept}}, .commit = commit};
}

// The reason that somebody is told, "" when the history is right.
std::string ReasonOf(const History& history, const Rules& rules) {
  const bool is_good = CheckLives(history, rules) == SearchResult::kGood;
  const auto loss = is_good ? std::nullopt : LossIn(history, rules);
  return is_good ? "" : std::string(ReasonText(loss.value_or(Reason::kNoOrder)));
}

const std::string kLost(ReasonText(Reason::kLost));
const std::string kReadThenLost(ReasonText(Reason::kReadThenLost));
const std::string kGap(ReasonText(Reason::kGap));
const std::string kNoOrder(ReasonText(Reason::kNoOrder));

void Expect(const History& history, const std::string& strict, const std::string& acked,
            const std::string& async) {
  EXPECT_EQ(ReasonOf(history, One(Commit::kStrict)), strict) << Show(history);
  EXPECT_EQ(ReasonOf(history, One(Commit::kAcked)), acked) << Show(history);
  EXPECT_EQ(ReasonOf(history, One(Commit::kAsync)), async) << Show(history);
}

TEST(Durability, WhatStaysIsRight) {
  Expect({Put(10, 20, 1, 5), Hit(110, 120, 1, 5)}, "", "", "");
  Expect({Put(10, 20, 1, 5), Deletes(30, 40), Miss(110, 120)}, "", "", "");
  Expect({Miss(10, 20), Miss(110, 120), Put(130, 140, 1, 5)}, "", "", "");
}

TEST(Durability, WhatIsAcknowledgedIsNotLost) {
  const History lost = {Put(10, 20, 1, 5), Miss(110, 120)};
  Expect(lost, kLost, kLost, "");
  Expect({Put(10, 20, 1, 5), Put(30, 40, 2, 6), Hit(110, 120, 1, 5)}, kLost, kLost, "");
  Expect({Put(10, 20, 1, 5), Deletes(30, 40), Hit(110, 120, 1, 5)}, kLost, kLost, "");
  Expect({Put(10, 20, 1, 5), Over(5, Put(30, 40, 2, 6)), Hit(110, 120, 1, 5)}, kLost, kLost, "");
}

TEST(Durability, WhatWasReadIsLostWithAckedOnly) {
  const Operation unknown = Unknown(Put(30, 0, 2, 0));
  Expect({Put(10, 20, 1, 5), unknown, Hit(40, 50, 2, 6), Hit(110, 120, 1, 5)}, kReadThenLost, "",
         "");
  Expect({unknown, Hit(40, 50, 2, 6), Miss(110, 120)}, kReadThenLost, "", "");
  // A DELETE without an answer that was seen and undone.
  Expect({Put(10, 20, 1, 5), Unknown(Deletes(30, 0)), Miss(40, 50), Hit(110, 120, 1, 5)},
         kReadThenLost, "", "");
  // Nobody has seen it: it may be there or not.
  Expect({Put(10, 20, 1, 5), unknown, Hit(110, 120, 1, 5)}, "", "", "");
  Expect({Put(10, 20, 1, 5), unknown, Hit(110, 120, 2, 6)}, "", "", "");
}

// Only the GET says that the DELETE removes what the PUT has left.
TEST(Durability, AConditionMayRestOnAVersionThatOnlyAGetHasTold) {
  const Operation put = Unknown(Put(10, 0, 1, 0));
  const Operation deletes = Unknown(Over(6, Deletes(40, 0)));
  Expect({Put(1, 5, 2, 5), put, Hit(20, 30, 1, 6), deletes, Miss(110, 120)}, "", "", "");
  Expect(
      {Put(1, 5, 2, 5), put, Hit(20, 30, 1, 6), Unknown(Over(7, Deletes(40, 0))), Miss(110, 120)},
      kLost, kLost, "");
}

// A write that found what an unanswered one had left, and was answered.
TEST(Durability, ARefusalPromisesWhatItTells) {
  const Operation unknown = Unknown(Put(10, 0, 1, 0));
  Expect({unknown, Exists(30, 40, 2), Miss(110, 120)}, kLost, kLost, "");
  Expect({unknown, Hit(20, 25, 1, 5), Over(5, Put(30, 40, 2, 6)), Hit(110, 120, 1, 5)}, kLost,
         kLost, "");
  Expect({Put(10, 20, 1, 5), Unknown(Deletes(30, 0)), Miss(40, 50, Kind::kDelete),
          Hit(110, 120, 1, 5)},
         kLost, kLost, "");
}

TEST(Durability, AsyncGoesBackToAMomentOfTheLife) {
  const History life = {Put(10, 20, 1, 5), Put(30, 40, 2, 6), Deletes(50, 60), Put(70, 80, 3, 7)};
  const auto with = [&life](const Operation& after) {
    History history = life;
    history.push_back(after);
    return history;
  };
  Expect(with(Miss(110, 120)), kLost, kLost, "");
  Expect(with(Hit(110, 120, 1, 5)), kLost, kLost, "");
  Expect(with(Hit(110, 120, 2, 6)), kLost, kLost, "");
  Expect(with(Hit(110, 120, 3, 7)), "", "", "");
  // What nobody has written, and the value of one write under the version of another.
  Expect(with(Hit(110, 120, 9, 8)), kNoOrder, kNoOrder, kNoOrder);
  Expect(with(Hit(110, 120, 1, 6)), kNoOrder, kNoOrder, kNoOrder);
}

TEST(Durability, AsyncGoesBackOnceAndNeverForward) {
  const History lost = {Put(10, 20, 1, 5), Put(30, 40, 2, 6), Hit(110, 120, 1, 5)};
  const auto with = [&lost](const Operation& next) {
    History history = lost;
    history.push_back(next);
    return history;
  };
  EXPECT_EQ(ReasonOf(with(Hit(130, 140, 1, 5)), One(Commit::kAsync)), "");
  // Back from the dead.
  EXPECT_EQ(ReasonOf(with(Hit(130, 140, 2, 6)), One(Commit::kAsync)), kNoOrder);
  EXPECT_EQ(ReasonOf(with(Miss(130, 140)), One(Commit::kAsync)), kNoOrder);
  // Also in a life after that, though what it was then may be gone again.
  Rules two = One(Commit::kAsync);
  two.restarts.push_back({200, 0});
  EXPECT_EQ(ReasonOf(with(Hit(210, 220, 2, 6)), two), kNoOrder);
  EXPECT_EQ(ReasonOf(with(Hit(210, 220, 1, 5)), two), "");
  History again = with(Put(130, 140, 3, 9));
  again.push_back(Hit(210, 220, 1, 5));
  EXPECT_EQ(ReasonOf(again, two), "");
  // What a life began with is not lost by it.
  EXPECT_NE(ReasonOf({Put(10, 20, 1, 5), Hit(110, 120, 1, 5), Miss(210, 220)}, two), "");
}

// A write without an answer that nobody has seen in its life is in the log, or never comes.
TEST(Durability, AWriteOfALifeThatEndedDoesNotComeLater) {
  const Operation unknown = Unknown(Put(10, 0, 1, 0));
  for (const Commit commit : {Commit::kAcked, Commit::kAsync}) {
    EXPECT_EQ(ReasonOf({unknown, Hit(110, 120, 1, 5)}, One(commit)), "");
    EXPECT_NE(ReasonOf({unknown, Miss(110, 120), Hit(130, 140, 1, 5)}, One(commit)), "");
  }
}

TEST(Durability, AVersionBeforeTheOneThatWasKeptIsNotLost) {
  const History lost = {Put(10, 20, 1, 5), Put(30, 40, 2, 7), Hit(110, 120, 1, 5)};
  EXPECT_EQ(ReasonOf(lost, One(Commit::kAsync, 6)), "");
  EXPECT_EQ(ReasonOf(lost, One(Commit::kAsync, 8)), kGap);
  const History absent = {Put(10, 20, 1, 5), Miss(110, 120)};
  EXPECT_EQ(ReasonOf(absent, One(Commit::kAsync, 4)), "");
  EXPECT_EQ(ReasonOf(absent, One(Commit::kAsync, 6)), kGap);
  // It may have been deleted, if somebody did that after it.
  EXPECT_EQ(ReasonOf({Put(10, 20, 1, 5), Unknown(Deletes(30, 0)), Miss(110, 120)},
                     One(Commit::kAsync, 6)),
            "");
  EXPECT_EQ(ReasonOf({Put(10, 20, 1, 5), Deletes(30, 40), Put(50, 60, 2, 6), Miss(110, 120)},
                     One(Commit::kAsync, 7)),
            kGap);
  // What was read and is gone with acked, though a later write was answered.
  EXPECT_EQ(ReasonOf({Unknown(Put(30, 0, 2, 0)), Hit(40, 50, 2, 6), Miss(110, 120)},
                     One(Commit::kAcked, 9)),
            kGap);
}

// Its client was answered when the server was dead already, or got the next server's answer.
TEST(Durability, AnOperationOverTheRestartBelongsToEitherLife) {
  EXPECT_EQ(
      ReasonOf({Put(10, 20, 1, 5), Put(90, 105, 2, 6), Hit(110, 120, 2, 6)}, One(Commit::kAcked)),
      "");
  EXPECT_EQ(
      ReasonOf({Put(90, 105, 1, 5), Miss(102, 103), Hit(110, 120, 1, 5)}, One(Commit::kAcked)), "");
}

// All keys of one shard are cut at one version.
TEST(LifeChecker, KeysAreCutTogether) {
  for (const bool is_one_shard : {true, false}) {
    LifeChecker checker(Commit::kAsync, is_one_shard);
    checker.Begin(1);
    Operation first = Put(10, 20, 1, 5), second = Put(30, 40, 2, 6);
    second.key = 1;
    checker.Feed(first);
    checker.Feed(second);
    Operation gone = Miss(110, 120), kept = Hit(110, 120, 2, 6);
    kept.key = 1;
    const std::vector<Operation> survey = {gone, kept};
    const auto violations = checker.End(100, survey);
    if (!is_one_shard) {
      EXPECT_TRUE(violations.empty());
      continue;
    }
    ASSERT_EQ(violations.size(), 1U);
    EXPECT_EQ(violations[0].key, 0U);
    EXPECT_EQ(violations[0].reason, Reason::kGap);
    EXPECT_EQ(violations[0].restarts, std::vector<Restart>({{100, 6}}));
  }
}

TEST(LifeChecker, TheNextLifeBeginsWithWhatTheSurveyFound) {
  LifeChecker checker(Commit::kAcked, true);
  checker.Begin(1);
  checker.Feed(Put(10, 20, 1, 5));
  EXPECT_TRUE(checker.End(100, std::vector{Hit(110, 120, 1, 5)}).empty());
  EXPECT_EQ(checker.before(0).version, 5U);
  EXPECT_EQ(checker.begin(), 100);
  const auto violations = checker.End(200, std::vector{Miss(210, 220)});
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations[0].reason, Reason::kLost);
  const Finding finding = Explain(violations[0], Initial::kAbsent);
  EXPECT_TRUE(finding.is_minimal);
  EXPECT_EQ(Timeline(finding), std::string_view(R"(
key 0: lost: acknowledged, then gone after a kill, at 220 ns
before: anything
  |                99..99     before PUT p0#1             ok, version 5
     |             100..100   server KILL                 started again
     |             100..100   tool GET                  p0#1, version 5
        |          200..200   server KILL                 started again
           |--|    210..220   p0   GET                  absent
)")
                                   .substr(1));
}

TEST(LifeChecker, ARunsStrictViolationIsNamed) {
  for (const bool is_acknowledged : {true, false}) {
    IntervalChecker checker;
    const Operation put = Put(30, 40, 2, 6);
    for (const Operation& operation : {Put(10, 20, 1, 5), is_acknowledged ? put : Unknown(put),
                                       Hit(50, 60, 2, 6), Hit(110, 120, 1, 5)}) {
      checker.Feed(operation);
    }
    checker.Finish();
    auto violations = checker.TakeViolations();
    ASSERT_EQ(violations.size(), 1U);
    violations[0].restarts = {{100, 0}};
    EXPECT_EQ(Explain(violations[0], Initial::kAbsent).reason,
              is_acknowledged ? kLost : kReadThenLost);
  }
}

TEST(LifeChecker, AWriteThatWaitedForTheRestartShowsTheLossToo) {
  IntervalChecker checker;
  for (const Operation& operation : {Put(10, 20, 1, 6), Put(90, 110, 2, 5)}) {
    checker.Feed(operation);
  }
  checker.Finish();
  auto violations = checker.TakeViolations();
  ASSERT_EQ(violations.size(), 1U);
  violations[0].restarts = {{100, 0}};
  const Finding finding = Explain(violations[0], Initial::kAbsent);
  EXPECT_EQ(finding.reason, kLost);
  EXPECT_EQ(finding.restarts, std::vector<Restart>({{100, 0}}));
}

// A store of a few keys in one shard, with a log that is cut where the mode lets it be.
class Store {
 public:
  static constexpr uint64_t kKeys = 3;

  Store(uint64_t seed, Commit commit) : random_(seed), commit_(commit) {}

  Operation Do(uint64_t unknown_percent) {
    const Instant start = now_ + 1, instant = std::max(start, instant_ + 1) + Any(4);
    instant_ = instant;
    Operation operation = Done(static_cast<Kind>(Below(&random_, 7)), start, instant + Any(4));
    now_ = operation.end - Any(3);
    operation.key = Below(&random_, kKeys);
    if (IsConditional(operation.kind)) operation.expected = told_[operation.key];
    if (operation.expected == 0 && IsConditional(operation.kind)) operation.kind = Kind::kPut;
    if (IsStore(operation.kind)) operation.value = ++values_;
    Apply(&operation, Chance(&random_, unknown_percent));
    return operation;
  }

  // Returns the restart and what the next life begins with.
  std::pair<Restart, History> Kill() {
    now_ += 20;
    const size_t least = commit_ == Commit::kAsync ? 0 : promised_;
    log_.resize(least + Below(&random_, log_.size() - least + 1));
    for (const Write& write : log_) durable_[write.key] = write;
    items_ = durable_;
    const Restart restart = {now_, log_.empty() ? 0 : log_.back().version};
    log_.clear();
    promised_ = 0;
    versions_ += 1000;
    History survey;
    for (uint64_t key = 0; key < kKeys; ++key) {
      const Write& item = items_[key];
      Operation get = item.value == 0 ? Miss(now_ + 1, now_ + 2)
                                      : Hit(now_ + 1, now_ + 2, item.value, item.version);
      get.key = key;
      survey.push_back(get);
    }
    now_ += 10;
    return {restart, survey};
  }

 private:
  struct Write {
    uint64_t key = 0;
    uint64_t version = 0;
    ValueId value = 0;  // 0: it was deleted
  };

  Instant Any(uint64_t limit) { return static_cast<Instant>(Below(&random_, limit)); }

  void Apply(Operation* operation, bool is_unknown) {
    Write& item = items_[operation->key];
    const bool present = item.value != 0;
    const bool is_get = operation->kind == Kind::kGet;
    const bool is_done = !is_unknown || Chance(&random_, 60);
    if (is_get || (!present && operation->kind != Kind::kPut && operation->kind != Kind::kAdd)) {
      operation->outcome = present ? Outcome::kOk : Outcome::kAbsent;
      if (present) operation->value = item.value;
      if (present) operation->version = item.version;
      if (is_get && commit_ == Commit::kStrict) promised_ = log_.size();
    } else if (operation->kind == Kind::kAdd && present) {
      operation->outcome = Outcome::kExists;
    } else if (IsConditional(operation->kind) && item.version != operation->expected) {
      operation->outcome = Outcome::kMismatch;
    } else if (is_done) {
      item = {operation->key, ++versions_, IsDelete(operation->kind) ? 0 : operation->value};
      log_.push_back(item);
      operation->version = IsDelete(operation->kind) ? 0 : item.version;
    }
    if (!is_unknown || is_get)
      told_[operation->key] = std::max(told_[operation->key], operation->version);
    if (is_get) return;
    if (is_unknown) {
      *operation = Unknown(*operation);
    } else {
      promised_ = log_.size();
    }
  }

  Random random_;
  Commit commit_;
  Instant now_ = 0;
  Instant instant_ = 0;  // of the last operation
  uint64_t versions_ = 0;
  uint64_t values_ = 0;
  std::map<uint64_t, Write> items_, durable_;
  std::map<uint64_t, uint64_t> told_;  // by key: the last version that an answer told of
  std::vector<Write> log_;             // of this life
  size_t promised_ = 0;                // writes of it that may not be lost
};

struct Made {
  History history;
  std::vector<Restart> restarts;
  size_t violations = 0;  // that the life checker finds when it judges by `as`
};

Made Make(uint64_t seed, Commit commit, Commit as) {
  Store store(seed, commit);
  LifeChecker checker(as, true);
  checker.Begin(0);
  Made made;
  for (int life = 0; life < 3; ++life) {
    for (int i = 0; i < 14; ++i) {
      made.history.push_back(store.Do(i < 8 ? 20 : 95));
      checker.Feed(made.history.back());
    }
    const auto [restart, survey] = store.Kill();
    made.violations += checker.End(restart.at, survey).size();
    made.restarts.push_back(restart);
    made.history.insert(made.history.end(), survey.begin(), survey.end());
  }
  return made;
}

bool IsRight(const Made& made, Commit as) {
  for (uint64_t key = 0; key < Store::kKeys; ++key) {
    History of;
    std::ranges::copy_if(made.history, std::back_inserter(of),
                         [key](const Operation& operation) { return operation.key == key; });
    const Rules rules = {.restarts = made.restarts, .commit = as};
    if (CheckLives(of, rules) != SearchResult::kGood) return false;
  }
  return true;
}

TEST(Durability, WhatAStoreMayDoIsRight) {
  for (const Commit commit : kModes) {
    for (uint64_t seed = 0; seed < 1'500; ++seed) {
      const Made made = Make(seed, commit, commit);
      EXPECT_EQ(made.violations, 0U) << CommitName(commit) << " seed " << seed;
      ASSERT_TRUE(IsRight(made, commit)) << CommitName(commit) << " seed " << seed;
    }
  }
}

// A server that keeps less than it says is found out, nearly as often as it shows.
TEST(Durability, AWeakerStoreIsFoundOut) {
  for (const auto& [does, says] :
       {std::pair(Commit::kAcked, Commit::kStrict), std::pair(Commit::kAsync, Commit::kAcked),
        std::pair(Commit::kAsync, Commit::kStrict)}) {
    size_t by_lives = 0, at_once = 0;
    for (uint64_t seed = 0; seed < 500; ++seed) {
      const Made made = Make(seed, does, says);
      by_lives += made.violations > 0 ? 1 : 0;
      at_once += IsRight(made, says) ? 0 : 1;
    }
    const size_t least = does == Commit::kAcked ? 50 : 350;
    EXPECT_GT(by_lives, least) << CommitName(does) << " as " << CommitName(says);
    EXPECT_GT(at_once, least) << CommitName(does) << " as " << CommitName(says);
  }
}

}  // namespace
}  // namespace plov::torture
