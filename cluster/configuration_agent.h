// ConfigurationAgent: reads and proposes the configurations of a server's shards in a thread of its own, because a call
// to the coordinator may take as long as its timeout, and a shard's thread waits for nobody.
//
// Threads: any, but for what it does itself.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "cluster/configuration_register.h"
#include "fabric/os.h"

namespace plov::cluster {

class ConfigurationAgent {
 public:
  // What has become known of a shard.
  struct News {
    std::optional<Outcome>
        outcome;               // of the oldest proposal whose outcome was not taken; never open
    uint64_t proposer = 0;     // whose it was
    std::optional<Held> held;  // the newest that was read
  };

  // coordinator: outlives it, and shows its hints to nobody else. wake: called in the agent's thread when there is
  // something to Take of a shard.
  using Wake = std::function<void(uint32_t shard)>;
  // kSystem.
  static std::expected<std::unique_ptr<ConfigurationAgent>, Error> Create(Coordinator* coordinator,
                                                                          uint64_t cluster_id,
                                                                          Wake wake);
  // Takes as long as the call to the coordinator that is under way.
  ~ConfigurationAgent();

  // The shard's configuration is read now, and from now on whenever it may have changed.
  void Read(uint32_t shard);
  // proposer: an incarnation; a server that starts a replica anew tells by it whose outcome it is. Proposals of one
  // shard are made one after the other.
  void Propose(uint32_t shard, uint64_t proposer, Held base, Shard next);
  News Take(uint32_t shard);

 private:
  struct Proposal {
    uint64_t proposer;
    Held base;
    Shard next;
  };
  struct Followed {
    Followed(Coordinator* coordinator, uint32_t number, uint64_t cluster_id)
        : configuration(coordinator, number, cluster_id) {}

    ConfigurationRegister configuration;  // of the agent's thread
    bool wants_read = true;
    std::deque<Proposal> proposals;
    std::deque<std::pair<uint64_t, Outcome>> outcomes;
    std::optional<Held> held;
  };

  ConfigurationAgent(Coordinator* coordinator, uint64_t cluster_id, Wake wake, fabric::Fd event);
  // Under the mutex.
  Followed* Find(uint32_t shard);
  void Run(const std::stop_token& stop);
  void TakeHints();
  // What there is to do for the shard. Whether a proposal is open.
  bool Work(uint32_t shard, Followed* followed);
  // False: it is open.
  bool MakeProposal(uint32_t shard, Followed* followed, const Proposal& proposal);
  void ReadNow(uint32_t shard, Followed* followed);

  Coordinator* coordinator_;
  uint64_t cluster_id_;
  Wake wake_;
  fabric::Fd event_;
  std::mutex mutex_;
  std::map<uint32_t, Followed> followed_;  // none goes
  std::jthread thread_;                    // the last, so that it ends first
};

}  // namespace plov::cluster
