// Registers without versions: the checker against every order, and what it shows.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

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
