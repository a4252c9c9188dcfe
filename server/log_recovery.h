// LogRecovery: reads and judges what lies in a log's folder, and makes it true in the stores. Changes nothing
// there.
//
// Threads: one; but Recover may be called for several shards at once.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "log/disk.h"
#include "log/folder.h"
#include "log/snapshot_reader.h"
#include "log/walk.h"
#include "server/sessions.h"
#include "server/shard_set.h"
#include "server/store.h"

namespace plov::server {

class LogRecovery {
 public:
  // Takes what a replica's log has.
  class Reader {
   public:
    virtual ~Reader() = default;
    // After the items of a snapshot, where there is one; with it, whether its sessions are all.
    virtual void Begin(bool has_snapshot, bool sessions_are_all) = 0;
    // The value of a Logged::Kind::kHeld. kInvalidArgument: it makes no sense; kNoSpace.
    virtual Code Take(std::string_view held) = 0;
  };

  // Looks at all heads, syncs what is there and drops it from the system's memory (rule D9). kInvalidArgument
  // (a log of other shards), kCorrupt, kProtocol, kSystem. `folder`: as messages name it. `disk`
  // outlives it. presizes: says what to expect, which may take a first look at all of the log.
  static std::expected<LogRecovery, Error> Open(log::Disk* disk, std::string folder,
                                                const ShardSet& shards, bool presizes = true);

  // Of the log that is there: what routes keys to shards.
  std::optional<uint64_t> hash_seed() const { return hash_seed_; }
  const log::Folder& found() const { return found_; }

  // What a store must hold that is restored; by the snapshot, or where there is none by a first look at the
  // log, which Open takes at all shards at once.
  ExpectedItems expected_of(uint32_t shard) const { return shards_.at(shard).expected; }
  // Restores a shard: its newest whole snapshot, and the log from there; and what both say of who
  // wrote. The store has all writes up to version `published`. kCorrupt, kNoSpace, kTooLarge, kSystem.
  // reader: of a replica's log; null: it is none.
  std::expected<void, Error> Recover(uint32_t shard, Store* store, Sessions* sessions,
                                     uint64_t published = 0, Reader* reader = nullptr);
  // kCorrupt: one shard has files, and another none.
  std::expected<void, Error> CheckAllThere() const;

  struct Recovered {
    std::optional<verify::SnapshotFooter> snapshot;
    ExpectedItems expected;
    std::optional<verify::LogId> id;  // nullopt: there is no log
    uint64_t life = 0;                // of its newest segment
    // After Recover.
    log::LogEnd end;
    uint64_t published = 0;       // what the store had before
    uint64_t operations = 0;      // read, items of a snapshot among them
    uint64_t restored = 0;        // of these
    uint64_t log_bytes = 0;       // files from the snapshot on
    uint64_t snapshot_bytes = 0;  // 0: there was none
    Reader* reader = nullptr;     // while it is restored
  };
  const Recovered& of_shard(uint32_t shard) const { return shards_.at(shard); }

 private:
  // Where a shard's recovery begins.
  struct Beginning {
    std::optional<log::SnapshotReader> snapshot;
    log::Walk walk;
  };
  using Loaded = std::expected<std::optional<log::Damage>, Error>;
  class Progress;

  LogRecovery(log::Disk* disk, std::string folder, const ShardSet& shards);

  std::expected<void, Error> Look();
  std::expected<void, Error> SyncFound() const;
  ExpectedItems Expect(uint32_t shard) const;
  ExpectedItems CountLog(uint32_t shard) const;
  // The newest before the one of this number; `damage` is what the first damaged one has.
  std::expected<Beginning, Error> Begin(uint32_t shard, uint64_t before,
                                        std::optional<log::Damage>* damage) const;
  std::expected<std::optional<log::SnapshotReader>, Error> NewestSnapshot(
      uint32_t shard, uint64_t before, std::optional<log::Damage>* damage) const;
  std::expected<void, Error> CheckHead(const verify::LogHead& head, uint32_t shard) const;
  std::expected<void, Error> CheckCluster(const verify::LogHead& head) const;
  Loaded Load(log::SnapshotReader* snapshot, Recovered* recovered, Store* store,
              Progress* progress) const;
  static bool RestoreSessions(const Beginning& beginning, Sessions* sessions);
  void TellOfRestored(const Recovered& recovered, const Store& store, const log::Walk& walk,
                      double seconds) const;
  std::expected<void, Error> Replay(log::Walk* walk, Recovered* recovered, Store* store,
                                    Sessions* sessions, Progress* progress) const;
  std::expected<void, Error> Restore(log::Bytes operations, Recovered* recovered, Store* store,
                                     Sessions* sessions) const;
  std::unexpected<Error> Refuse(const log::Damage& damage) const;
  std::unexpected<Error> CannotRestore(uint32_t shard, Code status) const;

  log::Disk* disk_;
  std::string folder_;
  log::Folder found_;
  ShardSet set_;
  std::optional<uint64_t> hash_seed_;
  std::map<uint32_t, Recovered> shards_;  // those of the set, by number
};

}  // namespace plov::server
