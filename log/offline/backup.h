// Backup: a copy of a log whose server may be writing it: what was acknowledged when it began is there, and
// a server starts on it.
//
// Of each shard it takes the newest snapshot and the log from there on, to the last batch that is whole. Files
// that nobody writes any more are linked, the last segment is copied. The server may take snapshots meanwhile,
// and remove what they make needless or use its memory again:
//   Before it gives up a segment it removes every snapshot that needs it, and only then looks whether the
//   segment has another name (log/snapshots.h, log/spares.h). So if the snapshot that a backup began with is
//   still there when all is linked, or there is still none, then the server has not looked at any of these
//   segments before they were linked, and will not write to them.
// If it is not there any more, that shard is begun again, with a newer one.
//
// What is linked belongs to both folders. A server that starts on the copy itself writes to no segment that it
// finds (rule D6), and uses none again that has another name (rule D11).
//
// Threads: one. Memory: a window of one file.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <vector>

#include "log/disk.h"
#include "log/offline/check.h"
#include "log/offline/copier.h"

namespace plov::log::offline {

// What there is of a shard in the copy.
struct BackedUp {
  Report report;
  std::optional<uint64_t> snapshot;  // its number
  uint64_t items = 0;                // in it
  uint64_t last_version = 0;         // of it and of the log
  uint64_t bytes = 0;                // of all files
};

// Into an empty folder, durably; files get their names when all are there, and then the copy is checked. It
// removes what it has made when it fails. kNotFound: there is no log. kUnavailable: snapshots came too often.
// kCorrupt: the log is damaged.
std::expected<std::vector<BackedUp>, Error> Backup(Disk* from, Disk* to, const Link& link,
                                                   const Copied& copied);

}  // namespace plov::log::offline
