#include "server/durable_log.h"

#include <algorithm>
#include <utility>

namespace plov::server {

std::expected<std::unique_ptr<DurableLog>, Error> DurableLog::Open(const LogOptions& options,
                                                                   const ShardSet& shards) {
  auto folder = LogFolder::Open(options);
  if (!folder) return std::unexpected(folder.error());
  return Find(std::move(*folder), options, shards);
}

std::expected<std::unique_ptr<DurableLog>, Error> DurableLog::OpenOn(
    std::unique_ptr<log::Disk> disk, const LogOptions& options, const ShardSet& shards) {
  return Find(std::make_unique<LogFolder>(std::move(disk), options), options, shards);
}

std::expected<std::unique_ptr<DurableLog>, Error> DurableLog::Find(
    std::unique_ptr<LogFolder> folder, const LogOptions& options, const ShardSet& shards) {
  std::unique_ptr<DurableLog> opened(new DurableLog(shards, std::move(folder)));
  auto recovery =
      LogRecovery::Open(opened->folder_->disk(), options.folder, shards, options.presizes);
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
  if (auto begun = folder_->Begin(recovery_->found()); !begun) return begun;
  verify::LogHead head;
  head.shard_count = set_.count;
  head.hash_seed = hash_seed;
  head.cluster_id = set_.cluster_id;
  head.life = life_;
  auto wake = wakes.begin();
  for (const auto& [number, log] : shards_) {
    head.shard = number;
    if (auto begun = BeginShard(head, std::move(*wake++)); !begun) return begun;
  }
  return {};
}

std::expected<void, Error> DurableLog::BeginShard(const verify::LogHead& head,
                                                  std::function<void()> wake) {
  LogRecovery::Recovered recovered = recovery_->of_shard(head.shard);
  ShardLog& log = shards_.at(head.shard);
  // The next life begins beyond the versions of this one, though nothing of it may be left.
  uint64_t* last_version = &recovered.end.last_version;
  *last_version = std::max(*last_version, log.begun_version);
  if (log.begins_beside_items) *last_version = std::max<uint64_t>(*last_version, 1);
  verify::LogHead with_id = head;
  with_id.id = log.id;
  auto writer = folder_->BeginLog(with_id, recovered, std::move(wake));
  if (!writer) return std::unexpected(writer.error());
  log.writer = std::move(*writer);
  return {};
}

void DurableLog::SetSpin(uint32_t spin_us) {
  for (const auto& [number, log] : shards_) log.writer->commit()->SetSpin(spin_us);
}

void DurableLog::Start() {
  folder_->Start();
  for (auto& [number, log] : shards_) log.writer->Start();
}

DurableLog::~DurableLog() { folder_->Stop(); }

}  // namespace plov::server
