#include "tests/sim/server_process.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "fabric/random.h"

namespace plov::sim {

namespace {

// Virtual: long enough for every client that has its turns, short enough to be met.
constexpr server::ClientTimeouts kWaitMax{.hold_us = 100'000, .grace_us = 100'000};

}  // namespace

ServerProcess::ServerProcess(const Scenario& scenario, Network* network, uint32_t number,
                             const HostClock& clock, std::string warm_path)
    : scenario_(scenario),
      network_(network),
      number_(number),
      clock_(clock),
      warm_path_(std::move(warm_path)),
      memory_bytes_(scenario.memory_bytes) {}

ServerProcess::~ServerProcess() {
  if (lives()) Kill();
  for (uint32_t i = 0; i < scenario_.shards && !warm_path_.empty(); ++i) {
    ::unlink(WarmPathOf(i).c_str());
  }
}

std::string ServerProcess::WarmPathOf(uint32_t shard) const {
  return warm_path_.empty() ? "" : warm_path_ + "." + std::to_string(shard);
}

// The power may go while it begins.
std::expected<void, Error> ServerProcess::Begin(const ServerLimits& limits) {
  const OnHost here(&clock_);
  limits_ = limits;
  while (true) {
    const auto begun = BeginOnce();
    if (begun || !log_ || !log_->WasCut()) return begun;
    shards_.clear();
    log_->Close();
  }
}

std::expected<void, Error> ServerProcess::BeginOnce() {
  server::StoreOptions options;
  options.memory_bytes = memory_bytes_;
  options.bucket_bytes = scenario_.bucket_bytes;
  options.value_bytes_max = limits_.value_bytes_max;
  options.hash_seed = fabric::RandomId();
  options.clock_offset_us = clock_.unix_us;
  options.bucket_count = limits_.bucket_count;
  options.grows = scenario_.grows;
  options.stashes = scenario_.stashes;
  options.block_bytes = scenario_.block_bytes;
  options.evicts = scenario_.evicts;
  options.shard_count = scenario_.shards;
  if (log_) {
    const auto opened = log_->Open();
    if (!opened) return std::unexpected(opened.error());
    options.hash_seed = (*opened)->hash_seed().value_or(options.hash_seed);
  }
  for (uint32_t i = 0; i < scenario_.shards; ++i) {
    options.shard = i;
    options.warm_path = WarmPathOf(i);
    if (auto begun = BeginShard(&options); !begun) return begun;
  }
  if (log_) {
    if (auto begun = log_->Begin(shards_.front().get()); !begun) return begun;
  }
  first_versions_.resize(shards_.size());
  for (uint32_t i = 0; i < shards_.size(); ++i) {
    if (!store(i).recovery().warm) first_versions_[i] = store(i).last_version();
  }
  if (shards_.size() > 1) JoinShards();
  return {};
}

void ServerProcess::JoinShards() {
  std::vector<server::Siblings::Sibling> all;
  for (const auto& shard : shards_) all.push_back(shard->AsSibling());
  siblings_.emplace(std::move(all));
  for (const auto& shard : shards_) shard->Join(&*siblings_);
}

// options: what the next one is opened with, too.
std::expected<void, Error> ServerProcess::BeginShard(server::StoreOptions* options) {
  auto store = server::Store::Create(*options);
  if (!store) return std::unexpected(store.error());
  const server::Store& opened = **store;
  options->hash_seed = opened.superblock().hash_seed;
  options->decided.push_back(opened.decided());
  shards_.push_back(std::make_unique<server::Shard>(std::move(*store), kWaitMax, limits_.slices));
  return {};
}

void ServerProcess::Listen() {
  for (uint32_t i = 0; i < shards_.size(); ++i) {
    const server::Region& region = shards_[i]->region();
    fabric::Port* port = network_->Listen(number_, i,
                                          {.region = region.memory(),
                                           .region_fd = region.fd(),
                                           .format_version = verify::kFormatVersion,
                                           .staging_bytes = limits_.staging_bytes,
                                           .claims = shards_[i]->claims()});
    shards_[i]->AddPort(port);
  }
}

void ServerProcess::Kill(Death death) {
  network_->Stop(number_);
  if (log_) log_->Die(death);
  shards_.clear();
  siblings_.reset();
  if (log_) log_->Close();
}

void ServerProcess::RaiseMemory(size_t bytes) {
  memory_bytes_ = std::min(memory_bytes_ + bytes, 2 * scenario_.memory_bytes);
  for (const auto& shard : shards_) shard->RaiseBudget(memory_bytes_);
}

bool ServerProcess::Turn() {
  const OnHost here(&clock_);
  bool worked = false;
  for (size_t left = shards_.size(); left > 0 && !worked; --left) {
    worked = shards_[next_++ % shards_.size()]->Turn();
  }
  if (log_) log_->OnTurn();
  return worked;
}

bool ServerProcess::StepLog() {
  const OnHost here(&clock_);
  return log_ && log_->Step();
}

server::Store* ServerProcess::StoreOf(const std::string& key) const {
  const auto owner =
      std::ranges::find_if(shards_, [&key](const auto& shard) { return shard->store().Owns(key); });
  return (*owner)->store_to_restore();
}

uint64_t ServerProcess::Put(const std::string& key, const std::string& value) {
  const OnHost here(&clock_);
  verify::Request request;
  request.operation = verify::Operation::kPut;
  request.key = key;
  request.value = value;
  request.value_bytes = static_cast<uint32_t>(value.size());
  server::Store* store = StoreOf(key);
  const server::WriteReply reply = store->Write(request, server::MonotonicUs());
  if (log_) log_->Settle(store);
  return reply.status == Code::kOk ? reply.version : 0;
}

bool ServerProcess::Delete(const std::string& key) {
  const OnHost here(&clock_);
  verify::Request request;
  request.operation = verify::Operation::kDelete;
  request.key = key;
  server::Store* store = StoreOf(key);
  const Code status = store->Delete(request, server::MonotonicUs()).status;
  if (log_) log_->Settle(store);
  return status == Code::kOk;
}

std::optional<server::Store::Hit> ServerProcess::Find(const std::string& key) {
  const OnHost here(&clock_);
  const auto hit = StoreOf(key)->Get(key, server::MonotonicUs());
  if (!hit) return std::nullopt;
  return *hit;
}

}  // namespace plov::sim
