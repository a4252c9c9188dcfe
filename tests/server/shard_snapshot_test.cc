// A shard's snapshots with all that takes part in them, on a simulated disk and in one thread.
#include "server/shard_snapshot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "log/folder.h"
#include "log/segment_writer.h"
#include "log/snapshot_reader.h"
#include "log/spares.h"
#include "server/durable_log.h"
#include "tests/log/simulated_disk.h"
#include "tests/server/store_world.h"

namespace plov::server {
namespace {

using log::CommitMode;
using log::SnapshotFeed;
using test::SimulatedDisk;

constexpr uint64_t kSegmentBytes = 64 << 10;

// One life of a store with a log and snapshots.
class SnapshotWorld {
 public:
  explicit SnapshotWorld(std::unique_ptr<SimulatedDisk> disk = std::make_unique<SimulatedDisk>(),
                         size_t keep = 1) {
    disk_ = disk.get();
    auto opened = DurableLog::OpenOn(std::move(disk),
                                     {.folder = "sim",
                                      .mode = CommitMode::kAcked,
                                      .segment_bytes = kSegmentBytes,
                                      .snapshots = {.rate_bytes = 1 << 30, .keep = keep}},
                                     ShardSet::Of(1));
    if (!opened) {
      error = opened.error();
      return;
    }
    log_ = std::move(*opened);
    store_.emplace(StoreOptions{.memory_bytes = 64 * kMiB, .hash_seed = 0x5eed});
    if (auto recovered = log_->Recover(0, &store_->store(), &sessions); !recovered) {
      error = recovered.error();
      return;
    }
    EXPECT_TRUE(log_->Begin(0x5eed, {[] {}}));
    store_->store().LogTo(log_->of_shard(0), CommitMode::kAcked);
    snapshot_.emplace(&store_->store(), &sessions, log_->of_shard(0), log_->feed_of_shard(0));
  }

  StoreWorld& store() { return *store_; }
  SimulatedDisk& disk() { return *disk_; }
  SnapshotFeed& feed() { return *log_->feed_of_shard(0); }
  ShardSnapshot& snapshot() { return *snapshot_; }
  log::Snapshots& writer() { return *log_->snapshots(); }

  void Commit() {
    log::GroupCommit& commit = *log_->of_shard(0);
    while (commit.pending()) {
      commit.PassOn();
      commit.Step(true);
    }
  }
  bool Step() {
    Commit();
    const bool wrote = log_->snapshots()->Step(true);
    return snapshot_->Step() || wrote;
  }
  // Whether a snapshot was taken.
  bool Take() {
    const uint64_t taken = feed().stats().taken;
    feed().Ask();
    while (Step()) {
    }
    return feed().stats().taken > taken;
  }
  // What the disk holds if the power goes now.
  std::unique_ptr<SimulatedDisk> Crash() {
    SimulatedDisk::Random random(7);
    return disk_->Crash(&random);
  }
  std::optional<std::string> Get(std::string_view key) {
    const auto hit = store_->store().Get(key, kStartUs);
    return hit ? std::optional(hit->item.value()) : std::nullopt;
  }
  log::ShardFiles Files() { return log::Folder::List(disk_)->shards[0]; }

  Error error{Code::kOk, {}};  // why there is no life
  Sessions sessions;

 private:
  SimulatedDisk* disk_;
  std::unique_ptr<DurableLog> log_;
  std::optional<StoreWorld> store_;
  std::optional<ShardSnapshot> snapshot_;
};

std::string Key(uint64_t number) { return "key" + std::to_string(number); }

void PutMany(SnapshotWorld* world, uint64_t count, uint64_t seed) {
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_EQ(world->store().Put(Key(i), RecordValue(seed + i)).status, Code::kOk);
    world->Commit();
  }
}

// A log of one item that was written when the clock was far ahead.
std::unique_ptr<SimulatedDisk> WrittenAhead(uint64_t time_us) {
  auto disk = std::make_unique<SimulatedDisk>();
  log::Spares spares(disk.get(), kSegmentBytes, {});
  log::SegmentWriter writer(disk.get(), &spares, {.id = {1, 2}, .hash_seed = 0x5eed}, {});
  EXPECT_TRUE(writer.Begin());
  std::vector<std::byte> bytes(verify::kBatchHeadBytes + verify::LoggedBytes(3, 0));
  verify::EncodeLoggedHead({.version = 1, .key = "key"}, 0, &bytes[verify::kBatchHeadBytes]);
  log::PendingBatch batch{.pieces = {bytes}, .head = {}};
  batch.head = {
      .number = 1, .first_version = 1, .last_version = 1, .operations = 1, .time_us = time_us};
  EXPECT_TRUE(writer.Write(batch));
  return disk;
}

// Else a restore to a time between would begin with an item that is later.
TEST(ShardSnapshot, IsNoEarlierThanItsItemsWhereTheClockWasSetBack) {
  constexpr uint64_t kAhead = uint64_t{1} << 60;
  SnapshotWorld world(WrittenAhead(kAhead));
  ASSERT_EQ(world.error.message, "");
  ASSERT_TRUE(world.Take());
  const std::string name = log::SnapshotName(0, *world.Files().snapshots.rbegin());
  const auto reader = log::SnapshotReader::Open(&world.disk(), name);
  ASSERT_TRUE(reader && *reader);
  EXPECT_EQ((*reader)->footer().time_us, kAhead);
}

TEST(ShardSnapshot, TakesThePlaceOfTheLogBeforeIt) {
  SnapshotWorld world;
  PutMany(&world, 300, 0);
  PutMany(&world, 300, 1000);
  EXPECT_GT(world.Files().segments.size(), 5);
  ASSERT_TRUE(world.Take());
  EXPECT_EQ(world.feed().stats().items, 300);
  EXPECT_EQ(world.Files().segments.size(), 1);
  EXPECT_EQ(world.Files().snapshots.size(), 1);
  ASSERT_EQ(world.store().Put("after", "it").status, Code::kOk);
  ASSERT_EQ(world.store().Delete(Key(7)).status, Code::kOk);
  world.Commit();

  SnapshotWorld next(world.Crash());
  ASSERT_EQ(next.error.code, Code::kOk) << next.error.message;
  EXPECT_EQ(next.Get("after"), "it");
  EXPECT_EQ(next.Get(Key(7)), std::nullopt);
  EXPECT_EQ(next.Get(Key(8)), RecordValue(1008));
  EXPECT_EQ(next.store().store().table().stats().items, 300);
}

// What is told of the write of this sequence that is sent again.
Session::State Told(Session* session, uint64_t sequence) {
  WriteReply reply;
  return session->Find(sequence, true, &reply);
}

// The log before it, which had their writes, is gone.
TEST(ShardSnapshot, HoldsTheSessions) {
  SnapshotWorld world;
  PutMany(&world, 300, 0);
  for (const uint64_t client : {1u, 2u}) {
    world.sessions.Enter(client, 10 * client)->Remember(7, {Code::kOk, client});
  }
  world.sessions.Leave(2);
  world.sessions.Enter(3, 30);
  ASSERT_TRUE(world.Take());
  for (int life = 0; life < 2; ++life) {  // the second goes by what was restored
    SnapshotWorld next(world.Crash());
    ASSERT_EQ(next.error.message, "");
    ASSERT_TRUE(life == 0 || next.Take());
    SnapshotWorld last(next.Crash());
    for (const uint64_t client : {1u, 2u}) {
      Session* session = last.sessions.Enter(client, 10 * client);
      EXPECT_EQ(Told(session, 7), Session::State::kDone);
      EXPECT_EQ(Told(session, 6), Session::State::kForgotten);
      EXPECT_EQ(Told(session, 8), Session::State::kNew);
    }
    for (const uint64_t client : {3u, 4u}) {  // the one had come, the other had not
      EXPECT_EQ(Told(last.sessions.Enter(client, 10 * client), 1), Session::State::kNew);
    }
  }
}

// Its blocks of items were taken before the one of sessions was found to be damaged.
TEST(ShardSnapshot, ADamagedOneLeavesNoSession) {
  SnapshotWorld world(std::make_unique<SimulatedDisk>(), 2);
  PutMany(&world, 300, 0);
  ASSERT_TRUE(world.Take());
  world.sessions.Enter(1, 10)->Remember(7, {Code::kOk, 1});
  PutMany(&world, 300, 1000);
  ASSERT_TRUE(world.Take());
  const std::string newest = log::SnapshotName(0, *world.Files().snapshots.rbegin());
  for (const bool is_damaged : {false, true}) {
    auto disk = world.Crash();
    // The last byte before the footer: of the session.
    const size_t at = disk->Get(newest).size() - verify::kSnapshotFooterBytes - 1;
    if (is_damaged) disk->Flip(newest, at, std::byte{1});
    SnapshotWorld next(std::move(disk), 2);
    ASSERT_EQ(next.error.message, "");
    EXPECT_EQ(next.sessions.size(), is_damaged ? 0u : 1u);
    EXPECT_EQ(next.Get(Key(5)), RecordValue(1005));
  }
}

TEST(ShardSnapshot, BeginsByItselfWhenTheLogIsLong) {
  SnapshotWorld world;
  for (uint64_t round = 0; round < 20; ++round) {
    PutMany(&world, 40, round * 100);
    while (world.Step()) {
    }
  }
  EXPECT_GT(world.feed().stats().taken, 3);
  EXPECT_LE(world.Files().segments.size(), 4);
}

TEST(ShardSnapshot, HasValuesOfAllLengths) {
  SnapshotWorld world;
  constexpr size_t kLengths[] = {0, 1, 20, 500, 70'000, 1'000'000, 3'000'000};
  for (const size_t bytes : kLengths) {
    const std::string value = bytes < 500 ? std::string(bytes, 'v') : RecordValue(bytes, bytes);
    ASSERT_EQ(world.store().Put("k" + std::to_string(bytes), value, {.flags = 9}).status,
              Code::kOk);
  }
  ASSERT_TRUE(world.Take());
  SnapshotWorld next(world.Crash());
  ASSERT_EQ(next.error.code, Code::kOk) << next.error.message;
  for (const size_t bytes : kLengths) {
    const std::string value = bytes < 500 ? std::string(bytes, 'v') : RecordValue(bytes, bytes);
    EXPECT_EQ(next.Get("k" + std::to_string(bytes)), value) << bytes;
    EXPECT_EQ(next.store().store().Get("k" + std::to_string(bytes), kStartUs)->item.flags(), 9);
  }
}

// The old value is kept until it was copied, and its memory is free then.
TEST(ShardSnapshot, ALongValueThatIsOverwrittenMeanwhileIsCopiedWhole) {
  SnapshotWorld world;
  ASSERT_EQ(world.store().Put("long", RecordValue(1, 3'000'000)).status, Code::kOk);
  ASSERT_EQ(world.store().Put("short", "v").status, Code::kOk);
  world.feed().Ask();
  world.writer().Step(true);
  world.store().Refresh();
  const uint64_t slices = *world.store().IndexOf("long") / 32 + 3;
  for (uint64_t i = 0; i < slices; ++i) world.snapshot().Step();
  ASSERT_EQ(world.feed().state(), SnapshotFeed::State::kRunning);
  ASSERT_EQ(world.store().Put("long", "2").status, Code::kOk);
  EXPECT_GE(world.store().store().records().allocated_bytes(), 3'000'000);
  while (world.Step()) {
  }
  EXPECT_GE(world.feed().stats().taken, 1);
  EXPECT_LT(world.store().store().records().allocated_bytes(), 1000);
  SnapshotWorld next(world.Crash());
  EXPECT_EQ(next.Get("long"), "2");
}

// The log has what memory lost.
TEST(ShardSnapshot, DamageInMemoryIsNotLeftOut) {
  for (const bool in_record : {false, true}) {
    SnapshotWorld world;
    PutMany(&world, 300, 0);
    ASSERT_EQ(world.store().Put("long", RecordValue(1, 100'000)).status, Code::kOk);
    world.Commit();
    const auto segments = world.Files().segments;
    world.store().Refresh();
    if (in_record) {
      world.store().Flip(world.store().ReferenceOf("long").offset + 90'000);
    } else {
      world.store().Flip(world.store().geometry().BucketOffset(*world.store().IndexOf(Key(5))) +
                         30);
    }
    EXPECT_FALSE(world.Take());
    EXPECT_EQ(world.feed().stats().failed, 1);
    EXPECT_TRUE(world.Files().snapshots.empty());
    EXPECT_EQ(world.Files().segments, segments);
    SnapshotWorld next(world.Crash());
    EXPECT_EQ(next.Get(Key(5)), RecordValue(5));
    EXPECT_EQ(next.Get("long"), RecordValue(1, 100'000));
  }
}

TEST(ShardSnapshot, ADiskThatFailsLeavesTheLogAsItIs) {
  using Call = SimulatedDisk::Call;
  for (const Call call : {Call::kCreate, Call::kSync, Call::kRename, Call::kRead, Call::kList}) {
    SnapshotWorld world;
    PutMany(&world, 300, 0);
    const auto segments = world.Files().segments;
    world.disk().FailNext(call, Code::kNoSpace);
    EXPECT_FALSE(world.Take()) << static_cast<int>(call);
    EXPECT_EQ(world.feed().stats().failed, 1);
    EXPECT_EQ(world.feed().state(), SnapshotFeed::State::kIdle);
    EXPECT_EQ(world.Files().segments, segments);
    EXPECT_TRUE(log::Folder::List(&world.disk())->unfinished.empty());
    EXPECT_TRUE(world.Take());
    EXPECT_EQ(world.Files().segments.size(), 1);
  }
}

TEST(ShardSnapshot, OneThatIsAskedForWhileOneRunsComesAfterIt) {
  SnapshotWorld world;
  PutMany(&world, 10, 0);
  EXPECT_EQ(world.feed().Ask(), 1);
  EXPECT_EQ(world.feed().Ask(), 1);
  while (world.feed().state() != SnapshotFeed::State::kRunning) world.Step();
  EXPECT_EQ(world.feed().Ask(), 2);
  while (world.Step()) {
  }
  EXPECT_EQ(world.feed().stats().taken, 2);
}

TEST(ShardSnapshot, SeveralAreKeptWithTheLogBetween) {
  SnapshotWorld world(std::make_unique<SimulatedDisk>(), 2);
  for (uint64_t round = 1; round <= 4; ++round) {
    PutMany(&world, 300, round * 1000);
    ASSERT_TRUE(world.Take());
  }
  const log::ShardFiles files = world.Files();
  ASSERT_EQ(files.snapshots.size(), 2);
  EXPECT_EQ(*files.segments.begin(), *files.snapshots.begin());
  // The newest one is damaged in a block: what it had of whole blocks does no harm.
  auto disk = world.Crash();
  const std::string newest = log::SnapshotName(0, *files.snapshots.rbegin());
  disk->Flip(newest, disk->Get(newest).size() - 200, std::byte{1});
  SnapshotWorld next(std::move(disk), 2);
  ASSERT_EQ(next.error.code, Code::kOk) << next.error.message;
  for (uint64_t i = 0; i < 300; ++i) EXPECT_EQ(next.Get(Key(i)), RecordValue(4000 + i));
}

TEST(ShardSnapshot, DamageOfTheOnlyOneIsRefused) {
  SnapshotWorld world;
  PutMany(&world, 300, 0);
  ASSERT_TRUE(world.Take());
  const std::string name = log::SnapshotName(0, *world.Files().snapshots.begin());
  for (const uint64_t from_end : {uint64_t{200}, uint64_t{20}}) {
    auto disk = world.Crash();
    disk->Flip(name, disk->Get(name).size() - from_end, std::byte{1});
    const SnapshotWorld next(std::move(disk));
    EXPECT_EQ(next.error.code, Code::kCorrupt);
    EXPECT_NE(next.error.message.find(name), std::string::npos) << next.error.message;
    EXPECT_NE(next.error.message.find("nothing was changed"), std::string::npos);
  }
  auto disk = world.Crash();
  disk->Erase(name);
  EXPECT_EQ(SnapshotWorld(std::move(disk)).error.code, Code::kCorrupt);
}

// Its log must reach to what it needs.
TEST(ShardSnapshot, ALogThatEndsBeforeItsEndIsDamaged) {
  SnapshotWorld world;
  PutMany(&world, 3, 0);
  world.feed().Ask();
  while (world.feed().state() != SnapshotFeed::State::kRunning) world.Step();
  ASSERT_EQ(world.store().Put(Key(1), "written while it runs").status, Code::kOk);
  while (world.Step()) {
  }
  ASSERT_EQ(world.feed().stats().taken, 1);
  auto disk = world.Crash();
  const std::string last = log::SegmentName(0, *world.Files().segments.rbegin());
  const auto bytes = disk->Get(last);
  for (uint64_t at = verify::kLogBlockBytes; at < bytes.size(); at += verify::kLogBlockBytes) {
    disk->Flip(last, at, std::byte{1});
  }
  EXPECT_EQ(SnapshotWorld(std::move(disk)).error.code, Code::kCorrupt);
}

}  // namespace
}  // namespace plov::server
