// What a log's folder holds of each shard, and readers of it, for who looks at it while no server runs.
//
// Threads: one. Memory: a window of one file. Nothing is changed.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "log/disk.h"
#include "log/folder.h"
#include "log/snapshot_reader.h"
#include "log/walk.h"
#include "verify/log.h"

namespace plov::log::offline {

// Where an operation lies.
struct Place {
  uint32_t shard = 0;
  verify::LogFile kind = verify::LogFile::kSegment;
  std::string_view file = {};  // its name, valid until the call returns
  uint64_t number = 0;         // of the file, as its head says
  uint64_t batch = 0;          // 0 in a snapshot
  uint64_t time_us = 0;        // of the batch
  uint64_t value_offset = 0;   // in the file
};
// Is told of an operation, whose strings are valid until it returns. False: it wants no more.
using Visit = std::function<bool(const verify::Logged&, const Place&)>;

// Tells of the operations of a batch or block, which begin at `offset` of the file. False: `visit` wants no
// more.
bool VisitEach(Bytes operations, uint64_t offset, Place place, const Visit& visit);

struct Snapshot {
  uint64_t number = 0;
  verify::LogHead head;
  verify::SnapshotFooter footer;
  std::optional<Damage> damage;  // not whole, or another log's: head and footer mean nothing
};

// Reads all of it. What `visit` was told counts only where there is no damage.
std::expected<Snapshot, Error> ReadSnapshot(Disk* disk, uint32_t shard, uint64_t number,
                                            const Visit& visit);

struct Shard {
  uint32_t number = 0;
  ShardFiles files;
  std::vector<Snapshot> snapshots;  // by number
  std::optional<Damage> foreign;    // its files are another server's than those of the shard before

  // What a server starts from: the newest snapshot that is whole; nullptr: the log alone.
  const Snapshot* base() const;
  // How a server reads the log; and how all of it is read that hangs together.
  Walk::Start AsAServer() const;
  Walk::Start FromOldest() const;
};

struct Shards {
  std::vector<Shard> present;
  std::vector<uint32_t> missing;  // have no file, though the others say that they are there
  bool are_of_replicas = false;   // some of them: what they hold is no operations
};

// Lists the folder and reads its snapshots, of whose items `visit` is told. kNotFound: there is no log in it. kProtocol: another format
// version. kSystem, kPermission.
std::expected<Shards, Error> Look(Disk* disk, const Visit& visit = nullptr);

// The same for who needs operations, or would change what a replica has said that it holds. kInvalidArgument, too: there are
// logs of replicas.
std::expected<Shards, Error> LookForOperations(Disk* disk, const Visit& visit = nullptr);

// What to say of a folder without a log.
std::unexpected<Error> NoLog(Disk* disk);

// The result of a walk.
struct Ending {
  uint64_t first_batch = 0;    // 0: no segment could be read
  uint64_t operations = 0;     // told
  uint64_t first_version = 0;  // of them; 0: there is none
  uint64_t last_version = 0;
  LogEnd end;  // of the log; at damage: of what was read before
  std::optional<Torn> torn;
  std::optional<Damage> damage;
};
std::expected<Ending, Error> WalkLog(Disk* disk, const ShardFiles& files, const Walk::Start& start,
                                     const Visit& visit);

// The number of the segment that damage of a walk was found in, or that is missing.
uint64_t SegmentOf(const Damage& damage);

}  // namespace plov::log::offline
