// World: one simulated run - servers behind one name, their clients, the network between them, and
// the schedule that says who makes the next step.
//
// The real Shard, Store and Client run in one thread. The schedule interrupts a server after any of
// its stores to shared memory (tests/watched/watched_words.h) and lets pieces of READs be copied and
// clients run there, so that every interleaving of the server's stores with the words that clients
// READ can happen. A client's own code touches shared memory only by READs; where these are loads,
// it is interrupted between the words.
//
// One seed, one run: clocks and random numbers are the hosts' (virtual_host.h), all choices the
// schedule's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/actor.h"
#include "tests/sim/forger.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/network.h"
#include "tests/sim/random.h"
#include "tests/sim/scenario.h"
#include "tests/sim/server_process.h"
#include "tests/sim/virtual_host.h"

namespace plov::sim {

// What happened in runs, to tell whether they meant anything.
struct Coverage {
  uint64_t schedules = 0;
  uint64_t operations = 0;
  uint64_t reads = 0;
  uint64_t torn = 0;
  uint64_t confirmations = 0;
  uint64_t restarts = 0;
  uint64_t fallbacks = 0;
  uint64_t refreshes = 0;
  uint64_t reconnects = 0;
  uint64_t retries = 0;
  uint64_t known_reads = 0;
  uint64_t known_misses = 0;
  uint64_t displacements = 0;
  uint64_t overflowed_homes = 0;
  uint64_t stashed = 0;
  uint64_t growths = 0;
  uint64_t widened = 0;
  uint64_t cleaned_records = 0;
  uint64_t no_space = 0;
  uint64_t expired = 0;
  uint64_t evicted = 0;
  uint64_t hits_told = 0;
  uint64_t late_reads = 0;
  uint64_t scans = 0;
  uint64_t flushes = 0;
  uint64_t commits = 0;        // that were applied
  uint64_t key_snapshots = 0;  // of keys
  uint64_t switches = 0;
  uint64_t raises = 0;
  uint64_t kills = 0;
  uint64_t recoveries = 0;  // warm
  uint64_t restorations = 0;
  uint64_t power_cuts = 0;
  uint64_t snapshots = 0;
  uint64_t faults = 0;  // of disks
  uint64_t syncs = 0;
  uint64_t modified = 0;

  void Add(const Coverage& other);
  std::string Text() const;
};

class World {
 public:
  World(uint64_t seed, const Scenario& scenario);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  // Runs all schedules, or those up to the first violation.
  void Run();

  const HistoryChecker& checker() const { return checker_; }
  const Coverage& coverage() const { return coverage_; }

 private:
  struct Killed {};
  struct Server {
    std::unique_ptr<ServerProcess> process;
    uint32_t to_rebirth = 0;  // steps
  };

  void NameKeys();
  void BeginServer(uint32_t number);
  bool BeginHistory(uint32_t number);
  void BeginRestored(uint32_t number);
  std::vector<torture::Settled> Survey(ServerProcess* server);
  ServerLimits DrawLimits();
  void Fill(ServerProcess* server, uint64_t value_bytes_max);
  void RunSchedule();
  void Step();
  void ServerStep(uint32_t number);
  void OthersStep();
  void LogStep();
  bool PowerIsGone() const;
  void OnStore(bool seals);
  void Interrupt(uint32_t steps_max);
  void PassStep();
  uint64_t LeapUs();
  void Pass(uint64_t us);
  void Trouble();
  void Switch();
  void RaiseMemory();
  void DieSoon();
  Death DrawDeath();
  void Die(uint32_t number, Death death);
  void FeedExpiries();
  void CountServer(const ServerProcess& server);
  void CountStore(const server::Store& store);
  void CountLog(const ServerLog* log);
  void CountClient(const Actor& actor);
  std::unique_ptr<Actor> NewActor();

  Scenario scenario_;
  VirtualHost host_;
  Random random_;
  HistoryChecker checker_;
  Stage stage_;
  Network network_;
  Forger forger_{&random_};
  std::vector<Server> servers_;
  std::vector<std::unique_ptr<Actor>> actors_;
  Coverage coverage_;
  uint32_t processes_ = 0;
  uint64_t filler_values_ = 0;
  bool in_server_ = false;     // a turn of a server is under way
  bool in_others_ = false;     // and interrupted
  uint32_t to_interrupt_ = 1;  // stores
  // Countdowns in steps; 0: not in this schedule.
  uint32_t to_break_ = 0;
  uint32_t to_leave_ = 0;
  uint32_t to_switch_ = 0;
  uint32_t to_raise_ = 0;
  uint32_t to_kill_ = 0;
  uint32_t stores_to_kill_ = 0;  // once to_kill_ has come
};

// One run of a seed: its scenario, with at most so many operations of a client in each schedule.
struct RunResult {
  bool is_guilty = false;
  std::string verdict;
  size_t shortest = 0;
  uint64_t fingerprint = 0;
  Coverage coverage;
};
struct Worlds {
  bool have_log = false;
  bool modify = false;
};
RunResult RunSeed(uint64_t seed, uint32_t operations_max = ~uint32_t{0}, Worlds worlds = {});

}  // namespace plov::sim
