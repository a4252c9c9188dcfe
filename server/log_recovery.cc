#include "server/log_recovery.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "fabric/random.h"
#include "server/clock.h"
#include "server/log_census.h"
#include "server/start_progress.h"

namespace plov::server {

using log::Damage;
using log::SnapshotReader;
using log::Walk;

namespace {

// What a store takes beside its items, as part of these, and at least.
constexpr uint64_t kRoomPart = 4;
constexpr uint64_t kLeastMiB = 8;

ExpectedItems ExpectedOf(uint64_t items, const BucketChoice& choice, bool is_wide) {
  const auto bytes = (is_wide ? choice.wide : choice.narrow).item_bytes;
  return {items, is_wide ? verify::kBucketBytesMax : verify::kBucketBytesMin,
          static_cast<uint64_t>(static_cast<double>(items) * bytes)};
}

}  // namespace

// Says each second of a long start how far a shard is. Of a log's files the last ones are not full.
class LogRecovery::Progress {
 public:
  explicit Progress(uint32_t shard) : shard_(shard) {}

  void Tell(const Recovered& recovered, const auto& from, const char* what) {
    const uint64_t now_us = MonotonicUs();
    if (now_us - told_us_ < kTellEveryUs) return;
    told_us_ = now_us;
    spdlog::info("shard {}: restoring: {} operations so far, {} % of the {}", shard_,
                 recovered.operations, from.bytes_read() * 100 / from.bytes_total(), what);
  }

 private:
  static constexpr uint64_t kTellEveryUs = 1'000'000;

  uint32_t shard_;
  uint64_t told_us_ = MonotonicUs();
};

LogRecovery::LogRecovery(log::Disk* disk, std::string folder, const ShardSet& shards)
    : disk_(disk), folder_(std::move(folder)), set_(shards) {
  for (const auto& [number, slots] : set_.hosted) shards_.try_emplace(number);
}

std::expected<LogRecovery, Error> LogRecovery::Open(log::Disk* disk, std::string folder,
                                                    const ShardSet& shards, bool presizes) {
  LogRecovery recovery(disk, std::move(folder), shards);
  if (auto looked = recovery.Look(); !looked) return std::unexpected(looked.error());
  if (!presizes) return recovery;
  std::vector<std::jthread> threads;
  for (const auto& [shard, files] : recovery.found_.shards) {
    threads.emplace_back(
        [&recovery, shard] { recovery.shards_.at(shard).expected = recovery.Expect(shard); });
  }
  threads.clear();
  return recovery;
}

ExpectedItems LogRecovery::Expect(uint32_t shard) const {
  const auto& snapshot = shards_.at(shard).snapshot;
  if (!snapshot) return set_.are_replicas ? ExpectedItems{} : CountLog(shard);
  PayloadSizes sizes;
  if (snapshot->items > 0) sizes.Add(snapshot->payload_bytes / snapshot->items);
  return ExpectedOf(snapshot->items, sizes.Choice(),
                    snapshot->bucket_bytes == verify::kBucketBytesMax);
}

// Up to its end, or to what is wrong there, which Recover tells of.
ExpectedItems LogRecovery::CountLog(uint32_t shard) const {
  std::optional<Damage> damage;
  auto beginning = Begin(shard, UINT64_MAX, &damage);
  LogCensus census(static_cast<uint32_t>(ClockUs(CLOCK_REALTIME) / 1'000'000), fabric::RandomId());
  while (beginning) {
    const auto next = beginning->walk.Next();
    if (!next || !*next || !**next) break;
    log::Bytes operations = (**next)->operations;
    while (const auto operation = verify::TakeLogged(&operations)) census.Add(*operation);
  }
  const BucketChoice choice = census.choice();
  return ExpectedOf(census.items(), choice, choice.is_wide());
}

std::unexpected<Error> LogRecovery::Refuse(const Damage& damage) const {
  if (set_.are_replicas) {
    return Fail(Code::kCorrupt,
                fmt::format("--log {}: {}; nothing was changed: move the folder away, and what "
                            "other servers have is copied from them",
                            folder_, damage.Line()));
  }
  return Fail(
      Code::kCorrupt,
      fmt::format("--log {}: {}; nothing was changed: bring the file back from a backup, or "
                  "go on without what is damaged (plov log cut {} NEWDIR, or plov log salvage)",
                  folder_, damage.Line(), folder_));
}

std::expected<void, Error> LogRecovery::CheckHead(const verify::LogHead& head,
                                                  uint32_t shard) const {
  if (set_.is_of_cluster()) return CheckCluster(head);
  if (head.cluster_id != 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("--log {} holds the log of a cluster's shard {}: start with --cluster "
                            "and --id",
                            folder_, shard));
  }
  if (head.shard_count != set_.count) {
    return Fail(Code::kInvalidArgument,
                fmt::format("--log {} holds the log of {} shards: start with --shards {}", folder_,
                            head.shard_count, head.shard_count));
  }
  if (hash_seed_ && *hash_seed_ != head.hash_seed) {
    return Fail(Code::kInvalidArgument,
                fmt::format("--log {} holds logs of two servers: shard {} is of another one than "
                            "the shards before it",
                            folder_, shard));
  }
  return {};
}

std::expected<void, Error> LogRecovery::CheckCluster(const verify::LogHead& head) const {
  const auto refuse = [&](const std::string& why) {
    return Fail(Code::kInvalidArgument,
                fmt::format("--log {} holds the log of shard {} {}: name another folder", folder_,
                            head.shard, why));
  };
  if (head.cluster_id == 0) return refuse("of a server without a cluster");
  if (head.cluster_id != set_.cluster_id) return refuse("of another cluster");
  if (head.shard_count != set_.count || head.hash_seed != set_.hash_seed) {
    return refuse(fmt::format("of {}, and the cluster has {} shards now, or another hash seed",
                              head.shard_count, set_.count));
  }
  if (!set_.Hosts(head.shard)) return refuse("of the cluster, which it gives another server");
  if (head.is_replica != set_.are_replicas) {
    return refuse(head.is_replica ? "of a replica, and the cluster has none"
                                  : "of a server without replicas");
  }
  return {};
}

std::expected<void, Error> LogRecovery::Look() {
  auto found = log::Folder::List(disk_);
  if (!found) return std::unexpected(found.error());
  found_ = std::move(*found);
  if (set_.are_replicas) {
    std::erase_if(found_.shards, [this](const auto& shard) { return !set_.Hosts(shard.first); });
  }
  for (const auto& [shard, files] : found_.shards) {
    std::optional<Damage> damage;
    const auto beginning = Begin(shard, UINT64_MAX, &damage);
    if (!beginning) return std::unexpected(beginning.error());
    const verify::LogHead& head = beginning->walk.head();
    if (auto checked = CheckHead(head, shard); !checked) return checked;
    hash_seed_ = head.hash_seed;
    shards_.at(shard).id = head.id;
    shards_.at(shard).life = beginning->walk.last_head().life;
    if (beginning->snapshot) shards_.at(shard).snapshot = beginning->snapshot->footer();
  }
  return SyncFound();
}

// After a sync that failed the system may hold pages that the disk does not.
std::expected<void, Error> LogRecovery::SyncFound() const {
  const auto sync = [this](const std::string& name) -> std::expected<void, Error> {
    auto file = disk_->Open(name, log::Disk::Mode::kWrite);
    if (!file) return std::unexpected(file.error());
    if (auto synced = (*file)->Sync(); !synced) return synced;
    (*file)->DropCache();
    return {};
  };
  for (const auto& [shard, files] : found_.shards) {
    for (const uint64_t number : files.segments) {
      if (auto synced = sync(log::SegmentName(shard, number)); !synced) return synced;
    }
    for (const uint64_t number : files.snapshots) {
      if (auto synced = sync(log::SnapshotName(shard, number)); !synced) return synced;
    }
  }
  return disk_->SyncNames();
}

std::expected<std::optional<SnapshotReader>, Error> LogRecovery::NewestSnapshot(
    uint32_t shard, uint64_t before, std::optional<Damage>* damage) const {
  const auto& snapshots = found_.shards.at(shard).snapshots;
  for (auto number = std::make_reverse_iterator(snapshots.lower_bound(before));
       number != snapshots.rend(); ++number) {
    auto reader = SnapshotReader::Open(disk_, log::SnapshotName(shard, *number));
    if (!reader) return std::unexpected(reader.error());
    if (*reader) return std::move(**reader);
    if (!*damage) *damage = reader->error();
  }
  return std::nullopt;
}

std::expected<LogRecovery::Beginning, Error> LogRecovery::Begin(
    uint32_t shard, uint64_t before, std::optional<Damage>* damage) const {
  auto snapshot = NewestSnapshot(shard, before, damage);
  if (!snapshot) return std::unexpected(snapshot.error());
  Walk::Start start{.shard = shard, .segment = 1, .batch = 1};
  if (*snapshot) {
    start.segment = (*snapshot)->head().number;
    start.batch = (*snapshot)->footer().start_batch;
    start.needs = (*snapshot)->footer().needs_batch;
  }
  auto walk = Walk::Open(disk_, found_.shards.at(shard), start);
  if (!walk) return std::unexpected(walk.error());
  if (!*walk) return Refuse(damage->value_or(walk->error()));
  if (*snapshot && (*snapshot)->head().id != (*walk)->head().id) {
    return Refuse({.file = disk_->PathOf(log::SnapshotName(shard, start.segment)),
                   .what = "its head is of another log than that of the segments"});
  }
  return Beginning{std::move(*snapshot), std::move(**walk)};
}

std::unexpected<Error> LogRecovery::CannotRestore(uint32_t shard, Code status) const {
  std::string why = "an item cannot be stored";
  if (status == Code::kNoShard) {
    why =
        "it holds keys that are not this shard's: slots were divided otherwise when they were "
        "stored";
  }
  if (status == Code::kTooLarge) why = "it holds values that need a larger --max-value";
  if (status == Code::kNoSpace && set_.are_replicas) {
    why = "what it holds needs a larger --memory";
  } else if (status == Code::kNoSpace) {
    // What was written since the snapshot may be beside it or in its place.
    uint64_t needed = Expect(shard).bytes;
    if (shards_.at(shard).snapshot) needed += CountLog(shard).bytes;
    needed *= shards_.size();
    why = fmt::format("what it holds needs a larger --memory: {} MiB or so",
                      ((needed + needed / kRoomPart) >> 20) + kLeastMiB);
  }
  return Fail(status, fmt::format("--log {}: shard {}: {}", folder_, shard, why));
}

// The walk and the reader have checked that they are whole. Several at once, so that memory is waited for once.
std::expected<void, Error> LogRecovery::Restore(log::Bytes operations, Recovered* recovered,
                                                Store* store, Sessions* sessions) const {
  std::array<verify::Logged, Store::kPrefetchedMax> some;
  std::array<std::string_view, Store::kPrefetchedMax> keys;
  StartProgress::Get().Advance(operations.size());
  while (true) {
    size_t count = 0;
    while (count < some.size()) {
      const auto operation = verify::TakeLogged(&operations);
      if (!operation) break;
      ++recovered->operations;
      if (operation->kind == verify::Logged::Kind::kHeld) {
        const Code taken = recovered->reader == nullptr ? Code::kInvalidArgument
                                                        : recovered->reader->Take(operation->value);
        if (taken != Code::kOk) return CannotRestore(store->superblock().shard, taken);
        ++recovered->restored;
        continue;
      }
      if (sessions != nullptr) sessions->Restore(*operation);
      const bool is_superseded = operation->kind == verify::Logged::Kind::kSuperseded;
      if (is_superseded || operation->version <= recovered->published) continue;
      some[count] = *operation;
      keys[count++] = operation->key;
    }
    if (count == 0) return {};
    store->Prefetch(std::span(keys).first(count));
    for (const verify::Logged& operation : std::span(some).first(count)) {
      const Code status = store->Restore(operation, MonotonicUs());
      if (status != Code::kOk) return CannotRestore(store->superblock().shard, status);
    }
    recovered->restored += count;
  }
}

LogRecovery::Loaded LogRecovery::Load(SnapshotReader* snapshot, Recovered* recovered, Store* store,
                                      Progress* progress) const {
  while (true) {
    const auto block = snapshot->Next();
    if (!block) return std::unexpected(block.error());
    if (!*block) return block->error();
    if (!**block) return std::nullopt;
    if (auto restored = Restore(***block, recovered, store, nullptr); !restored) {
      return std::unexpected(restored.error());
    }
    progress->Tell(*recovered, *snapshot, "snapshot");
  }
}

std::expected<void, Error> LogRecovery::Replay(Walk* walk, Recovered* recovered, Store* store,
                                               Sessions* sessions, Progress* progress) const {
  while (true) {
    const auto next = walk->Next();
    if (!next) return std::unexpected(next.error());
    if (!*next) return Refuse(next->error());
    if (!**next) return {};
    auto restored = Restore((**next)->operations, recovered, store, sessions);
    if (!restored) return restored;
    progress->Tell(*recovered, *walk, "log");
  }
}

// Whether these, and those that the log has, are all.
bool LogRecovery::RestoreSessions(const Beginning& beginning, Sessions* sessions) {
  const auto& snapshot = beginning.snapshot;
  // A log that was begun beside memory with items has not all that was ever written.
  if (!snapshot) return beginning.walk.head().floor <= 1;
  for (const verify::LoggedSession& session : snapshot->sessions()) sessions->Restore(session);
  return snapshot->footer().sessions_are_all;
}

// A snapshot holds what was true at some time after the log that is replayed on it began: every later write of
// a key is there and comes last. So do items of one that turns out to be damaged no harm; its
// sessions are left alone.
std::expected<void, Error> LogRecovery::Recover(uint32_t shard, Store* store, Sessions* sessions,
                                                uint64_t published, Reader* reader) {
  if (!found_.shards.contains(shard)) return {};
  Recovered& recovered = shards_.at(shard);
  recovered.published = published;
  recovered.reader = reader;
  const uint64_t began_us = MonotonicUs();
  Progress progress(shard);
  std::optional<Damage> damage;
  auto beginning = Begin(shard, UINT64_MAX, &damage);
  if (beginning) {
    StartProgress::Get().Expect(beginning->walk.bytes_total());
    if (beginning->snapshot) StartProgress::Get().Expect(beginning->snapshot->bytes_total());
  }
  while (beginning && beginning->snapshot) {
    const auto damaged = Load(&*beginning->snapshot, &recovered, store, &progress);
    if (!damaged) return std::unexpected(damaged.error());
    if (!*damaged) break;
    if (!damage) damage = *damaged;
    beginning = Begin(shard, beginning->snapshot->head().number, &damage);
  }
  if (!beginning) return std::unexpected(beginning.error());
  if (damage) {
    spdlog::warn("shard {}: {}: what lies before it is read instead, and the log since", shard,
                 damage->Line());
  }
  const bool is_whole = RestoreSessions(*beginning, sessions);
  Walk& walk = beginning->walk;
  if (reader != nullptr) reader->Begin(beginning->snapshot.has_value(), is_whole);
  if (auto replayed = Replay(&walk, &recovered, store, sessions, &progress); !replayed)
    return replayed;
  if (reader == nullptr) sessions->EndRestore(is_whole);
  recovered.reader = nullptr;
  recovered.end = walk.end();
  recovered.log_bytes = walk.bytes_total();
  // Of a replica's log versions are numbers of what it holds; those of its items are told with these.
  uint64_t last_version = reader == nullptr ? recovered.end.last_version : 0;
  if (beginning->snapshot) {
    const verify::SnapshotFooter& footer = beginning->snapshot->footer();
    recovered.snapshot_bytes = beginning->snapshot->bytes_total();
    recovered.end.time_us = std::max(recovered.end.time_us, footer.time_us);
    last_version = std::max(last_version, footer.last_version);
  }
  if (reader == nullptr) recovered.end.last_version = last_version;
  store->GoOnBeyond(reader == nullptr ? std::max(last_version, walk.head().floor) : last_version);
  TellOfRestored(recovered, *store, walk, static_cast<double>(MonotonicUs() - began_us) / 1e6);
  return {};
}

void LogRecovery::TellOfRestored(const Recovered& recovered, const Store& store, const Walk& walk,
                                 double seconds) const {
  const uint32_t shard = store.superblock().shard;
  if (recovered.published > 0) {
    spdlog::info(
        "shard {}: --log {} is whole, and {} of its {} operations were not in memory ({:.3f} s)",
        shard, folder_, recovered.restored, recovered.operations, seconds);
  } else {
    spdlog::info("shard {}: restored {} items by {} operations of --log {} in {:.3f} s", shard,
                 store.table().stats().items, recovered.restored, folder_, seconds);
  }
  if (const auto& torn = walk.torn()) {
    spdlog::warn(
        "shard {}: the log ends at offset {} of {}: {} bytes behind were never durable and are "
        "left out",
        shard, torn->offset, torn->file, torn->bytes);
  }
}

std::expected<void, Error> LogRecovery::CheckAllThere() const {
  const auto holds_one = [](const auto& shard) { return shard.second.operations > 0; };
  const bool holds_any = std::ranges::any_of(shards_, holds_one);
  for (const auto& [shard, recovered] : shards_) {
    if (!holds_any || recovered.id) continue;
    return Fail(Code::kCorrupt,
                fmt::format("--log {}: the files of shard {} are missing: bring them back, or "
                            "move the folder away, and plovd starts empty",
                            folder_, shard));
  }
  return {};
}

}  // namespace plov::server
