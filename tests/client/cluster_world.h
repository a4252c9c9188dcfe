// A cluster of a test: servers of its own making, each in a child process, that host the shards that the
// cluster's map gives them. They are killed, stopped and started again as a plovd is.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/cluster_region.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/probe.h"
#include "verify/cluster_map.h"

namespace plov::test {

inline const ClientOptions kPatient{.timeout = std::chrono::seconds(30)};
inline const ClientOptions kHasty{.timeout = std::chrono::milliseconds(300) * Slowness()};

class ClusterWorld {
 public:
  static constexpr uint64_t kClusterId = 0xc1;
  static constexpr uint64_t kHashSeed = 0x5eed;
  // Their slots are of one size. A shard's number is its place by its slots, or more: oaths of some are far apart.
  static constexpr uint32_t kShards = 4, kNumbers = 204;
  static constexpr uint32_t NumberOf(uint32_t shard) {
    return shard < kShards / 2 ? shard : kNumbers - kShards + shard;
  }

  // What a server does otherwise than an honest one; set before Start.
  struct Faults {
    uint64_t cluster_id = kClusterId;
    uint64_t hash_seed = kHashSeed;      // of its shards; the map keeps the cluster's
    bool shows_map = true;               // else a head alone
    bool shows_cluster = true;           // else it looks like a server of its own
    std::vector<std::byte> region = {};  // instead of head and map, unless empty
    std::vector<uint32_t> withholds =
        {};  // numbers of shards that it does not have, whatever the map says
  };

  ClusterWorld();
  ~ClusterWorld();

  // The server of each shard, by its place in `servers`, and the epoch of all shards. Servers that start
  // from now on publish it.
  void Place(const std::vector<uint16_t>& server_of_shard, uint64_t epoch);
  // The same where each shard has replicas on these servers, of which the first is the primary. They have stores of
  // their own: what a client finds tells which of them it has asked.
  void PlaceReplicas(const std::vector<uint16_t>& servers, uint64_t epoch,
                     std::chrono::microseconds lease = {});

  void Start(size_t server);
  // It holds the configuration of the last Place: publishes the map, shows its oaths.
  void Hold(size_t server);
  void ClearOaths(size_t server);
  // Of all its replicas: what others have acknowledged so long ago they have.
  void ShowAge(size_t server, std::chrono::microseconds age) const;
  void Kill(size_t server);
  // Its memory is lost.
  void Forget(size_t server) const;
  void Signal(size_t server, int signal) const { children_[server]->Signal(signal); }

  const std::string& UriOf(size_t server) const { return uris_[server]; }
  // "cluster:" and their URIs.
  std::string Uri(const std::vector<size_t>& servers) const;
  Client Connect(const std::vector<size_t>& servers, const ClientOptions& options = {}) const;

  // So many keys of a shard, or of all, which are different ones.
  static uint32_t ShardOf(std::string_view key);
  static std::vector<std::string> KeysOf(uint32_t shard, size_t count);
  static std::vector<std::string> Keys(size_t count);

  std::vector<Faults> faults = std::vector<Faults>(kServers);

 private:
  static constexpr size_t kServers = 3;

  int Serve(size_t server) const;
  static bool IsMember(size_t server, const verify::ClusterMap::Shard& shard);
  std::string WarmPathOf(size_t server, uint32_t shard) const;
  std::string ReadyPathOf(size_t server) const;

  TemporaryFolder folder_{TemporaryFolder::Where::kTmpfs};
  std::vector<std::string> uris_;
  verify::ClusterMap map_;
  std::vector<std::unique_ptr<server::ClusterRegion>> regions_{
      kServers};  // of the last Start; shared with the child
  std::vector<std::unique_ptr<Child>> children_{kServers};
};

}  // namespace plov::test
