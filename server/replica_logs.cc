#include "server/replica_logs.h"

#include <utility>
#include <variant>

#include "cluster/kept_history.h"
#include "fabric/random.h"
#include "server/clock.h"

namespace plov::server {

namespace {

// What a replica's log holds, on its way to its store and sessions.
class Reader final : public LogRecovery::Reader {
 public:
  Reader(const cluster::StreamId& stream, const std::string& server, Store* store,
         Sessions* sessions)
      : stream_(stream),
        server_(server),
        store_(store),
        applier_(store, sessions),
        history_(server, [this](const cluster::Entry& entry) {
          return applier_.Apply(entry, MonotonicUs());
        }) {}

  void Begin(bool has_snapshot, bool sessions_are_all) override {
    has_snapshot_ = has_snapshot;
    if (has_snapshot) applier_.SetKnowsAllSessions(sessions_are_all);
  }

  Code Take(std::string_view held) override {
    const auto message = cluster::Decode(stream_, std::as_bytes(std::span(held)));
    const auto* append = message ? std::get_if<cluster::Append>(&*message) : nullptr;
    const bool is_first = !history_.begin();
    if (append == nullptr || !history_.Take(*append)) {
      return applier_.is_too_small() ? Code::kNoSpace : Code::kInvalidArgument;
    }
    // Without a snapshot it is all that this replica ever had.
    const bool joined =
        is_first && !has_snapshot_ && history_.begin() && *history_.begin() != cluster::Position{};
    if (joined) applier_.CatchUp();
    store_->ForgetHistory();
    return Code::kOk;
  }

  std::optional<ReplicaLogs::Restored> restored() {
    auto memory = history_.memory();
    if (!memory) return std::nullopt;
    return ReplicaLogs::Restored{
        {server_, history_.incarnation()}, std::move(*memory), std::move(applier_)};
  }

 private:
  cluster::StreamId stream_;
  std::string server_;
  Store* store_;
  bool has_snapshot_ = false;
  EntryApplier applier_;
  cluster::KeptHistory history_;
};

}  // namespace

std::expected<std::unique_ptr<ReplicaLogs>, Error> ReplicaLogs::Open(const LogOptions& options,
                                                                     const ShardSet& cluster) {
  auto folder = LogFolder::Open(options);
  if (!folder) return std::unexpected(folder.error());
  const auto found = log::Folder::List((*folder)->disk());
  if (!found) return std::unexpected(found.error());
  if (auto begun = (*folder)->Begin(*found); !begun) return std::unexpected(begun.error());
  (*folder)->Start();
  return std::unique_ptr<ReplicaLogs>(new ReplicaLogs(std::move(*folder), options.folder, cluster));
}

std::set<uint32_t> ReplicaLogs::Shards() const {
  std::set<uint32_t> shards;
  if (const auto found = log::Folder::List(folder_->disk())) {
    for (const auto& [number, files] : found->shards) shards.insert(number);
  }
  return shards;
}

std::expected<std::optional<LogRecovery>, Error> ReplicaLogs::Find(
    const ShardSet::Hosted& shard) const {
  ShardSet set = cluster_;
  set.hosted = {shard};
  set.are_replicas = true;
  auto recovery = LogRecovery::Open(folder_->disk(), name_, set);
  if (!recovery) return std::unexpected(recovery.error());
  if (!recovery->found().shards.contains(shard.number)) return std::nullopt;
  return std::move(*recovery);
}

std::expected<std::optional<ReplicaLogs::Restored>, Error> ReplicaLogs::Restore(
    LogRecovery* found, uint32_t shard, const std::string& server, Store* store,
    Sessions* sessions) const {
  Reader reader({cluster_.cluster_id, shard}, server, store, sessions);
  if (auto recovered = found->Recover(shard, store, sessions, 0, &reader); !recovered) {
    return std::unexpected(recovered.error());
  }
  return reader.restored();
}

std::expected<std::unique_ptr<ReplicaLog>, Error> ReplicaLogs::Begin(uint32_t shard,
                                                                     const LogRecovery* found,
                                                                     std::function<void()> wake) {
  if (found == nullptr) {
    if (auto removed = Remove(shard); !removed) return std::unexpected(removed.error());
  }
  const auto recovered = found == nullptr ? LogRecovery::Recovered{} : found->of_shard(shard);
  const verify::LogId id =
      recovered.id.value_or(verify::LogId{fabric::RandomId(), fabric::RandomId()});
  auto writer = folder_->BeginLog({.shard = shard,
                                   .shard_count = cluster_.count,
                                   .id = id,
                                   .hash_seed = cluster_.hash_seed,
                                   .life = fabric::RandomId(),
                                   .cluster_id = cluster_.cluster_id,
                                   .is_replica = true},
                                  recovered, std::move(wake));
  if (!writer) return std::unexpected(writer.error());
  (*writer)->commit()->SetSpin(spin_us_.load(std::memory_order_relaxed));
  (*writer)->Start();
  return std::make_unique<ReplicaLog>(std::move(*writer),
                                      cluster::StreamId{cluster_.cluster_id, shard},
                                      recovered.end.last_version);
}

}  // namespace plov::server
