// Check: reads all of a log, and says of each shard how far it goes and what is wrong with it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <vector>

#include "log/offline/shards.h"

namespace plov::log::offline {

struct Report {
  uint32_t shard = 0;
  size_t segments = 0;
  size_t snapshots = 0;
  // Of all that could be read in order, from the oldest segment on; 0: there is none.
  uint64_t first_batch = 0;
  uint64_t last_batch = 0;
  uint64_t operations = 0;
  uint64_t first_version = 0;
  uint64_t last_version = 0;
  std::optional<Torn> torn;     // the next start cuts it
  std::vector<Damage> damages;  // the first in the log, and each snapshot's
  bool starts = true;           // a server goes on from here all the same
};

// visit: is told of each operation of the log, from the oldest segment on; false ends the shard.
std::expected<Report, Error> CheckShard(Disk* disk, const Shard& shard, const Visit& visit);

// All shards, those too whose files are missing; `visit` is told of snapshots' items, too. Errors: Look's.
std::expected<std::vector<Report>, Error> Check(Disk* disk, const Visit& visit);

// What is wrong where a shard has no file.
Damage AllMissing(Disk* disk, uint32_t shard);

}  // namespace plov::log::offline
