#include "server/server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "fabric/random.h"
#include "verify/superblock.h"

namespace plov::server {

namespace {

// Room in the staging memory of a connection for this many of the largest values.
constexpr uint64_t kStagedValues = 2;
constexpr uint64_t kStagingBytesMin = uint64_t{1} << 20;
// The next batch comes after a client has heard of the one before: the log's thread polls for it
// longer than others for their peers.
constexpr uint32_t kSpinsForBatch = 2;

int64_t ClockOffsetUs() {
  const auto unix_us = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return unix_us.count() - static_cast<int64_t>(MonotonicUs());
}

uint64_t StagingBytes(uint32_t value_bytes_max) {
  const uint64_t bytes = kStagedValues * value_bytes_max;
  return std::max(kStagingBytesMin, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
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

// As many as asked for, else as many as leave a processor to clients on this host.
size_t ThreadsOf(const ServerOptions& options) {
  if (options.threads != 0) return std::min(options.threads, options.shards);
  return std::clamp<size_t>(fabric::ProcessorCount() - 1, 1, options.shards);
}

// What a card reads is pinned whole.
Extent ExtentFor(const ServerOptions& options) {
  const bool pins = std::ranges::any_of(options.uris, fabric::Listener::Pins);
  return pins ? Extent::kWhole : Extent::kSparse;
}

}  // namespace

std::expected<std::unique_ptr<Server>, Error> Server::Create(const ServerOptions& options) {
  std::unique_ptr<Server> server(new Server);
  if (auto opened = server->Open(options); !opened) return std::unexpected(opened.error());
  return server;
}

std::string Server::WarmPathOf(const ServerOptions& options, uint32_t shard) {
  return shard == 0 ? options.warm_path : fmt::format("{}.{}", options.warm_path, shard);
}

std::expected<void, Error> Server::OpenStores(const ServerOptions& options) {
  StoreOptions store_options{.memory_bytes = options.memory_bytes / options.shards,
                             .bucket_bytes = options.bucket_bytes,
                             .value_bytes_max = options.value_bytes_max,
                             .huge_pages = options.huge_pages,
                             .extent = ExtentFor(options),
                             .shard = 0,
                             .shard_count = options.shards,
                             .hash_seed = log_ != nullptr
                                              ? log_->hash_seed().value_or(fabric::RandomId())
                                              : fabric::RandomId(),
                             .clock_offset_us = ClockOffsetUs()};
  uint64_t recovered_items = 0;
  for (; store_options.shard < options.shards; ++store_options.shard) {
    if (!options.warm_path.empty()) {
      store_options.warm_path = WarmPathOf(options, store_options.shard);
    }
    if (log_ != nullptr) store_options.expected = log_->expected_of(store_options.shard);
    WarmStart* warm = warm_.empty() ? nullptr : &warm_[store_options.shard];
    store_options.discards_warm = warm != nullptr && warm->discards();
    auto opened = Store::Create(store_options);
    if (!opened) return std::unexpected(opened.error());
    if (warm != nullptr) {
      if (auto checked = warm->Check(**opened, *log_); !checked) return checked;
    } else if (!options.warm_path.empty()) {
      without_log_.push_back(store_options.warm_path);
    }
    const RecoveryReport& recovery = (*opened)->recovery();
    TellOfRecovery(recovery, store_options);
    LogRoom((*opened)->region(), store_options);
    recovered_items += recovery.items;
    if (recovered_items > 0 && !recovery.warm) {
      return Fail(
          Code::kCorrupt,
          fmt::format("--warm {} was not there, but {} is: bring it back, or move the others "
                      "away to start {}",
                      store_options.warm_path, options.warm_path,
                      log_ == nullptr ? "empty" : "from the log"));
    }
    // The shards of one server hash alike; what was recovered says how.
    store_options.hash_seed = (*opened)->superblock().hash_seed;
    shards_.push_back(std::make_unique<Shard>(std::move(*opened)));
    shards_.back()->Show(admission_.get());
  }
  return {};
}

// Restores all shards at once, each by a thread of its own, and begins their logs.
std::expected<void, Error> Server::RestoreFromLog(log::CommitMode mode) {
  std::vector<std::expected<void, Error>> recovered(shards_.size());
  std::vector<std::jthread> threads;
  for (uint32_t shard = 0; shard < shards_.size(); ++shard) {
    threads.emplace_back([this, shard, &recovered] {
      Store* store = shards_[shard]->store_to_restore();
      Sessions* sessions = shards_[shard]->sessions_to_restore();
      recovered[shard] = warm_.empty() ? log_->Recover(shard, store, sessions)
                                       : warm_[shard].Recover(log_.get(), store, sessions);
    });
  }
  threads.clear();
  for (const auto& outcome : recovered) {
    if (!outcome) return outcome;
  }
  std::vector<std::function<void()>> wakes;
  for (const auto& shard : shards_) wakes.push_back([shard = shard.get()] { shard->Wake(); });
  const uint64_t hash_seed = shards_.front()->store_to_restore()->superblock().hash_seed;
  if (auto begun = log_->Begin(hash_seed, std::move(wakes)); !begun) return begun;
  for (uint32_t shard = 0; shard < shards_.size(); ++shard) {
    WarmTail* tail = nullptr;
    if (!warm_.empty()) {
      const auto finished = warm_[shard].Finish(log_.get(), *shards_[shard]->store_to_restore());
      if (!finished) return finished;
      tail = warm_[shard].tail();
    }
    shards_[shard]->LogTo({log_->of_shard(shard), mode, log_->feed_of_shard(shard), tail});
  }
  return {};
}

// Memory that is taken over is as large as it needs to be.
std::expected<void, Error> Server::OpenLog(const ServerOptions& options) {
  for (uint32_t shard = 0; shard < options.shards && !options.warm_path.empty(); ++shard) {
    auto warm = WarmStart::Open(WarmPathOf(options, shard));
    if (!warm) return std::unexpected(warm.error());
    warm_.push_back(std::move(*warm));
  }
  LogOptions log_options = options.log;
  log_options.presizes = warm_.empty() || !std::ranges::all_of(warm_, &WarmStart::may_take_over);
  auto log = DurableLog::Open(log_options, options.shards);
  if (!log) return std::unexpected(log.error());
  log_ = std::move(*log);
  for (WarmStart& warm : warm_) warm.Prepare();
  return {};
}

std::expected<void, Error> Server::Open(const ServerOptions& options) {
  if (!options.log.folder.empty()) {
    if (auto opened = OpenLog(options); !opened) return opened;
  }
  admission_ = std::make_shared<fabric::Admission>(
      fabric::Admission::Limits{.clients = options.clients_max,
                                .clients_per_user = options.clients_per_user_max},
      options.access);
  if (auto opened = OpenStores(options); !opened) return opened;
  if (log_ != nullptr) {
    if (auto restored = RestoreFromLog(options.log.mode); !restored) return restored;
  }
  fabric::ListenOptions listen{.shards = {},
                               .format_version = verify::kFormatVersion,
                               .staging_bytes = StagingBytes(options.value_bytes_max),
                               .admission = admission_,
                               .passed = options.passed};
  for (const auto& shard : shards_) {
    const Region& region = shard->region();
    listen.shards.push_back({region.memory(), region.fd(), shard->claims()});
  }
  for (const auto& shard : shards_) {
    shard->Describe(fmt::format("version {}\npid {}\npage_kind {}\n{}", PLOV_VERSION, ::getpid(),
                                static_cast<int>(shard->region().page_kind()), options.given));
  }
  KeepSlow(options.slow_write);
  for (const std::string& uri : options.uris) {
    auto listener = fabric::Listener::Listen(uri, listen);
    if (!listener) return std::unexpected(listener.error());
    for (uint32_t shard = 0; shard < options.shards; ++shard) {
      shards_[shard]->AddPort(&(*listener)->port(shard));
    }
    listeners_.push_back(std::move(*listener));
  }
  auto commands = CommandQueue::Create([first = shards_.front().get()] { first->Wake(); });
  if (!commands) return std::unexpected(commands.error());
  commands_ = std::move(*commands);
  shards_.front()->CommandTo(commands_.get());
  memory_bytes_ = options.memory_bytes;
  auto threads = ShardThreads::Create(shards_, ThreadsOf(options));
  if (!threads) return std::unexpected(threads.error());
  threads_ = std::move(*threads);
  SetSpin(options.spin_us);
  return {};
}

void Server::Start() {
  for (const std::string& path : without_log_) WarmTail::Remove(path);
  if (log_ != nullptr) log_->Start();
  threads_->Start();
}

std::vector<verify::Counters> Server::ReadCounters() const {
  std::vector<verify::Counters> all;
  std::array<std::byte, kPageBytes> page;
  for (const auto& shard : shards_) {
    verify::CopyFromShared(
        page.data(), verify::WordsAt(shard->region().data(), verify::kCountersOffset), page.size());
    if (auto counters = verify::ReadCounters(page)) all.push_back(std::move(*counters));
  }
  return all;
}

Server::Facts Server::facts() const {
  Facts facts{.clients = admission_->clients(), .administrators = admission_->administrators()};
  for (const auto& shard : shards_) {
    facts.items += shard->counter(verify::Counter::kItems);
    facts.memory_used_bytes += shard->counter(verify::Counter::kMemoryUsedBytes);
    facts.memory_committed_bytes += shard->counter(verify::Counter::kMemoryCommittedBytes);
  }
  return facts;
}

void Server::SetSpin(uint32_t spin_us) {
  threads_->SetSpin(spin_us);
  if (log_) log_->SetSpin(kSpinsForBatch * spin_us);
}

void Server::KeepSlow(std::chrono::microseconds threshold) {
  for (const auto& shard : shards_) shard->KeepSlow(threshold);
}

void Server::SetSnapshots(const log::Snapshots::Options& options) {
  if (log_ != nullptr) log_->snapshots()->SetOptions(options);
}

std::expected<void, Error> Server::RaiseMemory(size_t bytes) {
  if (bytes == memory_bytes_) return {};
  size_t mapped_bytes = SIZE_MAX;  // of the shard that has least
  for (const auto& shard : shards_) {
    if (shard->region().is_whole()) {
      return Fail(Code::kInvalidArgument,
                  "memory was taken whole at the start, as huge pages and RDMA want it: restart "
                  "with another --memory");
    }
    mapped_bytes = std::min(mapped_bytes, shard->region().memory().size());
  }
  if (bytes < memory_bytes_) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("memory is {} bytes, and only grows while plovd runs: restart with less",
                    memory_bytes_));
  }
  if (bytes / shards_.size() > mapped_bytes) {
    return Fail(Code::kInvalidArgument,
                fmt::format("memory cannot be more than {} bytes, for which this server has "
                            "addresses: restart with a larger --memory",
                            mapped_bytes * shards_.size()));
  }
  memory_bytes_ = bytes;
  for (const auto& shard : shards_) shard->RaiseBudget(bytes / shards_.size());
  return {};
}

Server::~Server() {
  threads_.reset();
  log_.reset();
}

}  // namespace plov::server
