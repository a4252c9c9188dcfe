// ReplicaServer: a host of tests/cluster/replica_world.h that has a replica of the shard, and its thread for the
// coordinator. It dies with its memory or without, stands still, and starts again.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/configuration_register.h"
#include "cluster/replica.h"
#include "cluster/stream_message.h"
#include "tests/cluster/sim_coordinator.h"

namespace plov::test {

inline constexpr uint32_t kReplicatedShard = 3;            // its number
inline constexpr uint32_t kReplicaRateErrorPpm = 100'000;  // by which clocks differ

class ReplicaWorld;

// Which write it is.
uint64_t WriteOf(const cluster::Entry& entry);

// What clients READ of a replica.
struct ReplicaMemory {
  uint64_t incarnation = 0;
  bool answers = true;  // its process lives, stopped or not
  uint64_t oath = 0;
  std::map<uint64_t, cluster::Entry> entries;  // what it has published, or found by catching up
  uint64_t published = 0;                      // up to here all of them are there

  void Add(const cluster::Entry& entry);
};

class ReplicaServer : public cluster::ReplicaHost {
 public:
  ReplicaServer(ReplicaWorld* world, std::string name);

  void ShowOath(uint64_t epoch) override { memory_->oath = epoch; }
  void ShowSafeTime(uint64_t us) override;
  void Send(const std::string& server, const cluster::StreamMessage& message) override;
  void CloseReaders() override;
  bool CanPropose() const override;
  void Propose(const cluster::Held& base, const cluster::Shard& next) override;
  void ReadConfiguration() override { wants_configuration_ = true; }
  void Keep(const cluster::Append& held) override { log_.push_back(held); }
  bool Publish(const cluster::Entry& entry) override;
  void CatchUp(const cluster::Member& primary, const cluster::Position& since) override;
  void Deposed() override;
  uint64_t ComeBack(const char* why, const std::vector<cluster::Entry>& dropped) override;
  void StartAnew(const char* why) override;

  void Start();  // with what is left
  void HandOverToSome();
  // What it has is in its memory, or on its disk.
  void Die(bool keeps_memory);
  void Leave();

 private:
  friend class ReplicaWorld;

  // Its thread for the coordinator, one life long.
  struct Agent {
    explicit Agent(SimEnsemble* ensemble);
    SimCoordinator coordinator;
    cluster::ConfigurationRegister shards;
    bool is_busy = false;
  };
  struct Question {
    uint64_t client;
    uint64_t at_least;
    uint64_t found;
    std::optional<cluster::Replica::Question> asked = {};
  };

  uint64_t ClockAt(uint64_t world_us) const;
  uint64_t now_us() const;
  void Take(std::vector<std::byte> message);
  // What its threads do, a step at a time.
  void Tick();
  void Work();
  void CatchUpNow();
  void Sync();
  // What its log has, of it what is durable and perhaps more.
  void RestoreFromLog();
  void TakeWrite(uint64_t write, uint64_t client);
  void TakeQuestion(uint64_t client, uint64_t at_least);

  ReplicaWorld* world_;
  std::string name_;
  double rate_;
  uint64_t life_ = 0;
  bool is_up_ = false;
  bool is_stopped_ = false;
  bool starts_anew_ = false;
  bool leaves_ = false, leaves_for_good_ = false;
  bool wants_configuration_ = false;
  std::optional<std::pair<cluster::Held, cluster::Shard>> proposal_;
  std::optional<std::pair<cluster::Member, cluster::Position>> catches_up_;
  std::shared_ptr<ReplicaMemory> memory_;
  std::optional<cluster::Replica::Memory> left_;  // while it is not up
  std::vector<cluster::Append> log_;
  size_t durable_ = 0, of_former_lives_ = 0;  // of it
  ReplicaMemory base_;  // what was there when the log began, or came by catching up
  std::unique_ptr<cluster::Replica> replica_;
  std::shared_ptr<Agent> agent_;
  std::optional<cluster::Outcome> outcome_;
  std::set<uint64_t> known_;              // writes that it does not do again
  std::map<uint64_t, uint64_t> waiting_;  // clients, by what they write
  std::vector<Question> questions_;
};

}  // namespace plov::test
