#include "server/durable_log.h"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "log/posix_disk.h"

namespace plov::server {

std::expected<std::unique_ptr<DurableLog>, Error> DurableLog::Open(const LogOptions& options,
                                                                   const ShardSet& shards) {
  auto disk = log::PosixDisk::Open(options.folder);
  if (!disk) return std::unexpected(disk.error());
  auto lock = fabric::FileLock::Take(options.folder + "/log",
                                     fmt::format("another plovd serves --log {}", options.folder));
  if (!lock) return std::unexpected(lock.error());
  auto opened = OpenOn(std::move(*disk), options, shards);
  if (opened) (*opened)->lock_.emplace(std::move(*lock));
  return opened;
}

std::expected<std::unique_ptr<DurableLog>, Error> DurableLog::OpenOn(
    std::unique_ptr<log::Disk> disk, const LogOptions& options, const ShardSet& shards) {
  std::unique_ptr<DurableLog> opened(new DurableLog(options, shards, std::move(disk)));
  auto recovery = LogRecovery::Open(opened->disk_.get(), options.folder, shards, options.presizes);
  if (!recovery) return std::unexpected(recovery.error());
  opened->recovery_.emplace(std::move(*recovery));
  for (const auto& [number, slots] : shards.hosted) {
    opened->shards_[number].id = opened->recovery_->of_shard(number).id.value_or(
        verify::LogId{fabric::RandomId(), fabric::RandomId()});
  }
  return opened;
}

std::expected<void, Error> DurableLog::Begin(uint64_t hash_seed,
                                             std::vector<std::function<void()>> wakes) {
  if (auto there = recovery_->CheckAllThere(); !there) return there;
  for (const std::string& name : recovery_->found().unfinished) {
    if (auto removed = disk_->Remove(name); !removed) return removed;
  }
  spares_.emplace(disk_.get(), options_.segment_bytes, recovery_->found().spares);
  snapshots_.emplace(disk_.get(), &*spares_, options_.snapshots, Tell);
  verify::LogHead head;
  head.shard_count = set_.count;
  head.hash_seed = hash_seed;
  head.cluster_id = set_.cluster_id;
  auto wake = wakes.begin();
  for (const auto& [number, log] : shards_) {
    head.shard = number;
    if (auto begun = BeginShard(head, std::move(*wake++)); !begun) return begun;
  }
  return {};
}

std::expected<void, Error> DurableLog::BeginShard(const verify::LogHead& head,
                                                  std::function<void()> wake) {
  const LogRecovery::Recovered& recovered = recovery_->of_shard(head.shard);
  ShardLog& log = shards_.at(head.shard);
  // The next life begins beyond the versions of this one, though nothing of it may be left.
  log::LogEnd end = recovered.end;
  end.last_version = std::max(end.last_version, log.begun_version);
  if (log.begins_beside_items) end.last_version = std::max<uint64_t>(end.last_version, 1);
  log::SegmentWriter writer(disk_.get(), &*spares_,
                            {.shard = head.shard,
                             .shard_count = head.shard_count,
                             .id = log.id,
                             .hash_seed = head.hash_seed,
                             .cluster_id = head.cluster_id,
                             .life = life_,
                             .durable_writes = options_.mode != log::CommitMode::kAsync},
                            end);
  if (auto begun = writer.Begin(); !begun) return begun;
  const auto look = [this] { snapshots_->Look(); };
  const log::GroupCommit::Options options{.mode = options_.mode,
                                          .interval = options_.interval,
                                          .buffer_bytes = options_.buffer_bytes,
                                          .on_segment = look};
  log.feed = std::make_unique<log::SnapshotFeed>(wake, look);
  log.commit = std::make_unique<log::GroupCommit>(std::move(writer), options, std::move(wake));
  log::Snapshots::ShardLog snapshots{.commit = log.commit.get(),
                                     .feed = log.feed.get(),
                                     .head = head,
                                     .log_bytes = recovered.log_bytes,
                                     .snapshot_bytes = recovered.snapshot_bytes};
  snapshots.head.id = log.id;
  snapshots_->Add(snapshots);
  return {};
}

void DurableLog::SetSpin(uint32_t spin_us) {
  for (const auto& [number, log] : shards_) log.commit->SetSpin(spin_us);
}

void DurableLog::Tell(uint32_t shard, const std::expected<log::Snapshots::Taken, Error>& taken) {
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

void DurableLog::Start() {
  threads_.emplace_back([this] { MakeSpares(); });
  threads_.emplace_back([this] { snapshots_->Run(); });
  pthread_setname_np(threads_.back().native_handle(), "plovd-snapshot");
  for (auto& [number, log] : shards_) {
    threads_.emplace_back([commit = log.commit.get()] { commit->Run(); });
    pthread_setname_np(threads_.back().native_handle(), "plovd-log");
  }
}

// A spare that cannot be made is tried again; who needs one is told why there is none.
void DurableLog::MakeSpares() {
  while (spares_->WaitUntilWanted()) static_cast<void>(spares_->Make());
}

DurableLog::~DurableLog() {
  if (snapshots_) snapshots_->Stop();
  if (spares_) spares_->Stop();
  for (auto& [number, log] : shards_) {
    if (log.commit) log.commit->Stop();
  }
  threads_.clear();
  for (auto& [number, log] : shards_) {
    if (!log.commit) continue;
    if (auto finished = log.commit->Finish(); !finished) {
      spdlog::error("the log was not written to its end: {}", finished.error().message);
    }
  }
}

}  // namespace plov::server
