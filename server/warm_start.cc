#include "server/warm_start.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <utility>

namespace plov::server {

using Former = WarmTail::Former;

std::expected<WarmStart, Error> WarmStart::Open(const std::string& warm_path) {
  auto tail = WarmTail::Open(warm_path);
  if (!tail) return std::unexpected(tail.error());
  return WarmStart(warm_path, std::move(*tail));
}

bool WarmStart::discards() const {
  return tail_.former() == Former::kUnfinished || tail_.former() == Former::kStale;
}

bool WarmStart::may_take_over() const {
  struct stat status;
  return !discards() && ::stat(warm_path_.c_str(), &status) == 0 && status.st_size > 0;
}

void WarmStart::Prepare() {
  if (!may_take_over()) tail_.BeginRestore();
}

std::expected<void, Error> WarmStart::Check(const Store& store, const DurableLog& log) {
  const uint32_t shard = store.superblock().shard;
  if (!store.recovery().warm) {
    kind_ = Kind::kFresh;
    tail_.BeginRestore();
  } else if (!log.is_there(shard)) {
    kind_ = Kind::kBegun;
  } else if (tail_.IsOf(log.id_of(shard), store.incarnation(), log.former_life(shard))) {
    kind_ = Kind::kTaken;
  } else {
    return Refuse();
  }
  return {};
}

std::unexpected<Error> WarmStart::Refuse() const {
  return Fail(Code::kInvalidArgument,
              fmt::format("--warm {} was not served last with this --log: remove it, and plovd "
                          "starts from the log, or start without --log",
                          warm_path_));
}

// What was damaged in memory the log may have, so all of it is replayed then.
std::expected<void, Error> WarmStart::Recover(DurableLog* log, Store* store, Sessions* sessions) {
  const uint32_t shard = store->superblock().shard;
  if (kind_ == Kind::kBegun) {
    unlogged_.emplace(store, 0);
    unlogged_->Find();
    log->BeginBesideItems(shard);
    tail_.BeginLife({log->id_of(shard), store->incarnation(), log->life()},
                    {.published = store->last_version()});
    return {};
  }
  const bool is_taken = kind_ == Kind::kTaken;
  if (is_taken && store->recovery().redid_commit) tail_.ShowAnnounced();
  const bool is_whole = is_taken && store->recovery().damaged == 0;
  const auto recovered = log->Recover(shard, store, sessions, is_whole ? tail_.published() : 0);
  if (!recovered || !is_taken) return recovered;
  // An older copy of it, as of a backup.
  if (log->last_version_of(shard) < tail_.durable_version()) return Refuse();
  unlogged_.emplace(store, log->last_version_of(shard));
  if (auto taken = unlogged_->Take(tail_, sessions); !taken) return taken;
  tail_.AnnounceLife(log->life());
  return {};
}

std::expected<void, Error> WarmStart::Finish(DurableLog* log, const Store& store) {
  const uint32_t shard = store.superblock().shard;
  if (kind_ == Kind::kFresh) {
    tail_.BeginLife({log->id_of(shard), store.incarnation(), log->life()},
                    {store.last_version(), log->last_version_of(shard)});
    return {};
  }
  tail_.GoOn(log->life());
  if (auto logged = unlogged_->Log(log->of_shard(shard)); !logged) return logged;
  tail_.Forget({store.last_version(), store.last_version()});
  if (unlogged_->count() > 0) {
    spdlog::info("shard {}: logged {} writes that {} had and the log had not", shard,
                 unlogged_->count(), warm_path_);
  }
  unlogged_.reset();
  return {};
}

}  // namespace plov::server
