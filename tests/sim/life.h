// Life: the server of a run - the real store and shard, on the simulated network - and its deaths.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/shard.h"
#include "tests/sim/network.h"
#include "tests/sim/scenario.h"

namespace plov::sim {

class Life {
 public:
  // warm_path: a file that is not there yet; empty: none.
  Life(const Scenario& scenario, Network* network, std::string warm_path);
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
  ~Life();

  // Begins the first or the next life. The host's random numbers make its incarnation and seeds.
  void Begin();
  // Ends it at once, as SIGKILL does. Not while a turn is under way, unless it was left by an
  // exception.
  void Kill();

  // A turn of the shard; false when there was nothing to do.
  bool Turn() { return shard_->Turn(); }
  bool lives() const { return shard_ != nullptr; }
  const server::Store& store() const { return shard_->store(); }
  // Below every version of this life, and of its warm successors.
  uint64_t first_version() const { return first_version_; }

  // Applies a write directly, as a message would; the new version, or 0 when it was refused.
  uint64_t Put(const std::string& key, const std::string& value);
  bool Delete(const std::string& key);

 private:
  Scenario scenario_;
  Network* network_;
  std::string warm_path_;
  uint64_t first_version_ = 0;
  server::Store* store_ = nullptr;  // the shard's
  std::unique_ptr<server::Shard> shard_;
};

}  // namespace plov::sim
