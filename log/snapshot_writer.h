// SnapshotWriter: writes a snapshot of a shard, block by block, and gives it its name when it is whole and
// read back.
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
#include "verify/log.h"

namespace plov::log {

class SnapshotWriter {
 public:
  // A snapshot that replay goes on from with batch `head.first_batch`, of segment `head.number`. Its file is
  // unfinished until Finish. `disk` outlives it. kNoSpace, kSystem.
  static std::expected<SnapshotWriter, Error> Begin(Disk* disk, const verify::LogHead& head);

  // A block: room for its head, then `operations` operations of kind put; some of up to 1 MiB. Seals and
  // writes it; every 16 MiB are synced and leave the system's memory.
  std::expected<void, Error> Write(std::span<std::byte> block, uint32_t operations);
  uint64_t bytes_written() const { return at_; }

  // The footer, sync, the file's name, SyncNames; then reads all of it back. The caller knows that the log is
  // durable through `needs_batch` (rule S3). kCorrupt: what was read back is not what `total` says or was
  // written; the file is removed, as it is when it cannot be read. kNoSpace, kSystem: Abandon.
  struct Total {
    uint64_t items = 0;
    uint64_t payload_bytes = 0;
    uint64_t needs_batch = 0;
    uint64_t last_version = 0;
  };
  std::expected<void, Error> Finish(const Total& total);
  // Removes the unfinished file.
  void Abandon();

 private:
  std::expected<void, Error> Append(std::span<const std::byte> bytes);
  std::expected<void, Error> Sync();
  std::expected<void, Error> ReadBack();
  std::expected<void, Error> Settled(std::expected<void, Error> result);

  Disk* disk_ = nullptr;
  verify::LogHead head_;
  std::string name_;  // once it is finished
  std::unique_ptr<File> file_;
  std::optional<Error> failed_;  // the first error, which is final for the file (rule D8)
  uint64_t at_ = 0;
  uint64_t synced_ = 0;
  uint64_t blocks_ = 0;
  uint64_t digest_ = 0;
};

}  // namespace plov::log
