#include "server/log_folder.h"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "log/posix_disk.h"

namespace plov::server {

std::expected<std::unique_ptr<LogFolder>, Error> LogFolder::Open(const LogOptions& options) {
  auto disk = log::PosixDisk::Open(options.folder);
  if (!disk) return std::unexpected(disk.error());
  auto lock = fabric::FileLock::Take(options.folder + "/log",
                                     fmt::format("another plovd serves --log {}", options.folder));
  if (!lock) return std::unexpected(lock.error());
  auto folder = std::make_unique<LogFolder>(std::move(*disk), options);
  folder->lock_.emplace(std::move(*lock));
  return folder;
}

std::expected<void, Error> LogFolder::Begin(const log::Folder& found) {
  for (const std::string& name : found.unfinished) {
    if (auto removed = disk_->Remove(name); !removed) return removed;
  }
  spares_.emplace(disk_.get(), options_.segment_bytes, found.spares);
  snapshots_.emplace(disk_.get(), &*spares_, options_.snapshots, Tell);
  return {};
}

std::expected<std::unique_ptr<LogWriter>, Error> LogFolder::BeginLog(
    const verify::LogHead& head, const LogRecovery::Recovered& recovered,
    std::function<void()> wake) {
  log::SegmentWriter writer(disk_.get(), &*spares_,
                            {.shard = head.shard,
                             .shard_count = head.shard_count,
                             .id = head.id,
                             .hash_seed = head.hash_seed,
                             .cluster_id = head.cluster_id,
                             .is_replica = head.is_replica,
                             .life = head.life,
                             .durable_writes = options_.mode != log::CommitMode::kAsync},
                            recovered.end);
  if (auto begun = writer.Begin(); !begun) return std::unexpected(begun.error());
  verify::LogHead of_snapshots = head;
  of_snapshots.life = 0;
  return std::make_unique<LogWriter>(
      std::move(writer),
      LogWriter::Options{.commit = {.mode = options_.mode,
                                    .interval = options_.interval,
                                    .buffer_bytes = options_.buffer_bytes,
                                    .on_segment = [this] { snapshots_->Look(); }},
                         .snapshots = &*snapshots_,
                         .head = of_snapshots,
                         .log_bytes = recovered.log_bytes,
                         .snapshot_bytes = recovered.snapshot_bytes,
                         .wake = std::move(wake)});
}

void LogFolder::Tell(uint32_t shard, const std::expected<log::Snapshots::Taken, Error>& taken) {
  if (!taken) {
    return spdlog::error("shard {}: no snapshot was taken, and the log stays as it is: {}", shard,
                         taken.error().message);
  }
  spdlog::info(
      "shard {}: a snapshot of {} items in {:.3f} s: {} bytes; {} files of the log before it "
      "are needed no more",
      shard, taken->items, static_cast<double>(taken->took.count()) / 1e6, taken->bytes,
      taken->segments_removed);
}

void LogFolder::Start() {
  threads_.emplace_back([this] { MakeSpares(); });
  threads_.emplace_back([this] { snapshots_->Run(); });
  pthread_setname_np(threads_.back().native_handle(), "plovd-snapshot");
}

// A spare that cannot be made is tried again; who needs one is told why there is none.
void LogFolder::MakeSpares() {
  while (spares_->WaitUntilWanted()) static_cast<void>(spares_->Make());
}

void LogFolder::Stop() {
  if (snapshots_) snapshots_->Stop();
  if (spares_) spares_->Stop();
  threads_.clear();
}

}  // namespace plov::server
