// A log of one shard on a simulated disk, as a SegmentWriter writes it, for tests of what writes and reads it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "log/folder.h"
#include "log/segment_writer.h"
#include "log/snapshot_writer.h"
#include "log/spares.h"
#include "log/walk.h"
#include "tests/log/simulated_disk.h"
#include "verify/log.h"

namespace plov::test {

inline constexpr verify::LogId kLogId{.low = 11, .high = 12};
inline constexpr uint64_t kHashSeed = 13;
inline constexpr uint64_t kSegmentBytes = 8 * verify::kLogBlockBytes;
// Its blocks are a head, these batches of the smallest size, and one that closes it.
inline constexpr int kBatchesInSegment = kSegmentBytes / verify::kLogBlockBytes - 2;

// What a batch of the tests holds: one put, whose version is the batch's number; its value is as long as asked.
class BatchMemory {
 public:
  BatchMemory(uint64_t number, size_t value_bytes)
      : bytes_(verify::kBatchHeadBytes + verify::LoggedBytes(kKey.size(), value_bytes)) {
    const verify::Logged put{.version = number, .key = kKey};
    const size_t head =
        verify::EncodeLoggedHead(put, value_bytes, bytes_.data() + verify::kBatchHeadBytes);
    std::fill_n(bytes_.begin() + verify::kBatchHeadBytes + static_cast<ptrdiff_t>(head),
                value_bytes, static_cast<std::byte>(number));
    pending_.pieces = {bytes_};
    pending_.head = {.number = number,
                     .first_version = number,
                     .last_version = number,
                     .operations = 1,
                     .time_us = number};
  }
  explicit BatchMemory(uint64_t number) : bytes_(verify::kBatchHeadBytes) {
    pending_.pieces = {bytes_};
    pending_.head = {.number = number, .kind = verify::BatchHead::Kind::kAttest};
  }
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  const log::PendingBatch& pending() const { return pending_; }

 private:
  static constexpr std::string_view kKey = "key";
  std::vector<std::byte> bytes_;
  log::PendingBatch pending_;
};

// A log that is being written. Its memory outlives what waits for the disk.
class WrittenLog {
 public:
  enum class Writes : uint8_t { kDurable, kUntilSync };

  explicit WrittenLog(SimulatedDisk* disk, Writes writes = Writes::kDurable,
                      const log::LogEnd& end = {})
      : spares_(disk, kSegmentBytes, {}),
        writer_(
            disk, &spares_,
            {.id = kLogId, .hash_seed = kHashSeed, .durable_writes = writes == Writes::kDurable},
            end) {}

  log::SegmentWriter& writer() { return writer_; }
  log::Spares& spares() { return spares_; }

  std::expected<void, Error> Put(size_t value_bytes = 100) {
    return writer_.Write(memory_.emplace_back(writer_.written() + 1, value_bytes).pending());
  }
  std::expected<void, Error> Attest() {
    return writer_.Write(memory_.emplace_back(writer_.written() + 1).pending());
  }
  // So many batches, all of which must succeed.
  void PutAll(int count) {
    for (; count > 0; --count) ASSERT_TRUE(Put());
  }

 private:
  log::Spares spares_;
  log::SegmentWriter writer_;
  std::deque<BatchMemory> memory_;
};

// A snapshot that replay goes on from with the segment's first batch, with one item of the batch before, if there
// is one.
inline void AddSnapshot(SimulatedDisk* disk, uint64_t segment, uint64_t needs_batch) {
  auto head = *log::ReadHead(disk, log::SegmentName(0, segment), verify::LogFile::kSegment);
  head.file_bytes = 0;
  const uint64_t version = head.first_batch - 1;
  auto writer = log::SnapshotWriter::Begin(disk, head);
  ASSERT_TRUE(writer);
  if (version > 0) {
    const verify::Logged item{.version = version, .key = "key"};
    std::vector<std::byte> block(verify::kSnapshotBlockHeadBytes + verify::LoggedBytes(3, 0));
    verify::EncodeLoggedHead(item, 0, block.data() + verify::kSnapshotBlockHeadBytes);
    ASSERT_TRUE(writer->Write(block, 1));
  }
  const uint64_t items = version > 0 ? 1 : 0;
  ASSERT_TRUE(writer->Close({.items = items,
                             .payload_bytes = 3 * items,
                             .needs_batch = needs_batch,
                             .last_version = version,
                             .time_us = needs_batch}));
  for (auto more = writer->ReadBack(); *more; more = writer->ReadBack()) ASSERT_TRUE(more);
}

// What a walk tells.
struct Walked {
  std::vector<uint64_t> batches;   // with operations
  std::vector<uint64_t> segments;  // where each lies
  std::optional<log::Damage> damage;
  log::LogEnd end;
  std::optional<log::Torn> torn;
};

inline Walked WalkAll(log::Disk* disk, const log::Walk::Start& start = {}) {
  Walked walked;
  auto folder = log::Folder::List(disk);
  EXPECT_TRUE(folder);
  auto opened = log::Walk::Open(disk, folder->shards[start.shard], start);
  EXPECT_TRUE(opened) << opened.error().message;
  if (!*opened) {
    walked.damage = opened->error();
    return walked;
  }
  log::Walk& walk = **opened;
  for (;;) {
    const auto next = walk.Next();
    EXPECT_TRUE(next) << next.error().message;
    if (!*next) {
      walked.damage = next->error();
      return walked;
    }
    if (!**next) break;
    const log::Walk::Batch& batch = ***next;
    log::Bytes rest = batch.operations;
    const auto put = verify::TakeLogged(&rest);
    EXPECT_TRUE(put && rest.empty());
    EXPECT_EQ(put->version, batch.head.number);
    walked.batches.push_back(batch.head.number);
    walked.segments.push_back(batch.segment);
  }
  EXPECT_EQ(walk.bytes_read(), walk.bytes_total());
  walked.end = walk.end();
  walked.torn = walk.torn();
  return walked;
}

inline std::vector<uint64_t> UpTo(uint64_t last) {
  std::vector<uint64_t> numbers;
  for (uint64_t number = 1; number <= last; ++number) numbers.push_back(number);
  return numbers;
}

}  // namespace plov::test
