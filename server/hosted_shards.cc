#include "server/hosted_shards.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include "fabric/random.h"

namespace plov::server {

namespace {

int64_t ClockOffsetUs() {
  const auto unix_us = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return unix_us.count() - static_cast<int64_t>(MonotonicUs());
}

void TellOfRecovery(const RecoveryReport& report, const StoreOptions& options) {
  if (!report.warm) return;
  const double seconds = static_cast<double>(report.microseconds) / 1e6;
  spdlog::info("shard {}: recovered {} items of {} in {:.3f} s ({} second copies of moves dropped)",
               options.shard, report.items, options.warm_path, seconds, report.duplicates);
  if (report.damaged > 0) {
    spdlog::error("shard {}: {} damaged buckets or records in {} were dropped", options.shard,
                  report.damaged, options.warm_path);
  }
}

// The file system may be too small for what it is to hold; on one of memory that can be mended.
void LogRoom(const Region& region, const StoreOptions& options) {
  struct statfs system;
  if (options.warm_path.empty() || ::fstatfs(region.fd(), &system) != 0) return;
  const uint64_t bytes =
      static_cast<uint64_t>(system.f_blocks) * static_cast<uint64_t>(system.f_bsize);
  if (bytes == 0 || bytes >= region.budget_bytes()) return;  // 0: a tmpfs without a limit
  spdlog::warn(
      "the file system of {} has {} MiB, shard {} may need {}: lower --memory, or make it larger "
      "(mount -o remount,size=SIZE)",
      options.warm_path, bytes >> 20, options.shard, region.budget_bytes() >> 20);
}

// What a card reads is pinned whole.
Extent ExtentFor(const ServerOptions& options) {
  const bool pins = std::ranges::any_of(options.uris, fabric::Listener::Pins);
  return pins ? Extent::kWhole : Extent::kSparse;
}

uint64_t FirstHashSeed(const ShardSet& set, const DurableLog* log) {
  if (set.is_of_cluster()) return set.hash_seed;
  return log == nullptr ? fabric::RandomId() : log->hash_seed().value_or(fabric::RandomId());
}

}  // namespace

StoreOptions StoreOptionsOf(const ServerOptions& options) {
  return {.memory_bytes = options.PartOf(options.memory_bytes),
          .bucket_bytes = options.bucket_bytes,
          .value_bytes_max = options.value_bytes_max,
          .huge_pages = options.huge_pages,
          .extent = ExtentFor(options),
          .shard_count = options.shards.count,
          .clock_offset_us = ClockOffsetUs(),
          .evicts = options.evicts};
}

std::expected<std::unique_ptr<HostedShards>, Error> HostedShards::Open(
    const ServerOptions& options, const fabric::Admission* admission) {
  std::unique_ptr<HostedShards> hosted(new HostedShards(options.shards));
  if (!options.log.folder.empty() && !options.replication) {
    if (auto opened = hosted->OpenLog(options); !opened) return std::unexpected(opened.error());
  }
  if (auto opened = hosted->OpenStores(options, admission); !opened) {
    return std::unexpected(opened.error());
  }
  if (hosted->log_ != nullptr) {
    auto restored = hosted->RestoreFromLog(options.log.mode);
    if (!restored) return std::unexpected(restored.error());
  }
  if (!options.shards.is_of_cluster() && hosted->shards_.size() > 1) hosted->JoinShards();
  return hosted;
}

// Memory that is taken over is as large as it needs to be.
std::expected<void, Error> HostedShards::OpenLog(const ServerOptions& options) {
  for (const auto& [number, slots] : set_.hosted) {
    if (options.warm_path.empty()) break;
    auto warm = WarmStart::Open(options.WarmPathOf(number));
    if (!warm) return std::unexpected(warm.error());
    warm_.push_back(std::move(*warm));
  }
  LogOptions log_options = options.log;
  log_options.presizes = warm_.empty() || !std::ranges::all_of(warm_, &WarmStart::may_take_over);
  auto log = DurableLog::Open(log_options, set_);
  if (!log) return std::unexpected(log.error());
  if (set_.hosted.empty()) return {};  // and the folder has nobody else's
  log_ = std::move(*log);
  for (WarmStart& warm : warm_) warm.Prepare();
  return {};
}

std::expected<void, Error> HostedShards::OpenStores(const ServerOptions& options,
                                                    const fabric::Admission* admission) {
  StoreOptions store_options = StoreOptionsOf(options);
  store_options.hash_seed = FirstHashSeed(set_, log_.get());
  std::vector<std::string> paths;
  for (const auto& [number, slots] : set_.hosted) {
    store_options.shard = number;
    if (set_.is_of_cluster()) store_options.slots = slots;
    if (!options.warm_path.empty()) store_options.warm_path = options.WarmPathOf(number);
    if (log_ != nullptr) store_options.expected = log_->expected_of(number);
    WarmStart* warm = warm_.empty() ? nullptr : &warm_[shards_.size()];
    if (auto opened = OpenStore(store_options, warm); !opened) return opened;
    shards_.back()->Show(admission);
    // The shards of one server hash alike; what was recovered says how.
    const Store& store = *shards_.back()->store_to_restore();
    store_options.hash_seed = store.superblock().hash_seed;
    store_options.decided.push_back(store.decided());
    paths.push_back(store_options.warm_path);
  }
  return CheckAllWarm(paths);
}

std::expected<void, Error> HostedShards::OpenStore(const StoreOptions& options, WarmStart* warm) {
  StoreOptions store_options = options;
  store_options.discards_warm = warm != nullptr && warm->discards();
  auto store = Store::Create(store_options);
  if (!store) return std::unexpected(store.error());
  if (warm != nullptr) {
    if (auto checked = warm->Check(**store, *log_); !checked) return checked;
  } else if (!options.warm_path.empty()) {
    without_log_.push_back(options.warm_path);
  }
  TellOfRecovery((*store)->recovery(), options);
  LogRoom((*store)->region(), options);
  shards_.push_back(std::make_unique<Shard>(std::move(*store)));
  return {};
}

// The files of one server are kept, and lost, together. What was made in the place of a lost one goes again, or the next
// start would take it for that one.
std::expected<void, Error> HostedShards::CheckAllWarm(const std::vector<std::string>& paths) const {
  const auto holds_items = [](const auto& shard) {
    return shard->store_to_restore()->recovery().items > 0;
  };
  const auto is_fresh = [](const auto& shard) {
    return !shard->store_to_restore()->recovery().warm;
  };
  const auto full = std::ranges::find_if(shards_, holds_items);
  const auto fresh = std::ranges::find_if(shards_, is_fresh);
  if (full == shards_.end() || fresh == shards_.end()) return {};
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (is_fresh(shards_[i])) ::unlink(paths[i].c_str());
  }
  return Fail(Code::kCorrupt,
              fmt::format("--warm {} was not there, but {} is: bring it back, or move the others "
                          "away to start {}",
                          paths[static_cast<size_t>(fresh - shards_.begin())],
                          paths[static_cast<size_t>(full - shards_.begin())],
                          log_ == nullptr ? "empty" : "from the log"));
}

// Restores all shards at once, each by a thread of its own, and begins their logs.
std::expected<void, Error> HostedShards::RestoreFromLog(log::CommitMode mode) {
  std::vector<std::expected<void, Error>> recovered(shards_.size());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < shards_.size(); ++i) {
    threads.emplace_back([this, i, &recovered] {
      Store* store = shards_[i]->store_to_restore();
      Sessions* sessions = shards_[i]->sessions_to_restore();
      recovered[i] = warm_.empty() ? log_->Recover(number_of(i), store, sessions)
                                   : warm_[i].Recover(log_.get(), store, sessions);
    });
  }
  threads.clear();
  for (const auto& outcome : recovered) {
    if (!outcome) return outcome;
  }
  std::vector<std::function<void()>> wakes;
  for (const auto& shard : shards_) wakes.push_back([shard = shard.get()] { shard->Wake(); });
  const uint64_t hash_seed = shards_.empty()
                                 ? set_.hash_seed
                                 : shards_.front()->store_to_restore()->superblock().hash_seed;
  if (auto begun = log_->Begin(hash_seed, std::move(wakes)); !begun) return begun;
  for (size_t i = 0; i < shards_.size(); ++i) {
    WarmTail* tail = nullptr;
    if (!warm_.empty()) {
      const auto finished = warm_[i].Finish(log_.get(), *shards_[i]->store_to_restore());
      if (!finished) return finished;
      tail = warm_[i].tail();
    }
    const uint32_t number = number_of(i);
    shards_[i]->LogTo({log_->of_shard(number), mode, log_->feed_of_shard(number), tail});
  }
  return {};
}

void HostedShards::JoinShards() {
  std::vector<Siblings::Sibling> all;
  for (const auto& shard : shards_) all.push_back(shard->AsSibling());
  siblings_ = std::make_unique<Siblings>(std::move(all));
  for (const auto& shard : shards_) shard->Join(siblings_.get());
}

void HostedShards::Start() {
  for (const std::string& path : without_log_) WarmTail::Remove(path);
  if (log_ != nullptr) log_->Start();
}

}  // namespace plov::server
