// The walk: which end of a log is its end, and which is damage.
#include "log/walk.h"

#include <gtest/gtest.h>

#include "tests/log/written_log.h"
#include "verify/seal.h"

namespace plov::test {
namespace {

using verify::kLogBlockBytes;
using Writes = WrittenLog::Writes;

constexpr std::byte kBit{0x10};

std::string Segment(uint64_t number) { return log::SegmentName(0, number); }

// A log of so many batches in segments of six, each durable before the next is written.
std::unique_ptr<SimulatedDisk> DurableLog(int batches) {
  auto disk = std::make_unique<SimulatedDisk>();
  WrittenLog log(disk.get());
  EXPECT_TRUE(log.writer().Begin());
  log.PutAll(batches);
  return disk;
}

// The same, of which nothing is known to be durable.
std::unique_ptr<SimulatedDisk> UnattestedLog(int batches) {
  auto disk = std::make_unique<SimulatedDisk>();
  WrittenLog log(disk.get(), Writes::kUntilSync);
  EXPECT_TRUE(log.writer().Begin());
  log.PutAll(batches);
  return disk;
}

// Changes a bit in the put of the batch in this block.
void Damage(SimulatedDisk* disk, uint64_t segment, uint64_t block) {
  disk->Flip(Segment(segment), block * kLogBlockBytes + 120, kBit);
}

// It is damage, at this block; the line names what is wrong with these words.
void ExpectDamage(const Walked& walked, uint64_t segment, uint64_t block,
                  const std::string& words) {
  ASSERT_TRUE(walked.damage);
  EXPECT_EQ(walked.damage->file, "sim/" + Segment(segment));
  EXPECT_EQ(walked.damage->offset, block * kLogBlockBytes);
  EXPECT_NE(walked.damage->Line().find(words), std::string::npos) << walked.damage->Line();
}

TEST(Walk, TellsEveryBatchInOrder) {
  const auto disk = DurableLog(20);
  const Walked walked = WalkAll(disk.get());
  EXPECT_FALSE(walked.damage);
  EXPECT_FALSE(walked.torn);
  EXPECT_EQ(walked.batches, UpTo(20));
  EXPECT_EQ(walked.end.next_batch, 21u);
  EXPECT_EQ(walked.end.last_version, 20u);
  EXPECT_EQ(walked.end.next_segment, 5u);
}

TEST(Walk, NoFilesAreAnEmptyLog) {
  SimulatedDisk disk;
  const Walked walked = WalkAll(&disk);
  EXPECT_FALSE(walked.damage);
  EXPECT_EQ(walked.end.next_batch, 1u);
  EXPECT_EQ(walked.end.next_segment, 1u);
}

TEST(Walk, ASegmentWithoutBatchesEndsWhereItsHeadSays) {
  const auto disk = DurableLog(3);
  WrittenLog next(disk.get(), Writes::kDurable, WalkAll(disk.get()).end);
  ASSERT_TRUE(next.writer().Begin());
  const Walked walked = WalkAll(disk.get(), {.segment = 2});
  EXPECT_TRUE(walked.batches.empty());
  EXPECT_EQ(walked.end.next_batch, 4u);
  EXPECT_EQ(walked.end.last_version, 3u);
  EXPECT_EQ(walked.end.chain, WalkAll(disk.get()).end.chain);
}

TEST(Walk, BeginsWhereItIsTold) {
  const auto disk = DurableLog(20);
  const Walked walked = WalkAll(disk.get(), {.segment = 2, .batch = 10, .needs = 12});
  EXPECT_FALSE(walked.damage);
  EXPECT_EQ(walked.batches.front(), 10u);
  EXPECT_EQ(walked.batches.size(), 11u);
}

TEST(Walk, AttestingBatchesAreNotTold) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(1);
  ASSERT_TRUE(log.Attest());
  log.PutAll(1);
  EXPECT_EQ(WalkAll(&disk).batches, (std::vector<uint64_t>{1, 3}));
}

TEST(Walk, TornTailIsCut) {
  const auto disk = DurableLog(3);
  Damage(disk.get(), 1, 3);
  const Walked walked = WalkAll(disk.get());
  EXPECT_FALSE(walked.damage);
  EXPECT_EQ(walked.batches, UpTo(2));
  EXPECT_EQ(walked.end.next_batch, 3u);
  ASSERT_TRUE(walked.torn);
  EXPECT_EQ(walked.torn->offset, 3 * kLogBlockBytes);
  EXPECT_EQ(walked.torn->bytes, kLogBlockBytes);
}

TEST(Walk, WholeBatchesBehindAHoleAreCutWhenNoneAttestsIt) {
  const auto disk = UnattestedLog(5);
  Damage(disk.get(), 1, 2);
  const Walked walked = WalkAll(disk.get());
  EXPECT_FALSE(walked.damage);
  EXPECT_EQ(walked.batches, UpTo(1));
  ASSERT_TRUE(walked.torn);
  EXPECT_EQ(walked.torn->bytes, 4 * kLogBlockBytes);
}

TEST(Walk, DamageThatALaterBatchAttestsIsRefused) {
  const auto disk = DurableLog(5);
  Damage(disk.get(), 1, 2);
  const Walked walked = WalkAll(disk.get());
  ExpectDamage(walked, 1, 2, "says that it was durable");
  EXPECT_EQ(walked.batches, UpTo(1));
  EXPECT_EQ(walked.damage->batch, 2u);
  EXPECT_EQ(walked.damage->operations_behind, 3u);
}

TEST(Walk, DamageThatOnlyTheClosingBlockAttestsIsRefused) {
  const auto disk = DurableLog(kBatchesInSegment + 1);
  disk->Erase(Segment(2));
  Damage(disk.get(), 1, kBatchesInSegment);
  ExpectDamage(WalkAll(disk.get()), 1, kBatchesInSegment, "what closes the segment");
}

TEST(Walk, DamageBeforeANextSegmentIsRefused) {
  const auto disk = DurableLog(kBatchesInSegment + 2);
  Damage(disk.get(), 1, kBatchesInSegment);
  const Walked walked = WalkAll(disk.get());
  ExpectDamage(walked, 1, kBatchesInSegment, "0.2.log says");
  EXPECT_EQ(walked.damage->operations_behind, 2u);
}

TEST(Walk, ABatchThatASnapshotNeedsIsDamage) {
  const auto disk = DurableLog(3);
  Damage(disk.get(), 1, 3);
  EXPECT_FALSE(WalkAll(disk.get(), {.segment = 1, .needs = 2}).damage);
  ExpectDamage(WalkAll(disk.get(), {.segment = 1, .needs = 3}), 1, 3, "a snapshot needs");
}

TEST(Walk, MissingSegmentIsDamage) {
  const auto disk = DurableLog(20);
  disk->Erase(Segment(2));
  ExpectDamage(WalkAll(disk.get()), 2, 0, "the file is missing");
}

TEST(Walk, MissingLastSegmentIsDamage) {
  const auto disk = DurableLog(kBatchesInSegment + 1);
  disk->Erase(Segment(2));
  ExpectDamage(WalkAll(disk.get()), 1, kBatchesInSegment + 1, "0.2.log, which is missing");
}

TEST(Walk, MissingFirstSegmentIsDamageWhenItIsNeeded) {
  const auto disk = DurableLog(20);
  disk->Erase(Segment(1));
  EXPECT_FALSE(WalkAll(disk.get()).damage);
  EXPECT_FALSE(WalkAll(disk.get(), {.segment = 2}).damage);
  ExpectDamage(WalkAll(disk.get(), {.segment = 1}), 1, 0, "the file is missing");
  ExpectDamage(WalkAll(disk.get(), {.batch = 1}), 2, 0, "is missing");
  SimulatedDisk empty;
  ExpectDamage(WalkAll(&empty, {.segment = 7}), 7, 0, "the file is missing");
  ExpectDamage(WalkAll(&empty, {.needs = 1}), 1, 0, "the file is missing");
}

TEST(Walk, SegmentsBeforeTheFirstOneMayBeHalfRemoved) {
  const auto disk = DurableLog(20);
  disk->Erase(Segment(2));
  disk->Flip(Segment(1), 10, kBit);
  EXPECT_FALSE(WalkAll(disk.get(), {.segment = 3}).damage);
}

TEST(Walk, EveryBitOfAHeadMatters) {
  const auto disk = DurableLog(8);
  for (uint64_t byte = 0; byte < 104; ++byte) {
    disk->Flip(Segment(2), byte, kBit);
    ExpectDamage(WalkAll(disk.get()), 2, 0, "head fails its checksum");
    disk->Flip(Segment(2), byte, kBit);
  }
}

TEST(Walk, AFileUnderAnothersNameIsDamage) {
  const auto disk = DurableLog(20);
  disk->Swap(Segment(2), Segment(3));
  ExpectDamage(WalkAll(disk.get()), 2, 0, "its head says that it is 0.3.log");
}

TEST(Walk, AFileCutShortIsDamage) {
  const auto disk = DurableLog(8);
  disk->Truncate(Segment(2), kSegmentBytes - kLogBlockBytes);
  ExpectDamage(WalkAll(disk.get()), 2, 0, "shorter than its head says");
  disk->Truncate(Segment(2), 100);
  ExpectDamage(WalkAll(disk.get()), 2, 0, "shorter than its head");
}

TEST(Walk, AnotherLogsSegmentIsDamage) {
  const auto disk = DurableLog(8);
  auto bytes = disk->Get(Segment(2));
  for (const int field : {0, 1, 2, 3}) {
    auto head = *verify::CheckLogHead(verify::LogFile::kSegment, bytes);
    if (field == 0) head.id.low += 1;
    if (field == 1) head.hash_seed += 1;
    if (field == 2) head.shard_count += 1;
    if (field == 3) head.cluster_id += 1;
    auto other = bytes;
    std::ranges::copy(verify::SealLogHead(verify::LogFile::kSegment, head), other.begin());
    disk->Put(Segment(2), other);
    ExpectDamage(WalkAll(disk.get()), 2, 0, "of another log");
  }
}

TEST(Walk, ASegmentOfAnotherPastIsDamage) {
  const auto disk = DurableLog(8);
  auto bytes = disk->Get(Segment(2));
  auto head = *verify::CheckLogHead(verify::LogFile::kSegment, bytes);
  head.chain += 1;
  std::ranges::copy(verify::SealLogHead(verify::LogFile::kSegment, head), bytes.begin());
  disk->Put(Segment(2), bytes);
  ExpectDamage(WalkAll(disk.get()), 1, kBatchesInSegment + 1, "0.2.log goes on from");
}

TEST(Walk, AnotherFormatsVersionIsNoDamage) {
  const auto disk = DurableLog(1);
  auto bytes = disk->Get(Segment(1));
  bytes[16] = std::byte{9};
  constexpr uint64_t kSeedOfHeads = 0x706c6f766c6f6773;
  const uint64_t checksum = verify::Checksum(bytes.data() + 8, kLogBlockBytes - 8, kSeedOfHeads);
  std::memcpy(bytes.data(), &checksum, sizeof(checksum));
  disk->Put(Segment(1), bytes);
  const auto folder = log::Folder::List(disk.get());
  const auto opened = log::Walk::Open(disk.get(), folder->shards.at(0), {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kProtocol);
}

TEST(Walk, AFileOfAnotherKindIsDamage) {
  const auto disk = DurableLog(1);
  disk->Copy(Segment(1), "0.1.snapshot");
  const auto head = log::ReadHead(disk.get(), "0.1.snapshot", verify::LogFile::kSnapshot);
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error().code, Code::kInvalidArgument);
  const auto block =
      verify::SealLogHead(verify::LogFile::kSnapshot, {.id = {}, .number = 1, .first_batch = 1});
  disk->Put(Segment(1), {block.begin(), block.end()});
  ExpectDamage(WalkAll(disk.get()), 1, 0, "another kind of file");
}

TEST(Walk, AnErrorOfTheDiskIsNoDamage) {
  const auto disk = DurableLog(8);
  disk->FailNext(SimulatedDisk::Call::kRead, Code::kSystem, 2);
  auto folder = log::Folder::List(disk.get());
  auto walk = log::Walk::Open(disk.get(), folder->shards[0], {});
  ASSERT_TRUE(walk && *walk);
  const auto next = (*walk)->Next();
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().code, Code::kSystem);
}

// What lies at or beyond the next segment's first batch was never promised there (D6).
TEST(Walk, WhatAnOldSegmentHasBeyondTheNextOnesFirstBatchIsHistory) {
  const auto disk = UnattestedLog(5);
  Damage(disk.get(), 1, 3);
  const Walked before = WalkAll(disk.get());
  EXPECT_EQ(before.batches, UpTo(2));
  WrittenLog log(disk.get(), Writes::kDurable, before.end);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(3);
  disk->Flip(Segment(1), 3 * kLogBlockBytes + 120, kBit);  // whole again, and still history
  const Walked walked = WalkAll(disk.get());
  EXPECT_FALSE(walked.damage);
  EXPECT_EQ(walked.batches, UpTo(5));
  EXPECT_EQ(walked.segments, (std::vector<uint64_t>{1, 1, 2, 2, 2}));
}

TEST(Walk, ABatchInAnotherPlaceIsForeign) {
  const auto disk = DurableLog(4);
  auto bytes = disk->Get(Segment(1));
  const auto block = bytes.begin() + kLogBlockBytes;
  std::copy_n(block + 3 * static_cast<ptrdiff_t>(kLogBlockBytes), kLogBlockBytes,
              block + 4 * static_cast<ptrdiff_t>(kLogBlockBytes));
  disk->Put(Segment(1), bytes);
  const Walked walked = WalkAll(disk.get());
  EXPECT_EQ(walked.batches, UpTo(4));
  EXPECT_FALSE(walked.torn);
}

TEST(Walk, ARecycledFilesOldBatchesAreForeign) {
  const auto disk = DurableLog(3 * kBatchesInSegment + 1);
  const log::LogEnd end = WalkAll(disk.get()).end;
  disk->Copy(Segment(2), "spare.0");
  log::Spares spares(disk.get(), kSegmentBytes, {"spare.0"});
  log::SegmentWriter writer(disk.get(), &spares, {.id = kLogId, .hash_seed = kHashSeed}, end);
  ASSERT_TRUE(writer.Begin());
  BatchMemory batch(end.next_batch, 10);
  ASSERT_TRUE(writer.Write(batch.pending()));
  const Walked walked = WalkAll(disk.get());
  EXPECT_FALSE(walked.damage);
  EXPECT_FALSE(walked.torn);
  EXPECT_EQ(walked.batches, UpTo(end.next_batch));
}

TEST(Walk, ABatchThatGoesOnFromAnotherPastIsNotWhole) {
  const auto disk = DurableLog(3);
  auto bytes = disk->Get(Segment(1));
  constexpr uint64_t kOffset = 3 * kLogBlockBytes;
  const std::span<std::byte> last = std::span(bytes).subspan(kOffset, kLogBlockBytes);
  auto head = *verify::GuessBatchHead(last, last.size());
  const std::span<std::byte> piece = last.first(head.bytes);
  for (const uint64_t chain : {head.chain, head.chain + 1}) {
    const bool is_same = chain == head.chain;
    head.chain = chain;
    verify::EncodeBatchHead(head, last.first<verify::kBatchHeadBytes>());
    verify::SealBatch(std::span(&piece, 1), verify::BatchSeed(kLogId, 1, kOffset));
    disk->Put(Segment(1), bytes);
    EXPECT_EQ(WalkAll(disk.get()).batches, UpTo(is_same ? 3 : 2));
  }
}

TEST(Walk, ABatchLargerThanTheWindowIsRead) {
  SimulatedDisk disk;
  WrittenLog log(&disk);
  ASSERT_TRUE(log.writer().Begin());
  log.PutAll(1);
  ASSERT_TRUE(log.Put(size_t{9} << 20));
  log.PutAll(1);
  EXPECT_EQ(WalkAll(&disk).batches, UpTo(3));
}

// D5 as a whole: what was durable is told or refused, and never silently lost, but for the last batch that
// nothing attests.
TEST(Walk, NoFlippedBitLosesWhatIsAttested) {
  const auto disk = DurableLog(2 * kBatchesInSegment + 3);
  const uint64_t last = 2 * kBatchesInSegment + 3;
  for (uint64_t segment = 1; segment <= 3; ++segment) {
    for (uint64_t block = 0; block < kSegmentBytes / kLogBlockBytes; ++block) {
      for (const int byte : {0, 8, 12, 16, 24, 32, 40, 48, 56, 60, 64, 72, 110, 200}) {
        const uint64_t offset = block * kLogBlockBytes + static_cast<uint64_t>(byte);
        disk->Flip(Segment(segment), offset, kBit);
        const Walked walked = WalkAll(disk.get());
        const bool is_last = segment == 3 && block == 3;
        EXPECT_TRUE(walked.damage || walked.end.next_batch == last + 1 ||
                    (is_last && walked.end.next_batch == last))
            << segment << " " << offset;
        disk->Flip(Segment(segment), offset, kBit);
      }
    }
  }
}

}  // namespace
}  // namespace plov::test
