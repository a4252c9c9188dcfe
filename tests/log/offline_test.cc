// What plov log does with a log's folder, on a simulated disk.

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "log/offline/check.h"
#include "log/offline/cut.h"
#include "log/offline/index.h"
#include "log/offline/restore.h"
#include "log/offline/salvage.h"
#include "log/offline/shards.h"
#include "tests/log/simulated_disk.h"
#include "tests/log/written_log.h"
#include "verify/seal.h"

namespace plov::log::offline {
namespace {

using test::AddSnapshot;
using test::kBatchesInSegment;
using test::SimulatedDisk;
using test::UpTo;
using test::WrittenLog;
using verify::kLogBlockBytes;

constexpr int kSegments = 3;
constexpr uint64_t kLast = kSegments * kBatchesInSegment - 2;  // of the batches that MakeLog writes

// Segments of a few batches with one put each, the last of which is attested.
std::unique_ptr<SimulatedDisk> MakeLog() {
  auto disk = std::make_unique<SimulatedDisk>();
  WrittenLog written(disk.get());
  EXPECT_TRUE(written.writer().Begin());
  written.PutAll(kLast);
  EXPECT_TRUE(written.Attest());
  return disk;
}

// A folder with the log of shard 1 of 3 alone.
std::unique_ptr<SimulatedDisk> MakeOneOfThree(uint64_t cluster_id, bool is_replica = false) {
  auto disk = std::make_unique<SimulatedDisk>();
  Spares spares(disk.get(), test::kSegmentBytes, {});
  SegmentWriter writer(disk.get(), &spares,
                       {.shard = 1,
                        .shard_count = 3,
                        .id = test::kLogId,
                        .hash_seed = test::kHashSeed,
                        .cluster_id = cluster_id,
                        .is_replica = is_replica},
                       {});
  EXPECT_TRUE(writer.Begin());
  const test::BatchMemory batch(1, 100);
  EXPECT_TRUE(writer.Write(batch.pending()));
  return disk;
}

Report CheckOne(Disk* disk) {
  const auto reports = Check(disk, nullptr);
  EXPECT_TRUE(reports) << reports.error().message;
  EXPECT_EQ(reports->size(), 1u);
  return reports->front();
}

uint64_t BlockAt(uint64_t block) { return block * kLogBlockBytes; }

// The versions, which are the numbers of the batches, that a salvage finds.
struct Salvaged {
  std::set<uint64_t> versions;
  std::vector<std::string> skipped;
};
Salvaged SalvageAll(Disk* disk) {
  Salvaged all;
  const auto skipped = Salvage(disk, [&](const verify::Logged& operation, const Place&) {
    all.versions.insert(operation.version);
    return true;
  });
  EXPECT_TRUE(skipped) << skipped.error().message;
  all.skipped = *skipped;
  return all;
}

std::set<uint64_t> Without(uint64_t first, uint64_t last) {
  std::set<uint64_t> numbers;
  for (uint64_t number = 1; number <= kLast; ++number) {
    if (number < first || number > last) numbers.insert(number);
  }
  return numbers;
}

TEST(OfflineCheck, AWholeLogIsWhole) {
  const auto disk = MakeLog();
  const Report report = CheckOne(disk.get());
  EXPECT_TRUE(report.damages.empty());
  EXPECT_FALSE(report.torn);
  EXPECT_EQ(report.segments, size_t{kSegments});
  EXPECT_EQ(report.operations, kLast);
  EXPECT_EQ(report.first_batch, 1u);
  EXPECT_EQ(report.last_batch, kLast + 1);  // the attest
  EXPECT_EQ(report.first_version, 1u);
  EXPECT_EQ(report.last_version, kLast);
}

TEST(OfflineCheck, DamageBeforeASnapshotDoesNotKeepAServerFromStarting) {
  const auto disk = MakeLog();
  AddSnapshot(disk.get(), 3, kLast);
  EXPECT_TRUE(CheckOne(disk.get()).damages.empty());
  disk->Flip("0.1.log", BlockAt(2), std::byte{1});
  const Report report = CheckOne(disk.get());
  ASSERT_EQ(report.damages.size(), 1u);
  EXPECT_EQ(report.damages[0].offset, BlockAt(2));
  EXPECT_TRUE(report.starts);
  disk->Flip("0.3.log", BlockAt(1), std::byte{1});
  EXPECT_FALSE(CheckOne(disk.get()).starts);
  EXPECT_EQ(CheckOne(disk.get()).damages.size(), 2u);
}

TEST(OfflineCheck, SegmentsThatAreHalfRemovedBeforeASnapshotAreNoDamage) {
  const auto disk = MakeLog();
  AddSnapshot(disk.get(), 3, kLast);
  disk->Erase("0.2.log");
  EXPECT_TRUE(CheckOne(disk.get()).damages.empty());
  disk->Erase("0.3.log");
  EXPECT_FALSE(CheckOne(disk.get()).starts);
}

TEST(OfflineCheck, ASnapshotAloneAndADamagedOneAreDamage) {
  const auto disk = MakeLog();
  AddSnapshot(disk.get(), 2, kLast);
  AddSnapshot(disk.get(), 3, kLast);
  disk->Flip("0.3.snapshot", BlockAt(1) + 8, std::byte{1});
  const Report report = CheckOne(disk.get());
  ASSERT_EQ(report.damages.size(), 1u);
  EXPECT_TRUE(report.damages[0].file.ends_with("0.3.snapshot"));
  EXPECT_TRUE(report.starts);  // from the one before
  for (const char* name : {"0.1.log", "0.2.log", "0.3.log"}) disk->Erase(name);
  EXPECT_FALSE(CheckOne(disk.get()).starts);
}

// Shorter, it would be believed to have what it does not have any more.
TEST(OfflineCheck, AReplicasLogIsOnlyReadByItsServer) {
  const auto disk = MakeOneOfThree(7, true);
  EXPECT_TRUE(CheckOne(disk.get()).damages.empty());
  for (const Code code :
       {PlanCut(disk.get()).error().code, PlanRestore(disk.get(), {}).error().code,
        LookForOperations(disk.get()).error().code}) {
    EXPECT_EQ(code, Code::kInvalidArgument);
  }
  EXPECT_TRUE(SalvageAll(disk.get()).versions.empty());
}

TEST(OfflineCheck, AFolderWithoutALogIsNone) {
  SimulatedDisk disk;
  disk.Put("spare.1", {});
  EXPECT_EQ(Check(&disk, nullptr).error().code, Code::kNotFound);
  EXPECT_EQ(SalvageAll(MakeLog().get()).skipped.size(), 0u);
  EXPECT_EQ(Salvage(&disk, nullptr).error().code, Code::kNotFound);
}

TEST(OfflineCheck, AnotherFormatIsNoDamage) {
  const auto disk = MakeLog();
  auto bytes = disk->Get("0.2.log");
  bytes[16] = std::byte{verify::kReplicaLogFormat + 1};
  constexpr uint64_t kHeadSeed = 0x706c6f766c6f6773;
  const uint64_t checksum = verify::Checksum(bytes.data() + 8, kLogBlockBytes - 8, kHeadSeed);
  std::memcpy(bytes.data(), &checksum, sizeof(checksum));
  disk->Put("0.2.log", bytes);
  EXPECT_EQ(Check(disk.get(), nullptr).error().code, Code::kProtocol);
  EXPECT_EQ(PlanCut(disk.get()).error().code, Code::kProtocol);
  EXPECT_EQ(SalvageAll(disk.get()).versions, Without(kBatchesInSegment + 1, 2 * kBatchesInSegment));
  EXPECT_FALSE(SalvageAll(disk.get()).skipped.empty());
}

// The copy holds what lies before the damage, and the next start's versions lie beyond all that there were.
void ExpectCut(SimulatedDisk* disk, uint64_t last, const std::string& what) {
  SCOPED_TRACE(what);
  const auto cuttings = PlanCut(disk);
  ASSERT_TRUE(cuttings) << cuttings.error().message;
  SimulatedDisk copy;
  const auto reports = CopyCut(disk, &copy, *cuttings, nullptr);
  ASSERT_TRUE(reports) << reports.error().message;
  const test::Walked walked = test::WalkAll(&copy);
  EXPECT_FALSE(walked.damage);
  EXPECT_EQ(walked.batches, UpTo(last));
  EXPECT_GE(walked.end.last_version, kLast - 2);  // the last ones may be what is damaged
  for (const std::string& name : copy.Names()) EXPECT_FALSE(name.ends_with(".new")) << name;
  // A power cut right after it loses nothing of it.
  SimulatedDisk::Random random(1);
  EXPECT_EQ(test::WalkAll(copy.Crash(&random).get()).batches, UpTo(last));
  // A server goes on behind it.
  WrittenLog next(&copy, WrittenLog::Writes::kDurable, walked.end);
  ASSERT_TRUE(next.writer().Begin());
  ASSERT_TRUE(next.Put());
  EXPECT_EQ(test::WalkAll(&copy).batches.back(), walked.end.next_batch);
}

// A single server has all its shards in one folder, a server of a cluster some of the cluster's.
TEST(OfflineShards, ThoseOfAClusterNeedNotAllBeThere) {
  const auto alone = MakeOneOfThree(0);
  EXPECT_EQ(Look(alone.get())->missing, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(Check(alone.get(), nullptr)->size(), 3u);
  EXPECT_FALSE(PlanCut(alone.get()));
  EXPECT_EQ(Salvage(alone.get(), nullptr)->size(), 2u);
  const auto member = MakeOneOfThree(17);
  EXPECT_TRUE(Look(member.get())->missing.empty());
  EXPECT_TRUE(CheckOne(member.get()).starts);
  EXPECT_TRUE(Salvage(member.get(), nullptr)->empty());
  const auto cuttings = PlanCut(member.get());
  ASSERT_TRUE(cuttings) << cuttings.error().message;
  SimulatedDisk copy;
  ASSERT_TRUE(CopyCut(member.get(), &copy, *cuttings, nullptr));
  EXPECT_EQ(ReadHead(&copy, "1.1.log", verify::LogFile::kSegment)->cluster_id, 17u);
}

TEST(OfflineShards, OneOfAnotherClusterIsForeign) {
  const auto disk = MakeOneOfThree(17);
  auto bytes = disk->Get("1.1.log");
  auto head = *verify::CheckLogHead(verify::LogFile::kSegment, bytes);
  head.shard = 2;
  head.cluster_id = 18;
  std::ranges::copy(verify::SealLogHead(verify::LogFile::kSegment, head), bytes.begin());
  disk->Put("2.1.log", bytes);
  const auto shards = Look(disk.get());
  ASSERT_TRUE(shards) << shards.error().message;
  EXPECT_FALSE(shards->present[0].foreign);
  EXPECT_TRUE(shards->present[1].foreign);
}

TEST(OfflineCut, EachDamagedBatchLeavesThoseBeforeIt) {
  for (uint64_t batch = 1; batch <= kLast; ++batch) {
    const auto disk = MakeLog();
    const uint64_t segment = (batch - 1) / kBatchesInSegment;
    const uint64_t offset = BlockAt(1 + (batch - 1) % kBatchesInSegment);
    disk->Flip(SegmentName(0, segment + 1), offset + 70, std::byte{4});
    ExpectCut(disk.get(), batch - 1, "batch " + std::to_string(batch));
    const auto cuttings = PlanCut(disk.get());
    EXPECT_EQ(cuttings->front().operations_lost, kLast - batch);
  }
}

TEST(OfflineCut, FilesThatAreGoneOrShortLeaveWhatLiesBefore) {
  auto disk = MakeLog();
  disk->Erase("0.2.log");
  ExpectCut(disk.get(), kBatchesInSegment, "missing");
  disk = MakeLog();
  disk->Flip("0.2.log", 50, std::byte{1});
  ExpectCut(disk.get(), kBatchesInSegment, "head");
  disk = MakeLog();
  disk->Truncate("0.2.log", BlockAt(3) + 10);
  ExpectCut(disk.get(), kBatchesInSegment + 2, "short");
  disk = MakeLog();
  disk->Truncate("0.3.log", BlockAt(3));
  ExpectCut(disk.get(), 2 * kBatchesInSegment + 2, "short at the end");
  disk = MakeLog();
  disk->Swap("0.2.log", "0.3.log");
  ExpectCut(disk.get(), kBatchesInSegment, "swapped");
  disk = MakeLog();
  ExpectCut(disk.get(), kLast, "whole");
  disk = MakeLog();
  disk->Erase("0.1.log");
  EXPECT_EQ(PlanCut(disk.get()).error().code, Code::kCorrupt);
}

TEST(OfflineCut, ASnapshotThatNeedsWhatIsCutGivesWayToAnOlderOne) {
  const auto disk = MakeLog();
  AddSnapshot(disk.get(), 2, kBatchesInSegment + 1);
  AddSnapshot(disk.get(), 3, kLast);
  disk->Flip("0.3.log", BlockAt(2), std::byte{1});
  auto cuttings = PlanCut(disk.get());
  ASSERT_TRUE(cuttings);
  EXPECT_EQ(cuttings->front().files.snapshots, std::set<uint64_t>{2});
  EXPECT_EQ(cuttings->front().files.segments, (std::set<uint64_t>{2, 3}));
  SimulatedDisk copy;
  EXPECT_TRUE(CopyCut(disk.get(), &copy, *cuttings, nullptr));
  EXPECT_TRUE(CheckOne(&copy).starts);
  EXPECT_TRUE(CheckOne(&copy).damages.empty());
  // The log from its beginning on is as good.
  disk->Flip("0.2.snapshot", BlockAt(1), std::byte{1});
  cuttings = PlanCut(disk.get());
  ASSERT_TRUE(cuttings);
  EXPECT_TRUE(cuttings->front().files.snapshots.empty());
  disk->Erase("0.1.log");
  EXPECT_EQ(PlanCut(disk.get()).error().code, Code::kCorrupt);
}

TEST(OfflineCut, WhatCannotBeCopiedLeavesNothing) {
  const auto disk = MakeLog();
  const auto cuttings = PlanCut(disk.get());
  for (const auto call :
       {SimulatedDisk::Call::kCreate, SimulatedDisk::Call::kWrite, SimulatedDisk::Call::kSync,
        SimulatedDisk::Call::kRename, SimulatedDisk::Call::kSyncNames}) {
    SimulatedDisk copy;
    copy.FailNext(call, Code::kNoSpace, call == SimulatedDisk::Call::kSyncNames ? 0 : 1);
    EXPECT_EQ(CopyCut(disk.get(), &copy, *cuttings, nullptr).error().code, Code::kNoSpace);
    EXPECT_TRUE(copy.Names().empty()) << static_cast<int>(call);
  }
}

TEST(OfflineSalvage, EachDamagedBatchIsAllThatIsLost) {
  for (uint64_t batch = 1; batch <= kLast; ++batch) {
    const auto disk = MakeLog();
    const uint64_t segment = (batch - 1) / kBatchesInSegment;
    disk->Flip(SegmentName(0, segment + 1), BlockAt(1 + (batch - 1) % kBatchesInSegment) + 70,
               std::byte{4});
    const Salvaged all = SalvageAll(disk.get());
    EXPECT_EQ(all.versions, Without(batch, batch));
    ASSERT_EQ(all.skipped.size(), 1u) << batch;
    EXPECT_NE(all.skipped[0].find("batch " + std::to_string(batch) + " is lost"), std::string::npos)
        << all.skipped[0];
  }
}

TEST(OfflineSalvage, FilesAreReadByWhatTheySay) {
  auto disk = MakeLog();
  disk->Swap("0.1.log", "0.3.log");
  EXPECT_EQ(SalvageAll(disk.get()).versions, Without(0, 0));
  EXPECT_EQ(SalvageAll(disk.get()).skipped.size(), 2u);
  disk = MakeLog();
  disk->Flip("0.2.log", 50, std::byte{1});  // its name tells as much
  EXPECT_EQ(SalvageAll(disk.get()).versions, Without(0, 0));
  EXPECT_EQ(SalvageAll(disk.get()).skipped.size(), 1u);
  disk->Erase("0.2.log");
  EXPECT_EQ(SalvageAll(disk.get()).versions, Without(kBatchesInSegment + 1, 2 * kBatchesInSegment));
  EXPECT_FALSE(SalvageAll(disk.get()).skipped.empty());
}

TEST(OfflineSalvage, ASegmentAtTheEndThatIsMissingIsTold) {
  const auto disk = MakeLog();
  disk->Erase("0.3.log");
  EXPECT_EQ(SalvageAll(disk.get()).versions, Without(2 * kBatchesInSegment + 1, kLast));
  EXPECT_EQ(SalvageAll(disk.get()).skipped.size(), 1u);
}

TEST(OfflineSalvage, WhatASnapshotCoversIsNotReadAgain) {
  const auto disk = MakeLog();
  AddSnapshot(disk.get(), 3, kLast);
  EXPECT_EQ(SalvageAll(disk.get()).versions, Without(1, 2 * kBatchesInSegment - 1));
  EXPECT_TRUE(SalvageAll(disk.get()).skipped.empty());
  disk->Flip("0.3.snapshot", 50, std::byte{1});  // its block is whole; the log has the rest
  EXPECT_EQ(SalvageAll(disk.get()).versions, Without(0, 0));
  EXPECT_EQ(SalvageAll(disk.get()).skipped.size(), 2u);
}

TEST(OfflineSalvage, WhatANextSegmentSaysIsHistoryStaysHistory) {
  SimulatedDisk disk;
  log::LogEnd end;
  {
    WrittenLog written(&disk, WrittenLog::Writes::kUntilSync);
    ASSERT_TRUE(written.writer().Begin());
    written.PutAll(4);  // none is durable, and batch 3 is torn: 4 was never promised
    disk.Flip("0.1.log", BlockAt(3) + 70, std::byte{1});
    const test::Walked walked = test::WalkAll(&disk);
    EXPECT_EQ(walked.batches, UpTo(2));
    EXPECT_EQ(SalvageAll(&disk).versions, (std::set<uint64_t>{1, 2, 4}));
    end = walked.end;
  }
  WrittenLog next(&disk, WrittenLog::Writes::kDurable, end);
  ASSERT_TRUE(next.writer().Begin());
  EXPECT_EQ(SalvageAll(&disk).versions, (std::set<uint64_t>{1, 2}));
  EXPECT_TRUE(SalvageAll(&disk).skipped.empty());
}

using Items = std::map<std::string, uint64_t>;
Items ItemsOf(const Index& index, Disk* disk, uint64_t now) {
  Items items;
  const auto done = index.ForEach(disk, now, [&](const Index::Item& item) {
    items.emplace(item.key, item.version);
    return true;
  });
  EXPECT_TRUE(done) << done.error().message;
  return items;
}

TEST(OfflineIndex, OfEachKeyTheGreatestVersionCounts) {
  SimulatedDisk disk;
  Index index(Index::Deletes::kRemember);
  const auto apply = [&](std::string_view key, uint64_t version, bool is_delete,
                         uint32_t expiry = 0) {
    index.Apply({.kind = is_delete ? verify::Logged::Kind::kDelete : verify::Logged::Kind::kPut,
                 .version = version,
                 .expiry = expiry,
                 .key = key},
                {.file = "0.1.log"});
  };
  apply("old", 5, false);
  apply("old", 3, false);
  apply("deleted", 4, true);
  apply("deleted", 2, false);
  apply("again", 1, true);
  apply("again", 9, false);
  apply("expires", 7, false, 100);
  EXPECT_EQ(ItemsOf(index, &disk, 99), (Items{{"old", 5}, {"again", 9}, {"expires", 7}}));
  EXPECT_EQ(ItemsOf(index, &disk, 100), (Items{{"old", 5}, {"again", 9}}));
}

TEST(OfflineIndex, ValuesAreReadFromTheFileAndChecked) {
  const auto disk = MakeLog();
  Index index(Index::Deletes::kForget);
  const auto shards = Look(disk.get());
  ASSERT_TRUE(shards);
  const Shard& shard = shards->present.front();
  const auto walked = WalkLog(disk.get(), shard.files, shard.AsAServer(),
                              [&](const verify::Logged& operation, const Place& place) {
                                index.Apply(operation, place);
                                return true;
                              });
  ASSERT_TRUE(walked);
  std::string value;
  const auto read = [&] {
    return index.ForEach(disk.get(), 0, [&](const Index::Item& item) {
      value = item.value;
      return true;
    });
  };
  ASSERT_TRUE(read());
  EXPECT_EQ(value, std::string(100, static_cast<char>(kLast)));
  const uint64_t last_at = BlockAt(1 + (kLast - 1) % kBatchesInSegment);
  disk->Flip("0.3.log", last_at + 150, std::byte{1});
  EXPECT_EQ(read().error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace plov::log::offline
