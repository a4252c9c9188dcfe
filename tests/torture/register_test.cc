// Registers without versions: the checker against every order, and what it shows.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "tests/torture/generate.h"
#include "torture/register_checker.h"

namespace plov::torture {
namespace {

using Needs = RegisterCall::Needs;

RegisterCall Read(Instant start, Instant end, RegisterValue value) {
  return {.needs = Needs::kValue, .needed = value, .start = start, .end = end};
}

RegisterCall Write(Instant start, Instant end, RegisterValue value) {
  return {.stores = true, .next = value, .start = start, .end = end};
}

RegisterCall Cas(Instant start, Instant end, RegisterValue needed, RegisterValue next) {
  return {.needs = Needs::kValue,
          .stores = true,
          .needed = needed,
          .next = next,
          .start = start,
          .end = end};
}

RegisterCall Open(RegisterCall call) {
  call.is_open = true;
  return call;
}

// Tries every order; the plain meaning of linearizability.
bool AnyOrder(const std::vector<RegisterCall>& calls, uint32_t done, RegisterValue held) {
  Instant first_end = kForever;
  bool is_done = true;
  for (size_t i = 0; i < calls.size(); ++i) {
    if ((done >> i & 1) != 0 || calls[i].is_open) continue;
    is_done = false;
    first_end = std::min(first_end, calls[i].end);
  }
  if (is_done) return true;
  for (size_t i = 0; i < calls.size(); ++i) {
    if ((done >> i & 1) != 0 || calls[i].start > first_end || !Allows(calls[i], held)) continue;
    if (AnyOrder(calls, done | 1U << i, calls[i].stores ? calls[i].next : held)) return true;
  }
  return false;
}

std::vector<RegisterCall> AnyRegisterHistory(Random* random) {
  std::vector<RegisterCall> calls(2 + Below(random, 7));
  for (size_t i = 0; i < calls.size(); ++i) {
    RegisterCall& call = calls[i];
    call.needs = static_cast<Needs>(Chance(random, 10) ? 2 + Below(random, 2) : Below(random, 2));
    call.stores = call.needs == Needs::kNothing || Chance(random, 40);
    call.needed = static_cast<RegisterValue>(Below(random, 3));
    call.next = static_cast<RegisterValue>(Below(random, 3));
    call.start = static_cast<Instant>(Below(random, 12));
    call.end = call.start + static_cast<Instant>(Below(random, 6));
    call.is_open = Chance(random, 20);
    call.source = i;
  }
  return calls;
}

TEST(Register, IsAsEveryOrderSays) {
  size_t wrong = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    Random random(seed);
    const auto history = AnyRegisterHistory(&random);
    const bool is_right = AnyOrder(history, 0, kAbsentValue);
    ASSERT_EQ(CheckRegister(history).verdict, is_right ? SearchResult::kGood : SearchResult::kBad)
        << "seed " << seed;
    wrong += is_right ? 0 : 1;
  }
  EXPECT_GT(wrong, 2'000U);
  EXPECT_LT(wrong, 18'000U);
}

// As AnyOrder, with kills: each is one more thing that happens at its instant, after which the
// register holds what it held or, by the mode, what it held before.
class KillOrders {
 public:
  KillOrders(const std::vector<RegisterCall>& calls, const std::vector<Instant>& kills,
             Commit commit)
      : calls_(calls), kills_(kills), commit_(commit) {}

  bool Any(uint32_t done, size_t killed, RegisterValue held, std::set<RegisterValue> back) const {
    const Instant kill = killed < kills_.size() ? kills_[killed] : kForever;
    Instant first_end = kill;
    bool is_done = killed == kills_.size();
    for (size_t i = 0; i < calls_.size(); ++i) {
      if ((done >> i & 1) != 0 || calls_[i].is_open) continue;
      is_done = false;
      first_end = std::min(first_end, calls_[i].end);
    }
    if (is_done) return true;
    if (kill <= first_end && killed < kills_.size()) {
      back.insert(held);
      for (const RegisterValue value : back) {
        if (Any(done, killed + 1, value, {})) return true;
      }
      back.erase(held);
    }
    for (size_t i = 0; i < calls_.size(); ++i) {
      const RegisterCall& call = calls_[i];
      if ((done >> i & 1) != 0 || call.start > first_end || !Allows(call, held)) continue;
      std::set<RegisterValue> after = back;
      if (call.stores) after.insert(held);
      if (commit_ == Commit::kAcked && !call.is_open && (call.stores || call.is_write)) after = {};
      if (commit_ == Commit::kStrict) after = {};
      if (Any(done | 1U << i, killed, call.stores ? call.next : held, after)) return true;
    }
    return false;
  }

 private:
  const std::vector<RegisterCall>& calls_;
  const std::vector<Instant>& kills_;
  Commit commit_;
};

TEST(Register, IsAsEveryOrderSaysAcrossKills) {
  for (const Commit commit : {Commit::kStrict, Commit::kAcked, Commit::kAsync}) {
    size_t wrong = 0;
    for (uint64_t seed = 0; seed < 6'000; ++seed) {
      Random random(seed + 5'000'000);
      auto history = AnyRegisterHistory(&random);
      for (RegisterCall& call : history) call.is_write = call.stores || Chance(&random, 20);
      std::vector<Instant> kills = {static_cast<Instant>(Below(&random, 16))};
      if (Chance(&random, 40)) kills.push_back(kills[0] + static_cast<Instant>(Below(&random, 5)));
      const bool is_right = KillOrders(history, kills, commit).Any(0, 0, kAbsentValue, {});
      ASSERT_EQ(CheckRegister(history, {.kills = kills, .commit = commit}).verdict,
                is_right ? SearchResult::kGood : SearchResult::kBad)
          << CommitName(commit) << " seed " << seed;
      wrong += is_right ? 0 : 1;
    }
    EXPECT_GT(wrong, 300U);
    EXPECT_LT(wrong, 5'700U);
  }
}

TEST(Register, AKillLosesWhatTheModeLets) {
  const std::vector<Instant> kills = {50};
  const auto is_right = [&kills](const std::vector<RegisterCall>& history, Commit commit) {
    return CheckRegister(history, {.kills = kills, .commit = commit}).verdict ==
           SearchResult::kGood;
  };
  const std::vector lost = {Write(0, 1, 1), Write(2, 3, 2), Read(60, 61, 1)};
  EXPECT_FALSE(is_right(lost, Commit::kStrict));
  EXPECT_FALSE(is_right(lost, Commit::kAcked));
  EXPECT_TRUE(is_right(lost, Commit::kAsync));
  const std::vector read = {Write(0, 1, 1), Open(Write(2, 0, 2)), Read(4, 5, 2), Read(60, 61, 1)};
  EXPECT_FALSE(is_right(read, Commit::kStrict));
  EXPECT_TRUE(is_right(read, Commit::kAcked));
  EXPECT_TRUE(is_right(read, Commit::kAsync));
  std::vector back = read;
  back.push_back(Read(70, 71, 2));
  EXPECT_FALSE(is_right(back, Commit::kAcked));
  EXPECT_FALSE(is_right(back, Commit::kAsync));
}

TEST(Register, WhatIsShrunkIsWrongByItself) {
  size_t before = 0;
  size_t after = 0;
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    Random random(seed + 1'000'000);
    const auto history = AnyRegisterHistory(&random);
    const auto small = ShrinkRegister(history);
    if (AnyOrder(history, 0, kAbsentValue)) {
      ASSERT_EQ(small, history);
      continue;
    }
    ASSERT_FALSE(AnyOrder(small, 0, kAbsentValue)) << "seed " << seed;
    before += history.size();
    after += small.size();
  }
  EXPECT_LT(after, before);
}

TEST(Register, AnOpenWriteMayHappenAtAnyTimeLaterOrNever) {
  EXPECT_EQ(
      CheckRegister(std::vector{Open(Write(0, 0, 1)), Read(5, 6, kAbsentValue), Read(100, 101, 1)})
          .verdict,
      SearchResult::kGood);
  const RegisterResult result =
      CheckRegister(std::vector{Open(Write(0, 0, 1)), Read(5, 6, 1), Read(100, 101, kAbsentValue)});
  EXPECT_EQ(result.verdict, SearchResult::kBad);
  EXPECT_EQ(result.impossible, 2U);
}

TEST(Register, ACompareAndSetNeedsWhatItCompares) {
  EXPECT_EQ(CheckRegister(std::vector{Write(0, 1, 1), Cas(2, 3, 1, 2), Read(4, 5, 2)}).verdict,
            SearchResult::kGood);
  EXPECT_EQ(CheckRegister(std::vector{Write(0, 1, 1), Cas(2, 3, 2, 3)}).verdict,
            SearchResult::kBad);
}

// Crashed clients leave hundreds of operations open in one history; each could double the configs.
TEST(Register, ManyOpenOperationsAreDecided) {
  std::vector<RegisterCall> history;
  for (Instant i = 0; i < 300; ++i) {
    history.push_back(Open(Write(i * 10, 0, static_cast<RegisterValue>(1 + i % 5))));
    history.push_back(Write(i * 10 + 1, i * 10 + 2, static_cast<RegisterValue>(1 + i % 7)));
    history.push_back(Read(i * 10 + 3, i * 10 + 4, static_cast<RegisterValue>(1 + i % 7)));
  }
  EXPECT_EQ(CheckRegister(history).verdict, SearchResult::kGood);
  history.push_back(Read(4'000, 4'001, 9));
  EXPECT_EQ(CheckRegister(history).verdict, SearchResult::kBad);
}

TEST(Register, AStaleReadAmongThousandsIsThreeOperations) {
  std::vector<RegisterCall> history;
  for (Instant i = 0; i < 2'000; ++i) {
    history.push_back(Write(i * 10, i * 10 + 3, static_cast<RegisterValue>(i + 1)));
    history.push_back(Read(i * 10 + 4, i * 10 + 6, static_cast<RegisterValue>(i + 1)));
  }
  history.push_back(Read(15'000, 15'001, 1'400));
  EXPECT_EQ(ShrinkRegister(history).size(), 3U);
}

}  // namespace
}  // namespace plov::torture
