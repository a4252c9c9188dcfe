// Restore: what is copied of a log that is whole, all of it, or up to a version or a time.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <vector>

#include "log/offline/cut.h"

namespace plov::log::offline {

struct Until {
  std::map<uint32_t, uint64_t> versions =
      {};  // the last of some shards; of the others all are copied
  // Of all shards the last instant, microseconds since 1970, as the server's clock was: the first batch that
  // is later ends the log.
  uint64_t time_us = UINT64_MAX;
};

// For CopyCut: the log of a shard ends behind the last operation of at most that version, in the midst of a
// batch, too, and before the first batch after that time. It begins with the newest snapshot that has no
// later item and needs no later operation. kCorrupt: the log is damaged. kNotFound: there is no log, or no
// such shard. kInvalidArgument: each snapshot needs more; it says which version or time would do. Errors:
// Look's.
std::expected<std::vector<Cutting>, Error> PlanRestore(Disk* disk, const Until& until);

}  // namespace plov::log::offline
