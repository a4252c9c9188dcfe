#include "tests/sim/life.h"

#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "fabric/random.h"

namespace plov::sim {

namespace {

// Virtual: long enough for every client that has its turns, short enough to be met.
constexpr server::Patience kPatience{.hold_us = 100'000, .grace_us = 100'000};

template <typename T>
T Must(std::expected<T, Error> result) {
  if (!result) throw std::runtime_error("the simulated server: " + result.error().message);
  return std::move(*result);
}

}  // namespace

Life::Life(const Scenario& scenario, Network* network, std::string warm_path)
    : scenario_(scenario), network_(network), warm_path_(std::move(warm_path)) {
  Begin();
}

Life::~Life() {
  if (lives()) Kill();
  if (!warm_path_.empty()) ::unlink(warm_path_.c_str());
}

void Life::Begin() {
  server::StoreOptions options;
  options.memory_bytes = scenario_.memory_bytes;
  options.bucket_bytes = scenario_.bucket_bytes;
  options.value_bytes_max = scenario_.value_bytes_max;
  options.hash_seed = fabric::RandomId();
  options.bucket_count = scenario_.bucket_count;
  options.grows = scenario_.grows;
  options.block_bytes = scenario_.block_bytes;
  options.warm_path = warm_path_;
  auto store = Must(server::Store::Create(options));
  store_ = store.get();
  if (!store->recovery().warm) first_version_ = store->superblock().version_limit - (1u << 30);
  shard_ = std::make_unique<server::Shard>(std::move(store), 0, kPatience);
  const server::Region& region = shard_->region();
  fabric::Port* port = network_->Listen(region.memory(), verify::kFormatVersion);
  if (auto added = shard_->AddPort(port); !added) {
    throw std::runtime_error("the simulated server: " + added.error().message);
  }
}

void Life::Kill() {
  network_->Stop();
  shard_.reset();
  store_ = nullptr;
}

uint64_t Life::Put(const std::string& key, const std::string& value) {
  verify::Request request;
  request.operation = verify::Operation::kPut;
  request.key = key;
  request.value = value;
  request.value_bytes = static_cast<uint32_t>(value.size());
  const server::WriteReply reply = store_->Write(request, server::MonotonicUs());
  return reply.status == Code::kOk ? reply.version : 0;
}

bool Life::Delete(const std::string& key) {
  verify::Request request;
  request.operation = verify::Operation::kDelete;
  request.key = key;
  return store_->Delete(request, server::MonotonicUs()).status == Code::kOk;
}

}  // namespace plov::sim
