// Writes in two steps, for values that arrive by rendezvous, and records held for readers.
#include <gtest/gtest.h>

#include "tests/server/store_world.h"

namespace plov::server {
namespace {

using verify::Operation;

verify::Request Announce(Operation operation, std::string_view key, size_t value_bytes,
                         const Extras& extras = {}) {
  verify::Request request = RequestOf(operation, key, {}, extras);
  request.rendezvous = true;
  request.value_bytes = static_cast<uint32_t>(value_bytes);
  return request;
}

// Puts the value where a fabric would.
void Arrive(const Store::Writing& prepared, std::string_view value) {
  verify::MaskToShared(prepared.place->shared, prepared.place->at, std::as_bytes(std::span(value)),
                       prepared.mask.word());
}

class Rendezvous : public ::testing::Test {
 protected:
  size_t allocated() { return world.store().records().allocated_bytes(); }

  StoreWorld world;
  OneSidedReader reader{&world};
  const std::string value = RecordValue(7, 50'000);
};

TEST_F(Rendezvous, CommittedValueIsWhatArrived) {
  const auto request = Announce(Operation::kPut, "key", value.size(), {.flags = 9});
  const auto prepared = PrepareAll(&world.store(), request, world.now_us);
  ASSERT_TRUE(prepared.has_value());
  Arrive(*prepared, value);
  const WriteReply reply = CommitAll(&world.store(), *prepared, request, world.now_us);
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_TRUE(Holds(&world, {{"key", {value, reply.version, 9, 0}}}));
}

TEST_F(Rendezvous, EmptyValueIsAValue) {
  const auto request = Announce(Operation::kPut, "key", 0);
  const auto prepared = PrepareAll(&world.store(), request, world.now_us);
  const WriteReply reply = CommitAll(&world.store(), *prepared, request, world.now_us);
  EXPECT_EQ(reply.status, Code::kOk);
  EXPECT_TRUE(Holds(&world, {{"key", {"", reply.version}}}));
}

TEST_F(Rendezvous, PreparedWriteIsSeenByNobody) {
  const uint64_t version = world.Put("key", RecordValue(1)).version;
  const auto request = Announce(Operation::kPut, "key", value.size());
  const auto prepared = PrepareAll(&world.store(), request, world.now_us);
  Arrive(*prepared, value);
  EXPECT_TRUE(Holds(&world, {{"key", {RecordValue(1), version}}}));
}

TEST_F(Rendezvous, AbandonedWriteLeavesNothing) {
  const uint64_t version = world.Put("key", RecordValue(1)).version;
  const size_t before = allocated();
  const auto prepared =
      PrepareAll(&world.store(), Announce(Operation::kPut, "key", value.size()), world.now_us);
  EXPECT_GT(allocated(), before);
  Abandon(&world.store(), *prepared);
  EXPECT_EQ(allocated(), before);
  EXPECT_TRUE(Holds(&world, {{"key", {RecordValue(1), version}}}));
}

TEST_F(Rendezvous, RefusedCommitFreesTheRecord) {
  world.Put("key", "v");
  const auto request = Announce(Operation::kAdd, "key", value.size());
  const auto prepared = PrepareAll(&world.store(), request, world.now_us);
  Arrive(*prepared, value);
  EXPECT_EQ(CommitAll(&world.store(), *prepared, request, world.now_us).status, Code::kExists);
  EXPECT_EQ(allocated(), 0u);
}

TEST_F(Rendezvous, ConditionIsJudgedAtTheCommit) {
  const uint64_t version = world.Put("key", "v1").version;
  const Extras expected{.expected_version = version};
  const auto request = Announce(Operation::kPut, "key", value.size(), expected);
  const auto prepared = PrepareAll(&world.store(), request, world.now_us);
  Arrive(*prepared, value);
  const WriteReply between = world.Put("key", "v2");
  const WriteReply reply = CommitAll(&world.store(), *prepared, request, world.now_us);
  EXPECT_EQ(reply.status, Code::kVersionMismatch);
  EXPECT_EQ(reply.version, between.version);
  EXPECT_TRUE(Holds(&world, {{"key", {"v2", between.version}}}));
}

// Versions of a key grow in the order in which its values become visible.
TEST_F(Rendezvous, CommitAfterAnotherWriteHasTheGreaterVersion) {
  for (const std::string& other : {InlineValue(1), RecordValue(1)}) {
    const auto request = Announce(Operation::kPut, "key", value.size());
    const auto prepared = PrepareAll(&world.store(), request, world.now_us);
    Arrive(*prepared, value);
    const WriteReply between = world.Put("key", other);
    const WriteReply reply = CommitAll(&world.store(), *prepared, request, world.now_us);
    EXPECT_GT(reply.version, between.version);
    EXPECT_TRUE(Holds(&world, {{"key", {value, reply.version}}}));
  }
}

TEST_F(Rendezvous, TwoWritesOfOneKeyInFlightDoNotMix) {
  const auto request = Announce(Operation::kPut, "key", value.size());
  const auto first = PrepareAll(&world.store(), request, world.now_us);
  const auto second = PrepareAll(&world.store(), request, world.now_us);
  Arrive(*second, RecordValue(8, value.size()));
  Arrive(*first, value);
  const WriteReply last = CommitAll(&world.store(), *second, request, world.now_us);
  EXPECT_TRUE(Holds(&world, {{"key", {RecordValue(8, value.size()), last.version}}}));
  const WriteReply reply = CommitAll(&world.store(), *first, request, world.now_us);
  EXPECT_TRUE(Holds(&world, {{"key", {value, reply.version}}}));
}

TEST_F(Rendezvous, NoMemoryIsRefusedAtThePrepare) {
  std::vector<Store::Writing> all;
  const auto request = Announce(Operation::kPut, "key", kMiB);
  for (;;) {
    const auto prepared = PrepareAll(&world.store(), request, world.now_us);
    if (!prepared) {
      EXPECT_EQ(prepared.error(), Code::kNoSpace);
      break;
    }
    all.push_back(*prepared);
  }
  EXPECT_GT(all.size(), 5u);
  for (const auto& prepared : all) Abandon(&world.store(), prepared);
  EXPECT_EQ(allocated(), 0u);
}

class HeldRecord : public Rendezvous {
 protected:
  void SetUp() override {
    version = world.Put("key", RecordValue(1, 3000)).version;
    held = world.ReferenceOf("key");
    world.store().Hold(held.offset, held.record_bytes);
  }

  // Overwrites as much memory as there is.
  void Churn() {
    for (uint64_t i = 0; i < 8000; ++i) world.Put("churn", RecordValue(i, 3000));
  }
  bool IsIntact() {
    const auto item = verify::CheckRecord({world.memory() + held.offset, held.record_bytes},
                                          world.view().record_seed);
    return item && item->version() == version && item->value() == RecordValue(1, 3000);
  }

  uint64_t version = 0;
  verify::Reference held = {};
};

TEST_F(HeldRecord, StaysReadableThroughOverwrites) {
  world.Put("key", RecordValue(2, 3000));
  Churn();
  EXPECT_TRUE(IsIntact());
  EXPECT_FALSE(world.IsLiveAt(held.offset)) << "it is history all the same";
}

TEST_F(HeldRecord, StaysReadableThroughADelete) {
  world.Delete("key");
  Churn();
  EXPECT_TRUE(IsIntact());
}

TEST_F(HeldRecord, StaysReadableThroughExpiry) {
  world.Put("mortal", RecordValue(5, 3000), {.ttl_seconds = 1});
  const verify::Reference mortal = world.ReferenceOf("mortal");
  world.store().Hold(mortal.offset, mortal.record_bytes);
  world.now_us += 1'000'000;
  Churn();
  ASSERT_EQ(world.store().stats().expired, 1u);
  EXPECT_TRUE(verify::CheckRecord({world.memory() + mortal.offset, mortal.record_bytes},
                                  world.view().record_seed));
}

TEST_F(HeldRecord, IsFreedByItsRelease) {
  world.Delete("key");
  EXPECT_GT(allocated(), 0u);
  world.store().Release(held.offset);
  EXPECT_EQ(allocated(), 0u);
}

TEST_F(HeldRecord, IsFreedByTheLastOfItsReleases) {
  world.store().Hold(held.offset, held.record_bytes);
  world.store().Hold(held.offset, held.record_bytes);
  world.Delete("key");
  world.store().Release(held.offset);
  world.store().Release(held.offset);
  EXPECT_GT(allocated(), 0u);
  Churn();
  EXPECT_TRUE(IsIntact());
  world.Delete("churn");
  world.store().Release(held.offset);
  EXPECT_EQ(allocated(), 0u);
}

TEST_F(HeldRecord, ReleaseOfACurrentRecordFreesNothing) {
  world.store().Release(held.offset);
  EXPECT_TRUE(Holds(&world, {{"key", {RecordValue(1, 3000), version}}}));
  Churn();
  EXPECT_TRUE(IsIntact());
  world.Delete("key");
  world.Delete("churn");
  EXPECT_EQ(allocated(), 0u) << "and afterwards it is freed as any other";
}

TEST_F(HeldRecord, ReleaseOfWhatIsNotHeldIsHarmless) {
  world.store().Release(held.offset);
  world.store().Release(held.offset);
  world.store().Release(0);
  EXPECT_TRUE(Holds(&world, {{"key", {RecordValue(1, 3000), version}}}));
}

}  // namespace
}  // namespace plov::server
