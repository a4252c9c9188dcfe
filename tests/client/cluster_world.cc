#include "tests/client/cluster_world.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "cuckoo/hash.h"
#include "fabric/fabric.h"
#include "fabric/random.h"
#include "server/cluster_region.h"
#include "server/shard_thread.h"
#include "tests/support/probe.h"
#include "verify/words.h"

namespace plov::test {

namespace {

constexpr size_t kMemoryBytes = size_t{32} << 20;
constexpr size_t kStagingBytes = size_t{1} << 20;

template <typename T>
T Must(std::expected<T, Error> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

void Must(std::expected<void, Error> result) {
  if (!result) throw std::runtime_error(result.error().message);
}

void ServeForEver(fabric::Listener* listener, server::ShardThread* thread) {
  std::jthread runs([thread] { thread->Run(); });
  while (true) {
    pollfd event{listener->fd(), POLLIN, 0};
    ::poll(&event, 1, -1);
    listener->HandleEvents();
  }
}

}  // namespace

ClusterWorld::~ClusterWorld() {
  for (auto& child : children_) child.reset();
}

void ClusterWorld::Place(const std::vector<uint16_t>& server_of_shard, uint64_t epoch) {
  map_ = {.hash_seed = kHashSeed};
  for (size_t server = 0; server < kServers; ++server) {
    map_.servers.push_back({"s" + std::to_string(server), {UriOf(server)}});
  }
  constexpr uint32_t kSlotsEach = verify::kSlots / kShards;
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    map_.shards.push_back({.epoch = epoch,
                           .slot_first = static_cast<uint16_t>(shard * kSlotsEach),
                           .slot_last = static_cast<uint16_t>((shard + 1) * kSlotsEach - 1),
                           .number = static_cast<uint16_t>(shard),
                           .in_sync = {{.incarnation = 1, .server = server_of_shard[shard]}}});
  }
}

int ClusterWorld::Serve(size_t server) const {
  const Faults& fault = faults[server];
  auto listener = Must(fabric::Listener::Listen(
      UriOf(server),
      {.shards = {}, .format_version = verify::kFormatVersion, .staging_bytes = kStagingBytes}));
  auto thread = Must(server::ShardThread::Create());
  std::vector<std::unique_ptr<server::Shard>> shards;
  for (const auto& place : map_.shards) {
    const bool is_here =
        place.in_sync[0].server == server && std::ranges::count(fault.withholds, place.number) == 0;
    if (!is_here) continue;
    shards.push_back(std::make_unique<server::Shard>(
        Must(server::Store::Create({.memory_bytes = kMemoryBytes,
                                    .shard = place.number,
                                    .shard_count = kShards,
                                    .hash_seed = fault.hash_seed,
                                    .warm_path = WarmPathOf(server, place.number)}))));
    const auto& region = shards.back()->region();
    shards.back()->AddPort(Must(
        listener->Expose(place.number, {region.memory(), region.fd(), shards.back()->claims()})));
    Must(thread->Take(shards.back().get()));
  }
  auto cluster = Must(server::ClusterRegion::Create(fault.cluster_id, fabric::RandomId()));
  if (fault.shows_map) Must(cluster->Publish(map_));
  const auto memory = cluster->region().memory();
  if (!fault.region.empty()) {
    verify::CopyToShared(verify::WordsAt(memory.data(), 0), 0, fault.region.data(),
                         std::min(fault.region.size(), verify::kMapsOffset));
  }
  if (fault.shows_cluster) {
    Must(listener->Expose(fabric::kShardMax, {memory, cluster->region().fd(), nullptr}));
  }
  std::ofstream(UriOf(server).substr(4) + ".ready") << "\n";
  ServeForEver(listener.get(), thread.get());
  return 0;
}

void ClusterWorld::Start(size_t server) {
  const std::string ready = UriOf(server).substr(4) + ".ready";
  std::filesystem::remove(ready);
  children_[server] =
      std::make_unique<Child>(Child::Fork([this, server] { return Serve(server); }));
  if (!Eventually([&] { return std::filesystem::exists(ready); }, std::chrono::seconds(60))) {
    throw std::runtime_error("a server of the cluster does not start");
  }
}

void ClusterWorld::Kill(size_t server) {
  children_[server]->Signal(SIGKILL);
  children_[server]->Wait();
}

void ClusterWorld::Forget(size_t server) const {
  for (uint32_t shard = 0; shard < kShards; ++shard)
    std::filesystem::remove(WarmPathOf(server, shard));
}

std::string ClusterWorld::WarmPathOf(size_t server, uint32_t shard) const {
  return folder_.path() + "/warm." + std::to_string(server) + "." + std::to_string(shard);
}

std::string ClusterWorld::UriOf(size_t server) const {
  return "shm:" + folder_.path() + "/s" + std::to_string(server) + ".sock";
}

std::string ClusterWorld::Uri(const std::vector<size_t>& servers) const {
  std::string uri = "cluster:";
  for (const size_t server : servers) {
    uri += (uri.back() == ':' ? "" : ",") + UriOf(server);
  }
  return uri;
}

Client ClusterWorld::Connect(const std::vector<size_t>& servers,
                             const ClientOptions& options) const {
  return Must(Client::Connect(Uri(servers), options));
}

uint32_t ClusterWorld::ShardOf(std::string_view key) {
  return cuckoo::ShardOf(cuckoo::HashKey(key, kHashSeed), verify::kSlots) /
         (verify::kSlots / kShards);
}

std::vector<std::string> ClusterWorld::KeysOf(uint32_t shard, size_t count) {
  std::vector<std::string> keys;
  for (int i = 0; keys.size() < count; ++i) {
    const std::string key = "key " + std::to_string(i);
    if (ShardOf(key) == shard) keys.push_back(key);
  }
  return keys;
}

std::vector<std::string> ClusterWorld::Keys(size_t count) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back("key " + std::to_string(i));
  return keys;
}

}  // namespace plov::test
