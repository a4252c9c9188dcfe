// Server process: a server of a run - the real stores and shards, on the simulated network and on a
// host with a clock of its own - and its deaths.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/shard.h"
#include "server/siblings.h"
#include "tests/sim/network.h"
#include "tests/sim/scenario.h"
#include "tests/sim/server_log.h"
#include "tests/sim/virtual_host.h"

namespace plov::sim {

// What may differ between the lives of a server, and between servers.
struct ServerLimits {
  uint32_t value_bytes_max = 0;
  uint64_t staging_bytes = 0;
  uint64_t bucket_count = 0;
  server::Slices slices = {};
};

class ServerProcess {
 public:
  // number: of the server in the network. warm_path: of files that are not there yet, one for each shard; empty: none.
  ServerProcess(const Scenario& scenario, Network* network, uint32_t number, const HostClock& clock,
                std::string warm_path);
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();

  // Gives the host a disk, and the server a log on it; before the first life.
  void KeepLog(const LogScenario& scenario, Random* random) { log_.emplace(scenario, random); }

  // Begins the first or the next life, which nobody can connect to until Listen. The host's random
  // numbers make its incarnation and seeds. An Error: it does not start with its log.
  std::expected<void, Error> Begin(const ServerLimits& limits);
  void Listen();
  // Ends it at once, as SIGKILL does, or as a power cut where there is a log. Not while a turn is
  // under way, unless it was left by an exception.
  void Kill(Death death = Death::kKilled);

  // More memory, to twice what it began with; its next lives have it, too.
  void RaiseMemory(size_t bytes);

  // A turn of a shard, one after the other; false when none had anything to do.
  bool Turn();
  bool lives() const { return !shards_.empty(); }
  // A step of the log's other threads, where there is a log.
  bool StepLog();
  // Null: there is none.
  ServerLog* log() { return log_ ? &*log_ : nullptr; }
  const ServerLog* log() const { return log_ ? &*log_ : nullptr; }
  uint32_t shard_count() const { return static_cast<uint32_t>(shards_.size()); }
  const server::Store& store(uint32_t shard = 0) const { return shards_[shard]->store(); }
  // Of each shard, below every version that it gives out in this life and in its warm successors.
  const std::vector<uint64_t>& first_versions() const { return first_versions_; }
  const HostClock& clock() const { return clock_; }
  // Of the host, moved while no life depends on it.
  void SetUnixTime(int64_t unix_us) { clock_.unix_us = unix_us; }

  // Applies a write directly, as a message would; the new version, or 0 when it was refused.
  uint64_t Put(const std::string& key, const std::string& value);
  bool Delete(const std::string& key);
  // What the store has under the key; nullopt: nothing.
  std::optional<server::Store::Hit> Find(const std::string& key);

 private:
  std::expected<void, Error> BeginOnce();
  std::expected<void, Error> BeginShard(server::StoreOptions* options);
  void JoinShards();
  server::Store* StoreOf(const std::string& key) const;
  std::string WarmPathOf(uint32_t shard) const;

  Scenario scenario_;
  Network* network_;
  uint32_t number_;
  HostClock clock_;
  std::string warm_path_;
  size_t memory_bytes_;
  ServerLimits limits_;
  std::optional<ServerLog> log_;
  std::vector<uint64_t> first_versions_;
  std::optional<server::Siblings> siblings_;
  std::vector<std::unique_ptr<server::Shard>> shards_;
  uint32_t next_ = 0;  // shard that has a turn
};

}  // namespace plov::sim
