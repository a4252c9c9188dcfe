#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "server/description.h"
#include "verify/superblock.h"

namespace plov::server {

namespace {

// Room in the staging memory of a connection for this many of the largest values.
constexpr uint64_t kStagedValues = 2;
constexpr uint64_t kStagingBytesMin = uint64_t{1} << 20;
// The next batch comes after a client has heard of the one before: the log's thread polls for it
// longer than others for their peers.
constexpr uint32_t kSpinsForBatch = 2;

uint64_t StagingBytes(uint32_t value_bytes_max) {
  const uint64_t bytes = kStagedValues * value_bytes_max;
  return std::max(kStagingBytesMin, (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
}

// As many as asked for, else as many as leave a processor to clients on this host.
size_t ThreadsOf(const ServerOptions& options) {
  const size_t shards = options.shards_max();
  if (shards == 0) return 0;
  if (options.threads != 0) return std::min<size_t>(options.threads, shards);
  return std::clamp<size_t>(fabric::ProcessorCount() - 1, 1, shards);
}

}  // namespace

std::expected<std::unique_ptr<Server>, Error> Server::Create(const ServerOptions& options) {
  std::unique_ptr<Server> server(new Server(options));
  if (auto opened = server->Open(options); !opened) return std::unexpected(opened.error());
  return server;
}

std::expected<void, Error> Server::Open(const ServerOptions& options) {
  admission_ = std::make_shared<fabric::Admission>(
      fabric::Admission::Limits{.clients = options.clients_max,
                                .clients_per_user = options.clients_per_user_max},
      options.access);
  auto hosted = HostedShards::Open(options, admission_.get());
  if (!hosted) return std::unexpected(hosted.error());
  hosted_ = std::move(*hosted);
  memory_bytes_ = options.memory_bytes;
  for (size_t i = 0; i < shards().size(); ++i) {
    shards()[i]->Describe(DescriptionOf(options, *shards()[i], hosted_->number_of(i)));
  }
  if (options.cluster) {
    auto service = ClusterService::Create(view_.emplace(*options.cluster));
    if (!service) return std::unexpected(service.error());
    cluster_ = std::move(*service);
  }
  if (auto listened = Listen(options); !listened) return listened;
  auto commands = CommandQueue::Create([this] { ForEachShard(&Shard::Wake); });
  if (!commands) return std::unexpected(commands.error());
  commands_ = std::move(*commands);
  if (!shards().empty()) shards().front()->CommandTo(commands_.get());
  auto threads = ShardThreads::Create(ThreadsOf(options));
  if (!threads) return std::unexpected(threads.error());
  threads_ = std::move(*threads);
  for (const auto& shard : shards()) {
    if (auto added = threads_->Add(shard.get()); !added) return added;
  }
  if (options.replication) {
    if (auto opened = OpenReplicas(); !opened) return opened;
  }
  SetSpin(options.spin_us);
  KeepSlow(options.slow_write);
  return {};
}

std::expected<void, Error> Server::OpenReplicas() {
  auto replicas = ClusterReplicas::Create({.options = &options_,
                                           .service = cluster_.get(),
                                           .listeners = &listeners_,
                                           .threads = threads_.get(),
                                           .admission = admission_.get(),
                                           .commands = commands_.get()});
  if (!replicas) return std::unexpected(replicas.error());
  replicas_ = std::move(*replicas);
  return {};
}

void Server::ForEachShard(const std::function<void(Shard*)>& use) const {
  for (const auto& shard : shards()) use(shard.get());
  if (replicas_ != nullptr) replicas_->ForEachShard(use);
}

std::expected<void, Error> Server::Listen(const ServerOptions& options) {
  const fabric::ListenOptions listen{.shards = {},
                                     .format_version = verify::kFormatVersion,
                                     .staging_bytes = StagingBytes(options.value_bytes_max),
                                     .admission = admission_,
                                     .passed = options.passed};
  for (const std::string& uri : options.uris) {
    auto listener = fabric::Listener::Listen(uri, listen);
    if (!listener) return std::unexpected(listener.error());
    listeners_.push_back(std::move(*listener));
    if (auto exposed = ExposeOn(listeners_.back().get()); !exposed) return exposed;
  }
  return {};
}

std::expected<void, Error> Server::ExposeOn(fabric::Listener* listener) {
  for (size_t i = 0; i < shards().size(); ++i) {
    const Region& region = shards()[i]->region();
    auto port = listener->Expose(hosted_->number_of(i),
                                 {region.memory(), region.fd(), shards()[i]->claims()});
    if (!port) return std::unexpected(port.error());
    shards()[i]->AddPort(*port);
  }
  return cluster_ == nullptr ? std::expected<void, Error>() : cluster_->ExposeOn(listener);
}

std::expected<void, Error> Server::Start() {
  hosted_->Start();
  threads_->Start();
  if (replicas_ != nullptr) return replicas_->Start();
  if (cluster_ != nullptr) cluster_->ShowOaths();
  return {};
}

std::vector<verify::Counters> Server::ReadCounters() const {
  std::vector<verify::Counters> all;
  std::array<std::byte, kPageBytes> page;
  ForEachShard([&](const Shard* shard) {
    verify::CopyFromShared(
        page.data(), verify::WordsAt(shard->region().data(), verify::kCountersOffset), page.size());
    if (auto counters = verify::ReadCounters(page)) all.push_back(std::move(*counters));
  });
  return all;
}

Server::Facts Server::facts() const {
  Facts facts{.clients = admission_->clients(), .administrators = admission_->administrators()};
  ForEachShard([&facts](const Shard* shard) {
    facts.items += shard->counter(verify::Counter::kItems);
    facts.memory_used_bytes += shard->counter(verify::Counter::kMemoryUsedBytes);
    facts.memory_committed_bytes += shard->counter(verify::Counter::kMemoryCommittedBytes);
  });
  return facts;
}

void Server::SetSpin(uint32_t spin_us) {
  threads_->SetSpin(spin_us);
  if (DurableLog* log = hosted_->log()) log->SetSpin(kSpinsForBatch * spin_us);
  if (ReplicaLogs* logs = replica_logs()) logs->SetSpin(kSpinsForBatch * spin_us);
}

void Server::KeepSlow(std::chrono::microseconds threshold) {
  for (const auto& shard : shards()) shard->KeepSlow(threshold);
  if (replicas_ != nullptr) replicas_->KeepSlow(threshold);
}

void Server::SetSnapshots(const log::Snapshots::Options& options) {
  if (DurableLog* log = hosted_->log()) log->snapshots()->SetOptions(options);
  if (ReplicaLogs* logs = replica_logs()) logs->snapshots()->SetOptions(options);
}

ReplicaLogs* Server::replica_logs() const {
  return replicas_ == nullptr ? nullptr : replicas_->logs();
}

std::expected<void, Error> Server::RaiseMemory(size_t bytes) {
  if (bytes == memory_bytes_) return {};
  size_t mapped_bytes = SIZE_MAX;  // of the shard that has least
  bool is_whole = false;
  ForEachShard([&](const Shard* shard) {
    is_whole = is_whole || shard->region().is_whole();
    mapped_bytes = std::min(mapped_bytes, shard->region().memory().size());
  });
  if (is_whole) {
    return Fail(Code::kInvalidArgument,
                "memory was taken whole at the start, as huge pages and RDMA want it: restart "
                "with another --memory");
  }
  if (bytes < memory_bytes_) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("memory is {} bytes, and only grows while plovd runs: restart with less",
                    memory_bytes_));
  }
  const size_t part = options_.PartOf(bytes);
  if (part > mapped_bytes) {
    return Fail(Code::kInvalidArgument,
                fmt::format("memory cannot be more than {} bytes, for which this server has "
                            "addresses: restart with a larger --memory",
                            mapped_bytes * std::max<size_t>(options_.shards_max(), 1)));
  }
  memory_bytes_ = bytes;
  for (const auto& shard : shards()) shard->RaiseBudget(part);
  if (replicas_ != nullptr) replicas_->RaiseBudget(part);
  return {};
}

Server::~Server() {
  threads_.reset();
  if (replicas_ != nullptr) replicas_->End();
  if (hosted_ != nullptr) hosted_->EndLog();
}

}  // namespace plov::server
