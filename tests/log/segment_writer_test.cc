// The segment writer: where batches go, and what becomes of them when the disk fails.
#include "log/segment_writer.h"

#include <gtest/gtest.h>

#include "tests/log/written_log.h"

namespace plov::test {
namespace {

using Call = SimulatedDisk::Call;
using verify::kLogBlockBytes;

verify::LogHead HeadOf(SimulatedDisk* disk, uint64_t number) {
  const auto head = log::ReadHead(disk, log::SegmentName(0, number), verify::LogFile::kSegment);
  EXPECT_TRUE(head) << head.error().message;
  return head.value_or(verify::LogHead{});
}

// What may be a batch in block `block` of a segment.
std::optional<verify::BatchHead> HeadInBlock(const SimulatedDisk& disk, uint64_t number,
                                             size_t block) {
  const auto bytes = disk.Get(log::SegmentName(0, number));
  return verify::GuessBatchHead(log::Bytes(bytes).subspan(block * kLogBlockBytes), kSegmentBytes);
}

TEST(SegmentWriter, EachBatchIsDurableWhenWriteReturns) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  SimulatedDisk::Random random(1);
  for (uint64_t n = 1; n <= 20; ++n) {
    ASSERT_TRUE(log.Put());
    EXPECT_EQ(log.writer().durable(), n);
    const Walked walked = WalkAll(disk.Crash(&random).get());
    EXPECT_FALSE(walked.damage) << walked.damage->Line();
    EXPECT_EQ(walked.batches, UpTo(n));
  }
}

TEST(SegmentWriter, WithoutDurableWritesSyncMakesBatchesDurable) {
  SimulatedDisk disk;
  WrittenLog log(&disk, WrittenLog::Writes::kUntilSync);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(3);
  EXPECT_EQ(log.writer().durable(), 0u);
  EXPECT_EQ(log.writer().written(), 3u);
  ASSERT_TRUE(log.writer().Sync());
  EXPECT_EQ(log.writer().durable(), 3u);
  SimulatedDisk::Random random(1);
  EXPECT_EQ(WalkAll(disk.Crash(&random).get()).batches, UpTo(3));
}

TEST(SegmentWriter, ABatchAttestsWhatWasDurableBeforeIt) {
  SimulatedDisk disk;
  WrittenLog log(&disk, WrittenLog::Writes::kUntilSync);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(2);
  ASSERT_TRUE(log.writer().Sync());
  log.PutAll(2);
  EXPECT_EQ(HeadInBlock(disk, 1, 1)->attest, 0u);
  EXPECT_EQ(HeadInBlock(disk, 1, 2)->attest, 0u);
  EXPECT_EQ(HeadInBlock(disk, 1, 3)->attest, 2u);
  EXPECT_EQ(HeadInBlock(disk, 1, 4)->attest, 2u);
}

TEST(SegmentWriter, AFullSegmentIsClosedAndNamesTheNext) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(kBatchesInSegment + 1);
  EXPECT_EQ(log.writer().segment(), 2u);
  const auto closed = HeadInBlock(disk, 1, kBatchesInSegment + 1);
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->kind, verify::BatchHead::Kind::kClosed);
  EXPECT_EQ(closed->number, 2u);
  EXPECT_EQ(closed->attest, static_cast<uint64_t>(kBatchesInSegment));
  EXPECT_EQ(HeadOf(&disk, 2).first_batch, kBatchesInSegment + 1u);
  EXPECT_EQ(HeadOf(&disk, 2).chain, HeadInBlock(disk, 1, kBatchesInSegment)->checksum);
  EXPECT_EQ(HeadOf(&disk, 2).floor, kBatchesInSegment + 2u);
  EXPECT_EQ(WalkAll(&disk).batches, UpTo(kBatchesInSegment + 1));
}

TEST(SegmentWriter, TheNextSegmentBeginsOnlyWhenAllBeforeIsDurable) {
  SimulatedDisk disk;
  WrittenLog log(&disk, WrittenLog::Writes::kUntilSync);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(kBatchesInSegment);
  EXPECT_EQ(log.writer().durable(), 0u);
  ASSERT_TRUE(log.Put());
  EXPECT_EQ(log.writer().durable(), static_cast<uint64_t>(kBatchesInSegment));
}

TEST(SegmentWriter, ABatchLargerThanASegmentHasOneOfItsOwnSize) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  ASSERT_TRUE(log.Put());
  ASSERT_TRUE(log.Put(3 * kSegmentBytes));
  ASSERT_TRUE(log.Put());
  EXPECT_GT(HeadOf(&disk, 2).file_bytes, 3 * kSegmentBytes);
  EXPECT_EQ(HeadOf(&disk, 3).file_bytes, kSegmentBytes);
  const Walked walked = WalkAll(&disk);
  EXPECT_EQ(walked.batches, UpTo(3));
  EXPECT_EQ(walked.segments, (std::vector<uint64_t>{1, 2, 3}));
}

TEST(SegmentWriter, PiecesLieOneAfterTheOther) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  BatchMemory whole(1, 5000);
  log::PendingBatch pieces{.pieces = {}, .head = whole.pending().head};
  std::span<std::byte> rest = whole.pending().pieces.front();
  for (const size_t bytes : {size_t{112}, size_t{1}, size_t{0}, size_t{3000}}) {
    pieces.pieces.push_back(rest.first(bytes));
    rest = rest.subspan(bytes);
  }
  pieces.pieces.push_back(rest);
  ASSERT_TRUE(log.writer().Write(pieces));
  EXPECT_EQ(WalkAll(&disk).batches, UpTo(1));
}

TEST(SegmentWriter, TheRestOfABlockIsZeroInARecycledFile) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  disk.Put("old", std::vector<std::byte>(kSegmentBytes, std::byte{0xff}));
  log.spares().Give("old");
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(1);
  const auto bytes = disk.Get(log::SegmentName(0, 1));
  const auto behind = bytes.begin() + 2 * kLogBlockBytes;
  EXPECT_EQ(std::count(behind - kLogBlockBytes / 2, behind, std::byte{0}), kLogBlockBytes / 2);
  EXPECT_EQ(*behind, std::byte{0xff});
}

TEST(SegmentWriter, FailedWriteGoesToANewSegment) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(2);
  disk.FailNext(Call::kWrite, Code::kSystem);
  ASSERT_TRUE(log.Put());
  EXPECT_EQ(log.writer().durable(), 3u);
  EXPECT_EQ(log.writer().segment(), 2u);
  EXPECT_EQ(HeadOf(&disk, 2).first_batch, 3u);
  const Walked walked = WalkAll(&disk);
  EXPECT_FALSE(walked.damage) << walked.damage->Line();
  EXPECT_EQ(walked.batches, UpTo(3));
  EXPECT_EQ(walked.segments.back(), 2u);
}

TEST(SegmentWriter, FailedSyncMovesAllThatWasNotDurable) {
  SimulatedDisk disk;
  WrittenLog log(&disk, WrittenLog::Writes::kUntilSync);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(2);
  ASSERT_TRUE(log.writer().Sync());
  log.PutAll(3);
  disk.FailNext(Call::kSync, Code::kSystem);
  ASSERT_TRUE(log.writer().Sync());
  EXPECT_EQ(log.writer().durable(), 5u);
  SimulatedDisk::Random random(1);
  const Walked walked = WalkAll(disk.Crash(&random).get());
  EXPECT_FALSE(walked.damage) << walked.damage->Line();
  EXPECT_EQ(walked.batches, UpTo(5));
  EXPECT_EQ(walked.segments, (std::vector<uint64_t>{1, 1, 2, 2, 2}));
}

TEST(SegmentWriter, BatchesWaitWhileNoSegmentCanBegin) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(kBatchesInSegment);
  disk.SetFull(true);
  for (int i = 0; i < 3; ++i) {
    const auto refused = log.Put();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kNoSpace);
  }
  EXPECT_TRUE(log.writer().waits());
  EXPECT_FALSE(log.writer().Retry());
  EXPECT_EQ(log.writer().durable(), static_cast<uint64_t>(kBatchesInSegment));
  EXPECT_EQ(log.writer().written(), kBatchesInSegment + 3u);
  disk.ClearFaults();
  ASSERT_TRUE(log.writer().Retry());
  EXPECT_FALSE(log.writer().waits());
  EXPECT_EQ(log.writer().durable(), kBatchesInSegment + 3u);
  EXPECT_EQ(WalkAll(&disk).batches, UpTo(kBatchesInSegment + 3));
}

TEST(SegmentWriter, NothingIsAddedToASegmentOnceTheNextWasTried) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  ASSERT_TRUE(log.Put());
  disk.FailNext(Call::kSyncNames, Code::kSystem);
  ASSERT_FALSE(log.Put(kSegmentBytes));  // its segment may have a name on disk by now
  ASSERT_FALSE(log.Put());
  SimulatedDisk::Random random(1);
  EXPECT_EQ(WalkAll(disk.Crash(&random).get()).batches, UpTo(1));
  ASSERT_TRUE(log.writer().Retry());
  const Walked walked = WalkAll(disk.Crash(&random).get());
  EXPECT_FALSE(walked.damage) << walked.damage->Line();
  EXPECT_EQ(walked.batches, UpTo(3));
  EXPECT_GT(walked.segments[1], 1u);
}

TEST(SegmentWriter, BeginCanBeTriedAgainAfterEachFailure) {
  for (const Call call :
       {Call::kCreate, Call::kOpen, Call::kWrite, Call::kSync, Call::kRename, Call::kSyncNames}) {
    for (uint64_t after = 0; after < 3; ++after) {
      SimulatedDisk disk;
      WrittenLog log(&disk);
      disk.FailNext(call, Code::kSystem, after);
      if (!log.writer().Begin()) {
        EXPECT_TRUE(log.writer().Begin());
      }
      disk.ClearFaults();
      log.PutAll(1);
      const Walked walked = WalkAll(&disk);
      EXPECT_FALSE(walked.damage) << walked.damage->Line();
      EXPECT_EQ(walked.batches, UpTo(1));
    }
  }
}

TEST(SegmentWriter, AClosingBlockThatFailsIsNoFailure) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(kBatchesInSegment);
  // Of writes: one that fills the spare, the new head, and then the one that closes.
  disk.FailNext(Call::kWrite, Code::kSystem, 2);
  ASSERT_TRUE(log.Put());
  EXPECT_EQ(log.writer().segment(), 2u);
  const Walked walked = WalkAll(&disk);
  EXPECT_FALSE(walked.damage) << walked.damage->Line();
  EXPECT_EQ(walked.batches, UpTo(kBatchesInSegment + 1));
}

// As when a snapshot was made: its file is there to be a segment again.
void GiveOldest(SimulatedDisk* disk, WrittenLog* log) {
  const auto folder = log::Folder::List(disk);
  if (!folder || !folder->shards.contains(0)) return;
  const uint64_t oldest = *folder->shards.at(0).segments.begin();
  if (oldest + 2 < log->writer().segment()) log->spares().Give(log::SegmentName(0, oldest));
}

// Writes with faults of all kinds, a power cut, and a walk; what was durable must be there, and again after
// a start that goes on from the walk's end.
void RunWithFaults(uint64_t seed, WrittenLog::Writes writes) {
  SimulatedDisk::Random random(seed);
  auto disk = std::make_unique<SimulatedDisk>(seed);
  log::LogEnd end;
  for (int start = 0; start < 4; ++start) {
    WrittenLog log(disk.get(), writes, end);
    disk->FailAtRandom(0.02);
    if (random() % 2 == 0) disk->FailAllAfter(disk->calls() + random() % 120);
    if (log.writer().Begin()) {
      for (int i = 0; i < 30; ++i) {
        (void)(random() % 4 == 0 ? log.Attest() : log.Put(random() % 6000));
        if (random() % 4 == 0) (void)log.writer().Sync();
        if (random() % 3 == 0) (void)log.writer().Retry();
        if (random() % 8 == 0) GiveOldest(disk.get(), &log);
      }
    }
    const uint64_t promised = log.writer().durable();
    disk = disk->Crash(&random);
    const Walked walked = WalkAll(disk.get());
    ASSERT_FALSE(walked.damage) << "seed " << seed << ": " << walked.damage->Line();
    ASSERT_GE(walked.end.next_batch, promised + 1) << "seed " << seed;
    end = walked.end;
    for (const std::string& name : disk->Names()) {
      if (!name.ends_with(".log")) disk->Erase(name);
    }
  }
}

TEST(SegmentWriter, NothingDurableIsLostAndNothingWholeIsAccused) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    RunWithFaults(seed, WrittenLog::Writes::kDurable);
    RunWithFaults(seed, WrittenLog::Writes::kUntilSync);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace plov::test
