#include "server/durable_log.h"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "fabric/random.h"
#include "server/clock.h"

namespace plov::server {

using log::Damage;
using log::Walk;

std::expected<std::unique_ptr<DurableLog>, Error> DurableLog::Open(const LogOptions& options,
                                                                   uint32_t shards) {
  auto disk = log::PosixDisk::Open(options.folder);
  if (!disk) return std::unexpected(disk.error());
  auto lock = fabric::FileLock::Take(options.folder + "/log",
                                     fmt::format("another plovd serves --log {}", options.folder));
  if (!lock) return std::unexpected(lock.error());
  std::unique_ptr<DurableLog> opened(new DurableLog(options, std::move(*lock), std::move(*disk)));
  if (auto looked = opened->Look(shards); !looked) return std::unexpected(looked.error());
  return opened;
}

std::unexpected<Error> DurableLog::Refuse(const Damage& damage) const {
  return Fail(
      Code::kCorrupt,
      fmt::format("--log {}: {}; nothing was changed: bring the file back from a backup, or move "
                  "the folder away, and plovd starts empty",
                  options_.folder, damage.Line()));
}

// Opens a walk over a shard's segments, and checks what all heads say.
std::expected<Walk, Error> DurableLog::OpenWalk(uint32_t shard) {
  auto opened =
      Walk::Open(disk_.get(), found_.shards.at(shard), {.shard = shard, .segment = 1, .batch = 1});
  if (!opened) return std::unexpected(opened.error());
  if (!*opened) return Refuse(opened->error());
  const verify::LogHead& head = (*opened)->head();
  if (head.shard_count != shards_.size()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("--log {} holds the log of {} shards: start with --shards {}",
                            options_.folder, head.shard_count, head.shard_count));
  }
  if (hash_seed_ && *hash_seed_ != head.hash_seed) {
    return Fail(Code::kInvalidArgument,
                fmt::format("--log {} holds logs of two servers: shard {} is of another one than "
                            "the shards before it",
                            options_.folder, shard));
  }
  if (!hash_seed_) hash_seed_ = head.hash_seed;
  return std::move(**opened);
}

std::expected<void, Error> DurableLog::Look(uint32_t shards) {
  auto found = log::Folder::List(disk_.get());
  if (!found) return std::unexpected(found.error());
  found_ = std::move(*found);
  shards_.resize(shards);
  for (const auto& [shard, files] : found_.shards) {
    if (files.segments.empty()) continue;
    if (auto walk = OpenWalk(shard); !walk) return std::unexpected(walk.error());
  }
  return SyncFound();
}

// Rule D9: what is believed is durable, and read from the disk: after a sync that failed the system may
// hold pages that the disk does not.
std::expected<void, Error> DurableLog::SyncFound() {
  for (const auto& [shard, files] : found_.shards) {
    for (const uint64_t number : files.segments) {
      auto file = disk_->Open(log::SegmentName(shard, number), log::Disk::Mode::kWrite);
      if (!file) return std::unexpected(file.error());
      if (auto synced = (*file)->Sync(); !synced) return synced;
      (*file)->DropCache();
    }
  }
  return disk_->SyncNames();
}

std::unexpected<Error> DurableLog::CannotRestore(uint32_t shard, Code status) const {
  const char* why = "an item cannot be stored";
  if (status == Code::kNoSpace) why = "what it holds needs a larger --memory";
  if (status == Code::kTooLarge) why = "it holds values that need a larger --max-value";
  return Fail(status, fmt::format("--log {}: shard {}: {}", options_.folder, shard, why));
}

std::expected<void, Error> DurableLog::Replay(Walk* walk, ShardLog* shard, Store* store) {
  while (true) {
    const auto next = walk->Next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return Refuse(next->error());
    if (!**next) return {};
    const Walk::Batch& batch = ***next;
    log::Bytes rest = batch.operations;
    for (uint32_t left = batch.head.operations; left > 0; --left, ++shard->operations) {
      const auto operation = verify::TakeLogged(&rest);
      if (!operation) break;  // the walk has checked it
      const Code status = store->Restore(*operation, MonotonicUs());
      if (status != Code::kOk) return CannotRestore(store->superblock().shard, status);
    }
  }
}

std::expected<void, Error> DurableLog::Recover(uint32_t shard, Store* store) {
  ShardLog& log = shards_[shard];
  const auto files = found_.shards.find(shard);
  if (files == found_.shards.end() || files->second.segments.empty()) {
    log.id = {fabric::RandomId(), fabric::RandomId()};
    return {};
  }
  const uint64_t began_us = MonotonicUs();
  auto walk = OpenWalk(shard);
  if (!walk) return std::unexpected(walk.error());
  log.id = walk->head().id;
  if (auto replayed = Replay(&*walk, &log, store); !replayed) return replayed;
  log.end = walk->end();
  store->GoOnBeyond(std::max(log.end.last_version, walk->head().floor));
  spdlog::info("shard {}: restored {} items by {} operations of --log {} in {:.3f} s", shard,
               store->table().stats().items, log.operations, options_.folder,
               static_cast<double>(MonotonicUs() - began_us) / 1e6);
  if (const auto& torn = walk->torn()) {
    spdlog::warn(
        "shard {}: the log ends at offset {} of {}: {} bytes behind were never durable and are "
        "left out",
        shard, torn->offset, torn->file, torn->bytes);
  }
  return {};
}

std::expected<void, Error> DurableLog::Begin(uint64_t hash_seed,
                                             std::vector<std::function<void()>> wakes) {
  const bool holds_any =
      std::ranges::any_of(shards_, [](const ShardLog& log) { return log.operations > 0; });
  for (uint32_t shard = 0; shard < shards_.size(); ++shard) {
    if (holds_any && shards_[shard].end.next_segment == 1) {
      return Fail(Code::kCorrupt,
                  fmt::format("--log {}: the files of shard {} are missing: bring them back, or "
                              "move the folder away, and plovd starts empty",
                              options_.folder, shard));
    }
  }
  for (const std::string& name : found_.unfinished) {
    if (auto removed = disk_->Remove(name); !removed) return removed;
  }
  spares_.emplace(disk_.get(), options_.segment_bytes, std::move(found_.spares));
  for (uint32_t shard = 0; shard < shards_.size(); ++shard) {
    ShardLog& log = shards_[shard];
    log::SegmentWriter writer(disk_.get(), &*spares_,
                              {.shard = shard,
                               .shard_count = static_cast<uint32_t>(shards_.size()),
                               .id = log.id,
                               .hash_seed = hash_seed,
                               .durable_writes = options_.mode != log::CommitMode::kAsync},
                              log.end);
    if (auto begun = writer.Begin(); !begun) return begun;
    const log::GroupCommit::Options options{.mode = options_.mode,
                                            .interval = options_.interval,
                                            .buffer_bytes = options_.buffer_bytes};
    log.commit =
        std::make_unique<log::GroupCommit>(std::move(writer), options, std::move(wakes[shard]));
  }
  return {};
}

void DurableLog::Start() {
  threads_.emplace_back([this] { MakeSpares(); });
  for (ShardLog& log : shards_) {
    threads_.emplace_back([commit = log.commit.get()] { commit->Run(); });
    pthread_setname_np(threads_.back().native_handle(), "plovd-log");
  }
}

// A spare that cannot be made is tried again; who needs one is told why there is none.
void DurableLog::MakeSpares() {
  while (spares_->WaitUntilWanted()) static_cast<void>(spares_->Make());
}

DurableLog::~DurableLog() {
  if (spares_) spares_->Stop();
  for (ShardLog& log : shards_) {
    if (log.commit) log.commit->Stop();
  }
  threads_.clear();
  for (ShardLog& log : shards_) {
    if (!log.commit) continue;
    if (auto finished = log.commit->Finish(); !finished) {
      spdlog::error("the log was not written to its end: {}", finished.error().message);
    }
  }
}

}  // namespace plov::server
