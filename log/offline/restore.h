// Restore: what is copied of a log that is whole, all of it or up to a version.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <vector>

#include "log/offline/cut.h"

namespace plov::log::offline {

// Of some shards the last version that is copied; of the others all is.
using Until = std::map<uint32_t, uint64_t>;

// For CopyCut: the log of a shard ends behind the last operation of at most that version, in the midst of a
// batch, too. It begins with the newest snapshot that has no later item and needs no later operation.
// kCorrupt: the log is damaged. kNotFound: there is no log, or no such shard. kInvalidArgument: each snapshot
// needs a later version; it says which would do. Errors: Look's.
std::expected<std::vector<Cutting>, Error> PlanRestore(Disk* disk, const Until& until);

}  // namespace plov::log::offline
