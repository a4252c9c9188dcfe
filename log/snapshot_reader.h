// SnapshotReader: reads a snapshot, block by block, and says whether it is whole.
//
// Threads: one. Memory: one block, and the sessions.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "log/disk.h"
#include "log/walk.h"
#include "verify/log.h"

namespace plov::log {

class SnapshotReader {
 public:
  // Reads head and footer. `disk` outlives it. An Error is of the system, or kProtocol for another format
  // version; a file that is not a snapshot, or is another's, is Damage too.
  static std::expected<std::expected<SnapshotReader, Damage>, Error> Open(Disk* disk,
                                                                          const std::string& name);

  const verify::LogHead& head() const { return head_; }
  const verify::SnapshotFooter& footer() const { return footer_; }

  // The operations of the next block of items, for verify::TakeLogged, valid until the next call; nullopt at
  // the footer, when all of it was whole.
  std::expected<std::expected<std::optional<Bytes>, Damage>, Error> Next();
  // Once Next was at the footer: whose writes the snapshot knows of; who was connected comes last.
  const std::vector<verify::LoggedSession>& sessions() const { return sessions_; }

  uint64_t bytes_read() const { return at_; }
  uint64_t bytes_total() const { return file_bytes_; }

 private:
  uint64_t FooterAt() const { return file_bytes_ - verify::kSnapshotFooterBytes; }
  // What is wrong, or nothing. An Error is of the system.
  std::expected<std::string, Error> ReadFooter();
  std::expected<std::string, Error> ReadBlock();
  std::string CountItems();
  void TakeSessions();
  std::string CheckTotal() const;
  Damage DamageAt(uint64_t offset, std::string what) const;

  std::string path_;
  std::unique_ptr<File> file_;
  uint64_t file_bytes_ = 0;
  verify::LogHead head_;
  verify::SnapshotFooter footer_;
  uint64_t footer_blocks_ = 0;  // how many it says there are
  // So far; at_ is the next block's offset, and the file's end once all was whole.
  uint64_t at_ = verify::kLogBlockBytes;
  uint64_t blocks_ = 0;
  uint64_t digest_ = 0;
  uint64_t items_ = 0;
  uint64_t payload_bytes_ = 0;
  std::vector<std::byte> block_;
  verify::SnapshotBlockHead block_head_;
  std::vector<verify::LoggedSession> sessions_;
};

}  // namespace plov::log
