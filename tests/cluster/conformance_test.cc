#include "tests/cluster/conformance.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "fabric/os.h"

namespace plov::test {

using cluster::Coordinator;
using cluster::kDataBytesMax;
using cluster::Lifetime;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

namespace {

constexpr std::chrono::seconds kHintLimit{10};

Code CodeOf(const auto& result) { return result ? Code::kOk : result.error().code; }

bool IsHinted(Coordinator* coordinator, const std::string& path) {
  return std::ranges::count(coordinator->TakeHints(), path) > 0;
}

}  // namespace

bool AwaitHint(Coordinator* coordinator, const std::string& path) {
  const auto deadline = std::chrono::steady_clock::now() + kHintLimit;
  while (fabric::AwaitReadable(coordinator->hint_fd(), deadline)) {
    if (IsHinted(coordinator, path)) return true;
  }
  return false;
}

TEST_P(CoordinatorConformance, IsConnected) {
  EXPECT_EQ(coordinator_->state().kind, cluster::State::Kind::kConnected);
  EXPECT_EQ(coordinator_->state().session, 1u);
}

TEST_P(CoordinatorConformance, GetReturnsWhatWasCreated) {
  const std::string data("any \0 bytes \xff", 13);
  const auto created = coordinator_->Create(Path("a"), data, Lifetime::kPersistent);
  ASSERT_TRUE(created) << created.error().message;
  const auto value = GetParam().open()->Get(Path("a"));
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(value->data, data);
  EXPECT_EQ(value->revision, *created);
}

TEST_P(CoordinatorConformance, ValuesHaveAnySizeUpToTheLimit) {
  for (const size_t bytes : {size_t{0}, size_t{1}, kDataBytesMax}) {
    const std::string name = std::to_string(bytes), data(bytes, 'v');
    ASSERT_TRUE(coordinator_->Create(Path(name), data, Lifetime::kPersistent));
    EXPECT_EQ(coordinator_->Get(Path(name))->data, data);
    EXPECT_TRUE(coordinator_->Set(Path(name), data, coordinator_->Get(Path(name))->revision));
    EXPECT_EQ(coordinator_->Get(Path(name))->data, data);
  }
}

TEST_P(CoordinatorConformance, LargerValuesAreRefusedAndTheConnectionStays) {
  const auto before = coordinator_->state();
  const std::string data(kDataBytesMax + 1, 'v');
  EXPECT_EQ(CodeOf(coordinator_->Create(Path("a"), data, Lifetime::kPersistent)), Code::kTooLarge);
  ASSERT_TRUE(coordinator_->Create(Path("a"), "", Lifetime::kPersistent));
  EXPECT_EQ(CodeOf(coordinator_->Set(Path("a"), data, 0)), Code::kTooLarge);
  EXPECT_EQ(coordinator_->Get(Path("a"))->data, "");
  EXPECT_EQ(coordinator_->state().since, before.since);
}

TEST_P(CoordinatorConformance, SetReplacesAtItsRevisionAlone) {
  const auto created = coordinator_->Create(Path("a"), "1", Lifetime::kPersistent);
  const auto set = coordinator_->Set(Path("a"), "2", *created);
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_GT(*set, *created);
  const auto late = coordinator_->Set(Path("a"), "3", *created);
  EXPECT_EQ(CodeOf(late), Code::kVersionMismatch);
  EXPECT_EQ(CodeOf(coordinator_->Set(Path("a"), "3", *set + 1)), Code::kVersionMismatch);
  EXPECT_EQ(coordinator_->Get(Path("a"))->data, "2");
  EXPECT_EQ(coordinator_->Get(Path("a"))->revision, *set);
}

TEST_P(CoordinatorConformance, SetOfTheSameDataIsAnotherRevision) {
  const auto created = coordinator_->Create(Path("a"), "1", Lifetime::kPersistent);
  const auto set = coordinator_->Set(Path("a"), "1", *created);
  EXPECT_GT(*set, *created);
  EXPECT_EQ(CodeOf(coordinator_->Set(Path("a"), "2", *created)), Code::kVersionMismatch);
}

TEST_P(CoordinatorConformance, CreateOfWhatIsThereIsRefused) {
  ASSERT_TRUE(coordinator_->Create(Path("a"), "1", Lifetime::kPersistent));
  EXPECT_EQ(CodeOf(coordinator_->Create(Path("a"), "2", Lifetime::kPersistent)), Code::kExists);
  EXPECT_EQ(coordinator_->Get(Path("a"))->data, "1");
}

TEST_P(CoordinatorConformance, DeleteTakesItsRevisionAlone) {
  const auto created = coordinator_->Create(Path("a/b"), "1", Lifetime::kPersistent);
  EXPECT_EQ(CodeOf(coordinator_->Delete(Path("a"), coordinator_->Get(Path("a"))->revision)),
            Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(coordinator_->Delete(Path("a/b"), *created + 1)), Code::kVersionMismatch);
  EXPECT_EQ(CodeOf(coordinator_->Delete(Path("a/b"), *created)), Code::kOk);
  EXPECT_EQ(CodeOf(coordinator_->Get(Path("a/b"))), Code::kNotFound);
}

TEST_P(CoordinatorConformance, WhatIsAbsentIsNotFound) {
  EXPECT_EQ(CodeOf(coordinator_->Get(Path("a"))), Code::kNotFound);
  EXPECT_EQ(CodeOf(coordinator_->Set(Path("a"), "", 0)), Code::kNotFound);
  EXPECT_EQ(CodeOf(coordinator_->Delete(Path("a"), 0)), Code::kNotFound);
  EXPECT_THAT(*coordinator_->List(Path("a")), IsEmpty());
}

TEST_P(CoordinatorConformance, ListHasTheNamesRightBelowInOrder) {
  for (const auto* name : {"b", "a", "c/d", "10", "9"}) {
    ASSERT_TRUE(coordinator_->Create(Path(name), "", Lifetime::kPersistent));
  }
  EXPECT_THAT(*coordinator_->List(below_), ElementsAre("10", "9", "a", "b", "c"));
  EXPECT_THAT(*coordinator_->List(Path("c")), ElementsAre("d"));
  EXPECT_GE(std::ranges::count(*coordinator_->List(""), below_), 1);
}

TEST_P(CoordinatorConformance, WhatIsNoPathIsRefused) {
  const std::string long_name(cluster::kNameBytesMax + 1, 'n');
  for (const std::string& path : {std::string("/a"), std::string("a/"), std::string("a//b"),
                                  std::string(".."), std::string("a/./b"), std::string("a b"),
                                  std::string("\0", 1), std::string("\xc3\xa4"), long_name}) {
    EXPECT_EQ(CodeOf(coordinator_->Get(path)), Code::kInvalidArgument) << path;
    EXPECT_EQ(CodeOf(coordinator_->Set(path, "", 0)), Code::kInvalidArgument) << path;
    EXPECT_EQ(CodeOf(coordinator_->Create(path, "", Lifetime::kEphemeral)), Code::kInvalidArgument);
    EXPECT_EQ(CodeOf(coordinator_->Delete(path, 0)), Code::kInvalidArgument) << path;
    EXPECT_EQ(CodeOf(coordinator_->List(path)), Code::kInvalidArgument) << path;
  }
  EXPECT_EQ(CodeOf(coordinator_->Get("")), Code::kInvalidArgument);
}

TEST_P(CoordinatorConformance, EphemeralNodeGoesWithItsClient) {
  auto other = GetParam().open();
  ASSERT_TRUE(other->Create(Path("e"), "1", Lifetime::kEphemeral));
  ASSERT_TRUE(other->Create(Path("p"), "1", Lifetime::kPersistent));
  coordinator_->Watch(Path("e"));
  EXPECT_EQ(coordinator_->Get(Path("e"))->data, "1");
  other.reset();
  while (coordinator_->Get(Path("e"))) ASSERT_TRUE(AwaitHint(coordinator_.get(), Path("e")));
  EXPECT_EQ(coordinator_->Get(Path("p"))->data, "1");
}

TEST_P(CoordinatorConformance, ChangeOfWhatWasLookedAtIsHinted) {
  auto other = GetParam().open();
  coordinator_->Watch(below_);
  ASSERT_TRUE(other->Create(Path("a"), "1", Lifetime::kPersistent));
  while (!coordinator_->Get(Path("a"))) ASSERT_TRUE(AwaitHint(coordinator_.get(), below_));
  coordinator_->TakeHints();
  const auto set = other->Set(Path("a"), "2", 0);
  ASSERT_TRUE(AwaitHint(coordinator_.get(), below_));
  while (coordinator_->Get(Path("a"))->data != "2") {
    ASSERT_TRUE(AwaitHint(coordinator_.get(), below_));
  }
  ASSERT_TRUE(other->Delete(Path("a"), *set));
  ASSERT_TRUE(AwaitHint(coordinator_.get(), below_));
}

TEST_P(CoordinatorConformance, CreationOfWhatWasAbsentIsHinted) {
  auto other = GetParam().open();
  coordinator_->Watch(Path("a"));
  ASSERT_EQ(CodeOf(coordinator_->Get(Path("a"))), Code::kNotFound);
  ASSERT_TRUE(other->Create(Path("a"), "1", Lifetime::kPersistent));
  ASSERT_TRUE(AwaitHint(coordinator_.get(), Path("a")));
}

TEST_P(CoordinatorConformance, NewNameInAListIsHinted) {
  auto other = GetParam().open();
  coordinator_->Watch(Path("servers"));
  ASSERT_THAT(*coordinator_->List(Path("servers")), IsEmpty());
  ASSERT_TRUE(other->Create(Path("servers/a1"), "", Lifetime::kEphemeral));
  while (coordinator_->List(Path("servers"))->empty()) {
    ASSERT_TRUE(AwaitHint(coordinator_.get(), Path("servers")));
  }
  ASSERT_TRUE(other->Create(Path("servers/a2"), "", Lifetime::kEphemeral));
  ASSERT_TRUE(AwaitHint(coordinator_.get(), Path("servers")));
}

TEST_P(CoordinatorConformance, WhatIsNotWatchedIsNotHinted) {
  auto other = GetParam().open();
  coordinator_->Watch(Path("b"));
  ASSERT_TRUE(other->Create(Path("a"), "1", Lifetime::kPersistent));
  ASSERT_TRUE(other->Create(Path("b"), "1", Lifetime::kPersistent));
  while (!coordinator_->Get(Path("a")) || !coordinator_->Get(Path("b"))) {
    std::this_thread::yield();
  }
  coordinator_->TakeHints();
  ASSERT_TRUE(other->Set(Path("a"), "2", 0));
  ASSERT_TRUE(other->Set(Path("b"), "2", 0));
  const auto deadline = std::chrono::steady_clock::now() + kHintLimit;
  ASSERT_TRUE(fabric::AwaitReadable(coordinator_->hint_fd(), deadline));
  EXPECT_THAT(coordinator_->TakeHints(), ElementsAre(Path("b")));
}

TEST_P(CoordinatorConformance, OneOfManyWritersUponOneRevisionWins) {
  ASSERT_TRUE(coordinator_->Create(Path("a"), "", Lifetime::kPersistent));
  for (cluster::Revision revision = 0; revision < 20; ++revision) {
    int won = 0;
    for (int writer = 0; writer < 3; ++writer) {
      won += coordinator_->Set(Path("a"), std::to_string(writer), revision) ? 1 : 0;
    }
    ASSERT_EQ(won, 1);
  }
}

}  // namespace plov::test
