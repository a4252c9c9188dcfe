// SegmentWriter: appends batches to a shard's log, segment after segment, and knows which of them are
// durable. Rules D2 and D6 to D8 of plov(7).
//
// Threads: one, the log's (log/group_commit.h).
//
// An error of a write or sync is final for its file: what is durable of it is its end. The batches after that
// go with the same numbers and operations into the next segment. While no segment can be begun, batches wait
// in memory (kept by the caller until they are durable), and another is tried when the caller says so.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "log/disk.h"
#include "log/spares.h"
#include "verify/log.h"

namespace plov::log {

// Where a log ends: where the next batch goes on.
struct LogEnd {
  uint64_t next_batch = 1;
  uint64_t chain = 0;         // the checksum of the last batch
  uint64_t next_segment = 1;  // no segment of this number or beyond was ever begun
  uint64_t last_version = 0;  // of all that lies before
  uint64_t time_us = 0;       // the latest of all that lies before
};

// A batch in memory: pieces that lie one after the other in the file. The first begins with the batch's head.
struct PendingBatch {
  std::vector<std::span<std::byte>> pieces;
  verify::BatchHead head;  // number, versions, operations and kind; the writer sets the rest
};

class SegmentWriter {
 public:
  struct Options {
    uint32_t shard = 0;
    uint32_t shard_count = 1;
    verify::LogId id;
    uint64_t hash_seed = 0;
    uint64_t cluster_id = 0;
    bool is_replica = false;     // as of verify::LogHead
    uint64_t life = 0;           // the server's, random
    bool durable_writes = true;  // strict and acked: each Write is; else Sync makes them so
  };

  // All outlive it.
  SegmentWriter(Disk* disk, Spares* spares, const Options& options, const LogEnd& end);

  // Begins the first segment (D6). Once, before all else.
  std::expected<void, Error> Begin();

  // Seals and writes a batch, whose number is one more than the last one's, after those that failed before.
  // Its bytes stay where they are until it is durable. An error: it waits; Retry.
  std::expected<void, Error> Write(PendingBatch batch);
  // Makes what was written durable. An error: as Write.
  std::expected<void, Error> Sync();
  // Tries a new segment for what waits; kOk when nothing waits any more.
  std::expected<void, Error> Retry();

  const verify::LogId& id() const { return options_.id; }
  // The latest of what lay before the first segment.
  uint64_t former_time_us() const { return end_.time_us; }
  // The greatest batch that is durable; all before it are.
  uint64_t durable() const { return durable_; }
  // The greatest that was taken by Write.
  uint64_t written() const { return end_.next_batch - 1; }
  bool waits() const;
  // Bytes and files since Begin.
  uint64_t bytes_written() const { return bytes_written_; }
  uint64_t segments_begun() const { return segments_begun_; }
  // The segment that is written, from which batch `first_batch()` on.
  uint64_t segment() const { return end_.next_segment - 1; }

 private:
  enum class Until : uint8_t { kWritten, kDurable };
  // One that has begun: its head and name are durable.
  struct Segment {
    std::unique_ptr<File> file;
    uint64_t number = 0;
    uint64_t bytes = 0;
    uint64_t at = 0;  // where its next batch goes
  };

  std::expected<void, Error> Attempt(Until until);
  std::expected<void, Error> WriteWaiting();
  std::expected<void, Error> SyncCurrent();
  std::expected<void, Error> WriteOne(PendingBatch* batch);
  std::expected<void, Error> Rotate(uint64_t batch_bytes);
  std::expected<void, Error> BeginSegment(uint64_t batch_bytes);
  std::expected<void, Error> MakeSegment(uint64_t number, uint64_t bytes);
  std::expected<void, Error> WriteHead(const std::string& name, uint64_t number, uint64_t bytes);
  void CloseFull();
  void SetDurable(size_t batches);
  void DropCurrent();
  bool Fits(uint64_t batch_bytes) const;

  Disk* disk_;
  Spares* spares_;
  Options options_;
  LogEnd end_;                      // but for its chain, which is below
  std::optional<Segment> current_;  // takes batches; nullopt while none can
  std::optional<Segment> full_;     // all durable, to be closed when the next has begun
  uint64_t chain_;                  // the checksum of the last batch written
  uint64_t durable_chain_;          // the same of the last durable one
  uint64_t durable_;
  uint64_t bytes_written_ = 0;
  uint64_t segments_begun_ = 0;
  uint64_t dropped_ = 0;                // files that failed
  std::deque<PendingBatch> undurable_;  // written or waiting, oldest first
  size_t in_current_ = 0;               // so many of them lie in `current_`
  std::optional<Error> failure_;        // why batches wait
};

}  // namespace plov::log
