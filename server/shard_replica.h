// ShardReplica: a replica of a shard among those of other servers: its rules (cluster/replica.h), with the fabric to
// send by, the coordinator to ask and the memory in which its oath is seen.
//
// Threads: one, the shard's, but for Wake.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/configuration_agent.h"
#include "cluster/replica.h"
#include "fabric/os.h"
#include "server/cluster_region.h"
#include "server/dialers.h"
#include "server/stream_link.h"
#include "server/stream_port.h"

namespace plov::server {

// Whose items are replicated. None of it calls the replica.
class ReplicaOwner {
 public:
  virtual ~ReplicaOwner() = default;

  // As of cluster::ReplicaHost.
  virtual void ShowSafeTime(uint64_t us) = 0;
  virtual void Keep(const cluster::Append& held) = 0;
  virtual bool Publish(const cluster::Entry& entry) = 0;
  virtual void CatchUp(const cluster::Member& primary, const cluster::Position& since) = 0;
  virtual void CloseReaders() = 0;
  virtual void Deposed() = 0;
  virtual void Dropped(const std::vector<cluster::Entry>& entries) = 0;  // in ComeBack
  // The replica does nothing any more: it is to go, and another one is to come, with new memory.
  virtual void StartAnew(const char* why) = 0;
};

class ShardReplica final : private cluster::ReplicaHost {
 public:
  // What a server has of all its shards; outlives their replicas.
  struct Server {
    cluster::Coordinator* coordinator;
    cluster::ConfigurationAgent* agent;  // whose `wake` is Wake of the shard's replica
    ClusterRegion* oaths;
    Dialers* dialers;
  };
  struct Options {
    cluster::Config config;
    uint32_t shard = 0;
    cluster::Member self;
    std::optional<cluster::Replica::Memory> memory;  // of a former life
    bool has_log = false;  // what it holds is kept: ReplicaOwner::Keep, HasKept
    size_t past_bytes = 0, past_bytes_max = 0;  // as of cluster::ReplicaSettings
    size_t message_bytes_max = size_t{256} << 20;
    size_t waiting_bytes_max = size_t{64} << 20;  // for each other server
  };
  ShardReplica(const Server& server, ReplicaOwner* owner, Options options, uint64_t now_us);

  // Of each listener, exposed under StreamShardOf(shard); before the first Step.
  void AddPort(fabric::Port* port) { port_.AddPort(port); }
  // To sleep, as of the ports.
  std::vector<int> fds() const;
  bool Arm();
  void Disarm(std::span<const int> readable) { port_.Disarm(readable); }

  // Takes what has come, sends what is due. False when there was nothing to do.
  bool Step(uint64_t now_us);
  // When there is something to do though nothing comes.
  uint64_t next_tick_us() const { return tick_us_; }
  // There may be news of the agent's. Any thread.
  void Wake() { has_news_.store(true, std::memory_order_release); }

  const cluster::Replica& replica() const { return replica_; }
  // Of the Replica's; they send at once.
  cluster::Position Write(std::string data, uint64_t now_us) {
    return replica_.Write(std::move(data), now_us);
  }
  void Press(const cluster::Replica::Question& question, uint64_t now_us) {
    replica_.Press(question, now_us);
  }
  void HandOverTo(uint64_t incarnation) { replica_.HandOverTo(incarnation); }
  // Hands over to this member, by its incarnation, when it is the primary and no configuration has followed for a while,
  // or leaves; 0: to none. Any thread.
  void Prefer(uint64_t incarnation) { preferred_.store(incarnation, std::memory_order_relaxed); }
  // As of the Replica's, which does it in the Steps that follow. Any thread, as the next.
  void Leave(bool for_good) {
    if (for_good) leaves_for_good_.store(true, std::memory_order_relaxed);
    leaves_.store(true, std::memory_order_relaxed);
  }
  bool has_left() const { return has_left_.load(std::memory_order_relaxed); }
  void CaughtUp() { replica_.CaughtUp(); }
  void SetFull(cluster::Full full) { replica_.SetFull(full); }
  void HasKept(uint64_t count) { replica_.HasKept(count, now_us_); }
  void GiveUp(const char* why) { replica_.GiveUp(why); }

 private:
  void ShowOath(uint64_t epoch) override;
  void ShowSafeTime(uint64_t us) override { owner_->ShowSafeTime(us); }
  void Send(const std::string& server, const cluster::StreamMessage& message) override;
  void CloseReaders() override { owner_->CloseReaders(); }
  bool CanPropose() const override;
  void Propose(const cluster::Held& base, const cluster::Shard& next) override;
  void ReadConfiguration() override { server_.agent->Read(shard_); }
  void Keep(const cluster::Append& held) override { owner_->Keep(held); }
  bool Publish(const cluster::Entry& entry) override { return owner_->Publish(entry); }
  void CatchUp(const cluster::Member& primary, const cluster::Position& since) override {
    owner_->CatchUp(primary, since);
  }
  void Deposed() override { owner_->Deposed(); }
  uint64_t ComeBack(const char* why, const std::vector<cluster::Entry>& dropped) override;
  void StartAnew(const char* why) override { owner_->StartAnew(why); }

  void TakeNews(uint64_t now_us);
  void Tell(const cluster::Outcome& outcome) const;
  // Another epoch has begun.
  void OnEpoch(uint64_t now_us);
  void LookAtPreferred(uint64_t now_us);
  // Null: it is not known where the server is.
  StreamLink* LinkTo(const std::string& server);

  Server server_;
  ReplicaOwner* owner_;
  uint32_t shard_;
  cluster::StreamId stream_;
  std::string name_;  // this server's
  size_t waiting_bytes_max_;
  uint64_t beat_us_;
  uint64_t steady_us_;  // of an epoch, before it hands over to who is preferred
  uint64_t epoch_ = 0;  // that it has seen last, and since when
  uint64_t epoch_since_us_ = 0;
  uint64_t now_us_;  // of this Step
  uint64_t tick_us_;
  std::atomic<bool> has_news_{true};
  std::atomic<uint64_t> preferred_{0};
  std::atomic<bool> leaves_{false}, leaves_for_good_{false};
  std::atomic<bool> has_left_{false};
  fabric::Fd
      links_epoll_;  // none, where there is no descriptor for it: then what waits goes with the ticks
  std::map<std::string, StreamLink> links_;
  cluster::Replica replica_;
  StreamPort port_;
};

}  // namespace plov::server
