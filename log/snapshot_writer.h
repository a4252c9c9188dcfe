// SnapshotWriter: writes a snapshot of a shard, block by block, and gives it its name once all of it was read
// back.
//
// Threads: one at a time; not the shard's, for each call may wait for the disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "log/disk.h"
#include "log/snapshot_reader.h"
#include "verify/log.h"

namespace plov::log {

class SnapshotWriter {
 public:
  // A snapshot that replay goes on from with batch `head.first_batch`, of segment `head.number`. Its file is
  // unfinished until Finish. `disk` outlives it. kNoSpace, kSystem.
  static std::expected<SnapshotWriter, Error> Begin(Disk* disk, const verify::LogHead& head);

  // A block of items: room for its head, then `operations` operations of kind put; some of up to 1 MiB. Seals and
  // writes it; every 16 MiB are synced and leave the system's memory.
  std::expected<void, Error> Write(std::span<std::byte> block, uint32_t operations);
  uint64_t bytes_written() const { return at_; }

  // The sessions, the footer, and sync; then ReadBack until it returns false. The caller knows that the log is
  // durable through `needs_batch` (rule S3). An error of any of them: Abandon. kNoSpace, kSystem.
  // Of `total` digest, start batch and the number of sessions are the writer's own.
  std::expected<void, Error> Close(const verify::SnapshotFooter& total,
                                   std::span<const verify::LoggedSession> sessions = {});
  // Reads the next block of the file as the disk has it; false: all is what was written, and the file has its
  // name, in place of a former one. kCorrupt, kSystem.
  std::expected<bool, Error> ReadBack();
  uint64_t bytes_read_back() const { return reader_ ? reader_->bytes_read() : 0; }
  // Removes the unfinished file.
  void Abandon();

 private:
  std::expected<void, Error> SealAndAppend(std::span<std::byte> block,
                                           verify::SnapshotBlockHead head);
  std::expected<void, Error> WriteSessions(std::span<const verify::LoggedSession> sessions);
  std::expected<void, Error> Append(std::span<const std::byte> bytes);
  std::expected<void, Error> Sync();
  std::expected<void, Error> OpenToReadBack();
  std::expected<bool, Error> Publish();
  std::expected<void, Error> Settled(std::expected<void, Error> result);

  Disk* disk_ = nullptr;
  verify::LogHead head_;
  std::string name_;  // once it is finished
  std::unique_ptr<File> file_;
  std::optional<SnapshotReader> reader_;
  std::optional<Error> failed_;  // the first error, which is final for the file (rule D8)
  uint64_t at_ = 0;
  uint64_t synced_ = 0;
  uint64_t blocks_ = 0;
  uint64_t digest_ = 0;
};

}  // namespace plov::log
