// Server process: a server of a run - the real store and shard, on the simulated network and on a
// host with a clock of its own - and its deaths.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "server/shard.h"
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
  // number: of the server in the network. warm_path: a file that is not there yet; empty: none.
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

  // A turn of the shard; false when there was nothing to do.
  bool Turn();
  bool lives() const { return shard_ != nullptr; }
  // A step of the log's other threads, where there is a log.
  bool StepLog();
  // Null: there is none.
  ServerLog* log() { return log_ ? &*log_ : nullptr; }
  const ServerLog* log() const { return log_ ? &*log_ : nullptr; }
  const server::Store& store() const { return shard_->store(); }
  // Below every version of this life, and of its warm successors.
  uint64_t first_version() const { return first_version_; }
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

  Scenario scenario_;
  Network* network_;
  uint32_t number_;
  HostClock clock_;
  std::string warm_path_;
  size_t memory_bytes_;
  ServerLimits limits_;
  std::optional<ServerLog> log_;
  uint64_t first_version_ = 0;
  server::Store* store_ = nullptr;  // the shard's
  std::unique_ptr<server::Shard> shard_;
};

}  // namespace plov::sim
