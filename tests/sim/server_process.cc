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
  if (!warm_path_.empty()) ::unlink(warm_path_.c_str());
}

// The power may go while it begins.
std::expected<void, Error> ServerProcess::Begin(const ServerLimits& limits) {
  const OnHost here(&clock_);
  limits_ = limits;
  while (true) {
    const auto begun = BeginOnce();
    if (begun || !log_ || !log_->WasCut()) return begun;
    shard_.reset();
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
  options.warm_path = warm_path_;
  options.evicts = scenario_.evicts;
  if (log_) {
    const auto opened = log_->Open();
    if (!opened) return std::unexpected(opened.error());
    options.hash_seed = (*opened)->hash_seed().value_or(options.hash_seed);
  }
  auto store = server::Store::Create(options);
  if (!store) return std::unexpected(store.error());
  store_ = store->get();
  shard_ = std::make_unique<server::Shard>(std::move(*store), kWaitMax, limits_.slices);
  if (log_) {
    if (auto begun = log_->Begin(shard_.get()); !begun) return begun;
  }
  if (!store_->recovery().warm) first_version_ = store_->last_version();
  return {};
}

void ServerProcess::Listen() {
  const server::Region& region = shard_->region();
  fabric::Port* port = network_->Listen(number_, {.region = region.memory(),
                                                  .region_fd = region.fd(),
                                                  .format_version = verify::kFormatVersion,
                                                  .staging_bytes = limits_.staging_bytes,
                                                  .claims = shard_->claims()});
  shard_->AddPort(port);
}

void ServerProcess::Kill(Death death) {
  network_->Stop(number_);
  if (log_) log_->Die(death);
  shard_.reset();
  store_ = nullptr;
  if (log_) log_->Close();
}

void ServerProcess::RaiseMemory(size_t bytes) {
  memory_bytes_ = std::min(memory_bytes_ + bytes, 2 * scenario_.memory_bytes);
  shard_->RaiseBudget(memory_bytes_);
}

bool ServerProcess::Turn() {
  const OnHost here(&clock_);
  const bool worked = shard_->Turn();
  if (log_) log_->OnTurn();
  return worked;
}

bool ServerProcess::StepLog() {
  const OnHost here(&clock_);
  return log_ && log_->Step();
}

uint64_t ServerProcess::Put(const std::string& key, const std::string& value) {
  const OnHost here(&clock_);
  verify::Request request;
  request.operation = verify::Operation::kPut;
  request.key = key;
  request.value = value;
  request.value_bytes = static_cast<uint32_t>(value.size());
  const server::WriteReply reply = store_->Write(request, server::MonotonicUs());
  if (log_) log_->Settle(store_);
  return reply.status == Code::kOk ? reply.version : 0;
}

bool ServerProcess::Delete(const std::string& key) {
  const OnHost here(&clock_);
  verify::Request request;
  request.operation = verify::Operation::kDelete;
  request.key = key;
  const Code status = store_->Delete(request, server::MonotonicUs()).status;
  if (log_) log_->Settle(store_);
  return status == Code::kOk;
}

std::optional<server::Store::Hit> ServerProcess::Find(const std::string& key) {
  const OnHost here(&clock_);
  const auto hit = store_->Get(key, server::MonotonicUs());
  if (!hit) return std::nullopt;
  return *hit;
}

}  // namespace plov::sim
