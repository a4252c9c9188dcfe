// LogFolder: the folder of plovd --log, locked, with what its logs share: spare files and the thread that makes them, and
// the one that writes snapshots.
//
// Threads: created, begun, started and stopped by one thread; BeginLog, any.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "fabric/file_lock.h"
#include "log/disk.h"
#include "log/folder.h"
#include "log/snapshots.h"
#include "log/spares.h"
#include "server/log_options.h"
#include "server/log_recovery.h"
#include "server/log_writer.h"

namespace plov::server {

class LogFolder {
 public:
  // kInUse, kPermission, kInvalidArgument (a folder that is none, a network's file system), kSystem.
  static std::expected<std::unique_ptr<LogFolder>, Error> Open(const LogOptions& options);
  // On a disk that is nobody else's.
  LogFolder(std::unique_ptr<log::Disk> disk, const LogOptions& options)
      : options_(options), disk_(std::move(disk)) {}
  // After the logs in it.
  ~LogFolder() { Stop(); }

  log::Disk* disk() { return disk_.get(); }
  // What was found in it is judged: what is unfinished goes.
  std::expected<void, Error> Begin(const log::Folder& found);
  // Begins a new segment of a log that goes on as it was recovered, or of a new one. head: with its id, shard, shard
  // count, hash seed, cluster and life. After Begin.
  std::expected<std::unique_ptr<LogWriter>, Error> BeginLog(const verify::LogHead& head,
                                                            const LogRecovery::Recovered& recovered,
                                                            std::function<void()> wake);
  // Starts its threads.
  void Start();
  // Ends them; logs are not snapshot any more.
  void Stop();
  log::Snapshots* snapshots() { return &*snapshots_; }

 private:
  static void Tell(uint32_t shard, const std::expected<log::Snapshots::Taken, Error>& taken);
  void MakeSpares();

  LogOptions options_;
  std::optional<fabric::FileLock> lock_;
  std::unique_ptr<log::Disk> disk_;
  std::optional<log::Spares> spares_;
  std::optional<log::Snapshots> snapshots_;
  std::vector<std::jthread> threads_;
};

}  // namespace plov::server
