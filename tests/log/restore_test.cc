// Restore from a backup, whole and up to a version or a time, on simulated disks.

#include "log/offline/restore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "log/segment_writer.h"
#include "log/spares.h"
#include "tests/log/served_log.h"
#include "tests/log/simulated_disk.h"
#include "tests/log/written_log.h"

namespace plov::log::offline {
namespace {

using test::kBatchesInSegment;
using test::SimulatedDisk;
using test::UpTo;
using test::WrittenLog;

// Batches of three operations each, of the versions 1, 2 and so on, with one key each.
constexpr uint64_t kInBatch = 3;
// The clock was set back after the fourth.
constexpr uint64_t TimeOf(uint64_t batch) {
  return batch < 5 ? 1'000 * batch : 1'000 * batch - 3'500;
}
void WriteThrees(SimulatedDisk* disk, uint64_t batches) {
  Spares spares(disk, test::kSegmentBytes, {});
  SegmentWriter writer(disk, &spares, {.id = test::kLogId, .hash_seed = test::kHashSeed}, {});
  ASSERT_TRUE(writer.Begin());
  for (uint64_t number = 1; number <= batches; ++number) {
    std::vector<std::byte> bytes(verify::kBatchHeadBytes + kInBatch * verify::LoggedBytes(1, 0));
    const uint64_t first = (number - 1) * kInBatch + 1;
    for (uint64_t i = 0; i < kInBatch; ++i) {
      const verify::Logged put{.version = first + i, .key = "k"};
      verify::EncodeLoggedHead(
          put, 0, bytes.data() + verify::kBatchHeadBytes + i * verify::LoggedBytes(1, 0));
    }
    PendingBatch batch;
    batch.pieces = {bytes};
    batch.head = {.number = number,
                  .first_version = first,
                  .last_version = first + kInBatch - 1,
                  .operations = kInBatch,
                  .time_us = TimeOf(number)};
    ASSERT_TRUE(writer.Write(batch));
  }
}

TEST(Restore, EndsBehindEachVersion) {
  SimulatedDisk disk;
  constexpr uint64_t kBatches = 2 * kBatchesInSegment + 2;
  WriteThrees(&disk, kBatches);
  constexpr uint64_t kAllOperations = kBatches * kInBatch;
  for (uint64_t version = 0; version <= kAllOperations + 1; ++version) {
    SCOPED_TRACE(version);
    const auto cuttings = PlanRestore(&disk, {.versions = {{0, version}}});
    ASSERT_TRUE(cuttings) << cuttings.error().message;
    const uint64_t kept = std::min(version, kAllOperations);
    EXPECT_EQ(cuttings->front().last_version, kept);
    EXPECT_EQ(cuttings->front().operations_lost, kAllOperations - kept);
    SimulatedDisk copy;
    const auto reports = CopyCut(&disk, &copy, *cuttings, nullptr);
    ASSERT_TRUE(reports) << reports.error().message;
    EXPECT_FALSE(reports->front().torn);
    EXPECT_EQ(BatchesIn(&copy), UpTo(kept));
    // A server goes on behind it, beyond all versions that there were.
    const auto shards = Look(&copy);
    const Shard& shard = shards->present.front();
    const auto ending = WalkLog(&copy, shard.files, shard.AsAServer(), nullptr);
    EXPECT_GE(ending->end.last_version, kAllOperations);
    WrittenLog next(&copy, WrittenLog::Writes::kDurable, ending->end);
    ASSERT_TRUE(next.writer().Begin());
    ASSERT_TRUE(next.Put());
    EXPECT_TRUE(CheckCopy(&copy));
  }
}

TEST(Restore, EndsBeforeTheFirstBatchThatIsLater) {
  SimulatedDisk disk;
  constexpr uint64_t kBatches = 2 * kBatchesInSegment + 2;
  WriteThrees(&disk, kBatches);
  for (uint64_t time_us = 0; time_us <= TimeOf(kBatches) + 1'000; time_us += 250) {
    SCOPED_TRACE(time_us);
    uint64_t kept = 0;
    while (kept < kBatches && TimeOf(kept + 1) <= time_us) ++kept;
    const auto cuttings = PlanRestore(&disk, {.time_us = time_us});
    ASSERT_TRUE(cuttings) << cuttings.error().message;
    EXPECT_EQ(cuttings->front().last_version, kept * kInBatch);
    EXPECT_EQ(cuttings->front().operations_lost, (kBatches - kept) * kInBatch);
    SimulatedDisk copy;
    ASSERT_TRUE(CopyCut(&disk, &copy, *cuttings, nullptr));
    EXPECT_EQ(BatchesIn(&copy), UpTo(kept * kInBatch));
  }
  const auto both = PlanRestore(&disk, {.versions = {{0, 5}}, .time_us = TimeOf(4)});
  ASSERT_TRUE(both);
  EXPECT_EQ(both->front().last_version, 5u);
}

// In these logs the times are the versions.
class RestoreTo : public testing::TestWithParam<bool> {
 protected:
  static Until At(uint64_t number) {
    if (GetParam()) return {.time_us = number};
    return {.versions = {{0, number}}};
  }
};
INSTANTIATE_TEST_SUITE_P(VersionOrTime, RestoreTo, testing::Bool());

TEST_P(RestoreTo, NothingBeforeWhatTheSnapshotNeeds) {
  SimulatedDisk disk;
  Served server(&disk);
  server.log().PutAll(kBatchesInSegment + 2);
  server.TakeSnapshot();  // needs both of the second segment
  server.log().PutAll(2 * kBatchesInSegment);
  const uint64_t least = kBatchesInSegment + 2;
  const auto refused = PlanRestore(&disk, At(least - 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidArgument);
  const std::string said = GetParam() ? "Unix time 1" : std::to_string(least);
  EXPECT_TRUE(refused.error().message.ends_with("can be had is " + said))
      << refused.error().message;
  for (uint64_t version = least; version <= server.last(); ++version) {
    const auto cuttings = PlanRestore(&disk, At(version));
    ASSERT_TRUE(cuttings) << cuttings.error().message;
    SimulatedDisk copy;
    ASSERT_TRUE(CopyCut(&disk, &copy, *cuttings, nullptr));
    EXPECT_EQ(BatchesIn(&copy).back(), version);
  }
}

TEST_P(RestoreTo, AnOlderSnapshotGoesFurtherBack) {
  SimulatedDisk disk;
  Served server(&disk, 2);
  server.log().PutAll(kBatchesInSegment + 2);
  server.TakeSnapshot();
  server.log().PutAll(kBatchesInSegment);
  server.TakeSnapshot();
  const uint64_t version = kBatchesInSegment + 3;
  const auto cuttings = PlanRestore(&disk, At(version));
  ASSERT_TRUE(cuttings) << cuttings.error().message;
  EXPECT_EQ(cuttings->front().files.snapshots, std::set<uint64_t>{2});
  SimulatedDisk copy;
  ASSERT_TRUE(CopyCut(&disk, &copy, *cuttings, nullptr));
  EXPECT_EQ(BatchesIn(&copy).back(), version);
}

TEST(Restore, WithoutAVersionItIsACopy) {
  SimulatedDisk disk;
  Served server(&disk);
  server.log().PutAll(3 * kBatchesInSegment);
  server.TakeSnapshot();
  server.log().PutAll(2);
  const auto cuttings = PlanRestore(&disk, {});
  ASSERT_TRUE(cuttings);
  SimulatedDisk copy;
  ASSERT_TRUE(CopyCut(&disk, &copy, *cuttings, nullptr));
  for (const std::string& name : copy.Names()) EXPECT_EQ(copy.Get(name), disk.Get(name)) << name;
  EXPECT_EQ(BatchesIn(&copy), BatchesIn(&disk));
}

TEST(Restore, WhatIsDamagedOrNotThereIsRefused) {
  SimulatedDisk disk;
  WriteThrees(&disk, 3 * kBatchesInSegment);
  EXPECT_EQ(PlanRestore(&disk, {.versions = {{1, 5}}}).error().code, Code::kNotFound);
  disk.Flip("0.2.log", 2 * verify::kLogBlockBytes + 70, std::byte{1});
  EXPECT_EQ(PlanRestore(&disk, {}).error().code, Code::kCorrupt);
  EXPECT_EQ(PlanRestore(&disk, {.versions = {{0, 2}}}).error().code, Code::kCorrupt);
  SimulatedDisk empty;
  EXPECT_EQ(PlanRestore(&empty, {}).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace plov::log::offline
