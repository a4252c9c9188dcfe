// Folder: which files of a log's folder are which.
//
//   S.N.log        segment N of shard S
//   S.N.snapshot   replay begins with segment N
//   *.new          unfinished: removed at the next start
//   S.gone         shard S's other files are being removed: likewise
//   spare.K        memory of segments to come, zeroed or recycled
//   lock, log.lock whoever serves the folder holds it
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "log/disk.h"

namespace plov::log {

std::string SegmentName(uint32_t shard, uint64_t number);
std::string SnapshotName(uint32_t shard, uint64_t number);
// While it is being written.
std::string Unfinished(std::string_view name);

// What there is of a shard, by number.
struct ShardFiles {
  std::set<uint64_t> segments;
  std::set<uint64_t> snapshots;
};

struct Folder {
  std::map<uint32_t, ShardFiles> shards;
  std::vector<std::string> unfinished;  // to be removed in this order
  std::vector<std::string> spares;
  std::vector<std::string> others;  // nobody's: left alone

  // kSystem, kPermission.
  static std::expected<Folder, Error> List(Disk* disk);
};

// Removes all files of a shard: whoever looks later finds all of them, or none. kSystem.
std::expected<void, Error> RemoveShard(Disk* disk, uint32_t shard);

}  // namespace plov::log
