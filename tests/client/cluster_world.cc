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
#include "server/clock.h"
#include "server/shard_thread.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"
#include "verify/words.h"

namespace plov::test {

namespace {

constexpr size_t kMemoryBytes = size_t{32} << 20;
constexpr int64_t kClockOffsetUs = 1'000'000'000'000;
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

ClusterWorld::ClusterWorld() {
  for (size_t server = 0; server < kServers; ++server) {
    uris_.push_back(UriIn(folder_.path(), "s" + std::to_string(server) + ".sock"));
  }
}

ClusterWorld::~ClusterWorld() {
  for (auto& child : children_) child.reset();
}

void ClusterWorld::PlaceReplicas(const std::vector<uint16_t>& servers, uint64_t epoch,
                                 std::chrono::microseconds lease) {
  Place(std::vector<uint16_t>(kShards, servers.front()), epoch);
  map_.lease_us = static_cast<uint64_t>(lease.count());
  for (auto& shard : map_.shards) {
    shard.in_sync.clear();
    for (const uint16_t server : servers)
      shard.in_sync.push_back({.incarnation = 1, .server = server});
  }
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
                           .number = static_cast<uint16_t>(NumberOf(shard)),
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
    if (!IsMember(server, place) || std::ranges::count(fault.withholds, place.number) > 0) continue;
    server::StoreOptions options{.memory_bytes = kMemoryBytes,
                                 .shard = place.number,
                                 .shard_count = kNumbers,
                                 .hash_seed = fault.hash_seed,
                                 .clock_offset_us = kClockOffsetUs,
                                 .warm_path = WarmPathOf(server, place.number)};
    if (fault.shows_cluster) options.slots = {place.slot_first, place.slot_last, verify::kSlots};
    shards.push_back(std::make_unique<server::Shard>(Must(server::Store::Create(options))));
    // A replica has heard of all that was ever applied.
    if (place.in_sync.size() > 1) shards.back()->sessions_to_restore()->EndRestore(true);
    const auto& region = shards.back()->region();
    shards.back()->AddPort(Must(
        listener->Expose(place.number, {region.memory(), region.fd(), shards.back()->claims()})));
    Must(thread->Take(shards.back().get()));
  }
  if (fault.shows_cluster) {
    const server::Region& region = regions_[server]->region();
    Must(listener->Expose(fabric::kShardMax, {region.memory(), region.fd(), nullptr}));
  }
  std::ofstream(ReadyPathOf(server)) << "\n";
  ServeForEver(listener.get(), thread.get());
  return 0;
}

void ClusterWorld::Start(size_t server) {
  const std::string ready = ReadyPathOf(server);
  std::filesystem::remove(ready);
  const Faults& fault = faults[server];
  regions_[server] = Must(server::ClusterRegion::Create(fault.cluster_id, fabric::RandomId()));
  if (fault.shows_map) Hold(server);
  if (!fault.region.empty()) {
    verify::CopyToShared(verify::WordsAt(regions_[server]->region().data(), 0), 0,
                         fault.region.data(), std::min(fault.region.size(), verify::kMapsOffset));
  }
  children_[server] =
      std::make_unique<Child>(Child::Fork([this, server] { return Serve(server); }));
  if (!Eventually([&] { return std::filesystem::exists(ready); }, std::chrono::seconds(60))) {
    throw std::runtime_error("a server of the cluster does not start");
  }
}

bool ClusterWorld::IsMember(size_t server, const verify::ClusterMap::Shard& shard) {
  return std::ranges::count(shard.in_sync, server, &verify::ClusterMap::Member::server) > 0;
}

void ClusterWorld::Hold(size_t server) {
  Must(regions_[server]->Publish(map_));
  for (const auto& shard : map_.shards) {
    if (IsMember(server, shard)) {
      regions_[server]->ShowOath(shard.number, shard.epoch, shard.in_sync.front().incarnation);
    }
  }
}

void ClusterWorld::ClearOaths(size_t server) {
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    regions_[server]->ClearOath(NumberOf(shard));
  }
}

void ClusterWorld::ShowAge(size_t server, std::chrono::microseconds age) const {
  const int64_t now_us = static_cast<int64_t>(server::MonotonicUs()) + kClockOffsetUs;
  const int64_t safe_us = now_us - age.count();
  for (uint32_t shard = 0; shard < kShards; ++shard) {
    std::fstream memory(WarmPathOf(server, NumberOf(shard)), std::ios::in | std::ios::out);
    memory.seekp(verify::kSafeTimeOffset);
    memory.write(static_cast<const char*>(static_cast<const void*>(&safe_us)), sizeof(safe_us));
  }
}

void ClusterWorld::Kill(size_t server) {
  children_[server]->Signal(SIGKILL);
  children_[server]->Wait();
}

void ClusterWorld::Forget(size_t server) const {
  for (uint32_t shard = 0; shard < kShards; ++shard)
    std::filesystem::remove(WarmPathOf(server, NumberOf(shard)));
}

std::string ClusterWorld::WarmPathOf(size_t server, uint32_t shard) const {
  return folder_.path() + "/warm." + std::to_string(server) + "." + std::to_string(shard);
}

std::string ClusterWorld::ReadyPathOf(size_t server) const {
  return folder_.path() + "/ready." + std::to_string(server);
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
