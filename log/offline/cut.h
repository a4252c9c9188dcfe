// Cut: copies of a log what a server can go on from, where it cannot go on from all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "log/offline/check.h"
#include "log/offline/copier.h"
#include "log/offline/shards.h"
#include "verify/log.h"

namespace plov::log::offline {

// Of the segment that is begun behind the end: a head, and room for a batch that none will be written to.
inline constexpr uint64_t kNextSegmentBytes = 2 * verify::kLogBlockBytes;

// What is copied of a shard.
struct Cutting {
  uint32_t shard = 0;
  ShardFiles files;
  std::vector<Damage> damages;  // for which it is cut; none: all of it is copied
  // Of the last segment that is copied; behind this offset it is zeros in the copy. 0: all of it is copied.
  uint64_t cut_segment = 0;
  uint64_t cut_offset = 0;
  std::vector<std::byte> tail = {};  // lies there before the zeros: the begin of a batch
  // Where the copy's log ends. The segment that is begun behind it says so, and that versions go on beyond
  // all that were ever given out.
  std::optional<verify::LogHead> next;
  uint64_t last_batch = 0;
  uint64_t last_version = 0;
  uint64_t operations_lost = 0;  // whole ones; nobody knows how many were in what is not whole
};

// What would be copied. kCorrupt: nothing of a shard can be trusted, it says which. Errors: Look's.
std::expected<std::vector<Cutting>, Error> PlanCut(Disk* disk);

// What is wrong with a log of which something is copied, and nothing is there of another shard.
std::optional<Damage> MissingShard(Disk* disk, const Shards& shards,
                                   const std::vector<Cutting>& cuttings);

// Copies it into an empty folder, durably, and gives files their names when all are there; then checks the
// copy. It removes what it has made when it fails. `copied` is told how many bytes there are so far.
std::expected<std::vector<Report>, Error> CopyCut(Disk* from, Disk* to,
                                                  const std::vector<Cutting>& cuttings,
                                                  const Copied& copied);

}  // namespace plov::log::offline
