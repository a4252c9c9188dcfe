#include "tests/sim/server_process.h"

#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "fabric/random.h"

namespace plov::sim {

namespace {

// Virtual: long enough for every client that has its turns, short enough to be met.
constexpr server::ClientTimeouts kWaitMax{.hold_us = 100'000, .grace_us = 100'000};

template <typename T>
T Must(std::expected<T, Error> result) {
  if (!result) throw std::runtime_error("the simulated server: " + result.error().message);
  return std::move(*result);
}

}  // namespace

ServerProcess::ServerProcess(const Scenario& scenario, Network* network, uint32_t number,
                             const HostClock& clock, std::string warm_path)
    : scenario_(scenario),
      network_(network),
      number_(number),
      clock_(clock),
      warm_path_(std::move(warm_path)) {}

ServerProcess::~ServerProcess() {
  if (lives()) Kill();
  if (!warm_path_.empty()) ::unlink(warm_path_.c_str());
}

void ServerProcess::Begin(const ServerLimits& limits) {
  const OnHost here(&clock_);
  limits_ = limits;
  server::StoreOptions options;
  options.memory_bytes = scenario_.memory_bytes;
  options.bucket_bytes = scenario_.bucket_bytes;
  options.value_bytes_max = limits.value_bytes_max;
  options.hash_seed = fabric::RandomId();
  options.clock_offset_us = clock_.unix_us;
  options.bucket_count = limits.bucket_count;
  options.grows = scenario_.grows;
  options.stashes = scenario_.stashes;
  options.block_bytes = scenario_.block_bytes;
  options.warm_path = warm_path_;
  auto store = Must(server::Store::Create(options));
  store_ = store.get();
  if (!store->recovery().warm) first_version_ = store->superblock().version_limit - (1u << 30);
  shard_ = std::make_unique<server::Shard>(std::move(store), kWaitMax, limits.slice);
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

void ServerProcess::Kill() {
  network_->Stop(number_);
  shard_.reset();
  store_ = nullptr;
}

bool ServerProcess::Turn() {
  const OnHost here(&clock_);
  return shard_->Turn();
}

uint64_t ServerProcess::Put(const std::string& key, const std::string& value) {
  const OnHost here(&clock_);
  verify::Request request;
  request.operation = verify::Operation::kPut;
  request.key = key;
  request.value = value;
  request.value_bytes = static_cast<uint32_t>(value.size());
  const server::WriteReply reply = store_->Write(request, server::MonotonicUs());
  return reply.status == Code::kOk ? reply.version : 0;
}

bool ServerProcess::Delete(const std::string& key) {
  const OnHost here(&clock_);
  verify::Request request;
  request.operation = verify::Operation::kDelete;
  request.key = key;
  return store_->Delete(request, server::MonotonicUs()).status == Code::kOk;
}

}  // namespace plov::sim
