// ReplicaWorld: a shard on several simulated hosts, with clients that READ it, under every fault that the rules of
// cluster/replica.h are for: hosts that are stopped anywhere while their memory answers READs, that die with their
// memory or without, or all at once and have what their logs have, that are cut from each other, from clients and from the coordinator; messages that are lost, late,
// twice and out of order; a coordinator that returns old data and loses replies; clocks that run at different rates.
//
// The replicas, the register and its coordinator's interface are the product's. Clients here are as the design has them
// (C1 to C4). What is checked: no two replicas publish different entries at one place of the history; no write is in
// it twice; a GET, by READ or by message, returns no less of the history than was acknowledged or returned before it
// began.
//
// Threads: one. What happens depends on the seed alone, but for random ids of proposals.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/replica.h"
#include "tests/cluster/replica_server.h"
#include "tests/cluster/sim_coordinator.h"

namespace plov::test {

struct ReplicaClient {
  bool is_strict = true;
  double rate = 1;
  std::optional<cluster::Shard> map;
  std::map<std::string, std::shared_ptr<ReplicaMemory>> connections;
  bool has_looked = false;  // C1
  uint64_t lease_end_us = 0;
  // A GET.
  bool reads = false;
  bool is_leased = false;
  uint64_t begun_us = 0, at_least = 0;
  std::vector<std::string> oaths;  // not READ yet
  std::optional<uint64_t> found;
  std::optional<uint64_t> write;  // that it waits for
};

struct ReplicaCounts {
  uint64_t epochs = 0, acknowledged = 0, gets = 0, leased = 0, answered = 0;
  uint64_t refused = 0;       // GETs, for an oath or a READ that failed
  uint64_t deposed_gets = 0;  // that a former primary's memory answered
  uint64_t lost = 0, full = 0, came_back = 0, handed_over = 0, have_left = 0;
  uint64_t power_cuts = 0;
  uint64_t returned = 0;   // with what they had published
  uint64_t lacked = 0;     // those of them that nobody had the rest for
  uint64_t forgotten = 0;  // writes of a former primary that nobody else had
  uint64_t safe_times = 0;
};
inline constexpr uint64_t ReplicaCounts::*kReplicaCounts[] = {
    &ReplicaCounts::epochs,       &ReplicaCounts::acknowledged, &ReplicaCounts::gets,
    &ReplicaCounts::leased,       &ReplicaCounts::answered,     &ReplicaCounts::refused,
    &ReplicaCounts::deposed_gets, &ReplicaCounts::lost,         &ReplicaCounts::full,
    &ReplicaCounts::came_back,    &ReplicaCounts::handed_over,  &ReplicaCounts::have_left,
    &ReplicaCounts::power_cuts,   &ReplicaCounts::returned,     &ReplicaCounts::lacked,
    &ReplicaCounts::forgotten,    &ReplicaCounts::safe_times};

class ReplicaWorld {
 public:
  struct Options {
    uint64_t seed = 1;
    uint64_t lease_us = 0;
    bool loses_memory = true;
    bool has_logs = false;  // who comes back has what its log has
    int servers = 4;
  };

  explicit ReplicaWorld(const Options& options);

  void Run(int steps);
  // No faults any more: whether a write is acknowledged and all servers are members within as many steps.
  bool Recovers(int steps);

  const ReplicaCounts& counts() const { return counts_; }
  // Nothing while all is right.
  const std::string& wrong() const { return wrong_; }

 private:
  friend class ReplicaServer;

  // Since then so much of the history was.
  struct Known {
    uint64_t at_us, number;
  };
  struct Message {
    std::string from, to;
    std::function<void()> arrive;
  };

  uint64_t Draw(uint64_t below) { return random_() % below; }
  ReplicaServer& ServerOf(const std::string& name) {
    return *servers_[static_cast<size_t>(name[0] - 'a')];
  }
  bool IsCut(const std::string& a, const std::string& b) const {
    return cuts_.contains(a < b ? std::pair(a, b) : std::pair(b, a));
  }
  double DrawRate();
  void Wrong(const std::string& what);

  void Step();
  void Deliver();
  void Fault();
  void Heal();
  void Post(const std::string& from, const std::string& to, std::function<void()> arrive);
  void Published(const cluster::Entry& entry);
  void Acknowledge(const std::string& server, uint64_t client, uint64_t write);
  void Answer(const std::string& server, uint64_t client, uint64_t at_least, uint64_t found);
  void Know(uint64_t number);
  bool MayLose(const ReplicaServer& server);
  cluster::Shard Newest();
  // A configuration that there has been, rather a new one.
  cluster::Shard SomeMap();

  void StepOf(ReplicaClient* client, uint64_t id);
  void Write(ReplicaClient* client, uint64_t id);
  void Ask(uint64_t id);
  void Connect(ReplicaClient* client, uint64_t id);
  void Look(ReplicaClient* client, uint64_t id);
  uint64_t ClockOf(const ReplicaClient& client) const;
  void BeginGet(ReplicaClient* client);
  void ReadOne(ReplicaClient* client, uint64_t id);
  void EndGet(ReplicaClient* client);

  Options options_;
  std::mt19937_64 random_;
  SimEnsemble ensemble_;
  uint64_t now_us_ = 1'000'000;
  int depth_ = 0;
  bool has_faults_ = true;
  std::vector<std::unique_ptr<ReplicaServer>> servers_;
  std::vector<ReplicaClient> clients_;
  std::vector<Message> messages_;
  std::set<std::pair<std::string, std::string>> cuts_;
  std::vector<cluster::Position> history_;  // what was published, from number 1 on
  std::map<uint64_t, uint64_t> writes_;     // by what was written: its place
  uint64_t last_write_ = 0, last_incarnation_ = 0;
  uint64_t known_ = 0;  // so much of the history was acknowledged or returned
  std::vector<Known> known_since_;
  ReplicaCounts counts_;
  std::string wrong_;
};

}  // namespace plov::test
