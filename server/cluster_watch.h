// ClusterWatch: follows what the coordinator holds of the cluster, tells it where this server is, takes the shards that this
// one is to begin with nothing, and replaces servers that have not run for a while, in a thread of its own, because a call
// to the coordinator may take as long as its timeout.
//
// The values that it reads may be old, and decide nothing.
//
// Threads: any, but for what it does itself.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "cluster/configuration_register.h"
#include "cluster/repairer.h"
#include "cluster/values.h"
#include "fabric/os.h"

namespace plov::server {

class ClusterWatch {
 public:
  struct Self {
    std::string id;
    cluster::Server server;
  };
  // coordinator: outlives it, and shows its hints to nobody else. wake: called in the watch's thread when there is
  // something to Take. kSystem.
  static std::expected<std::unique_ptr<ClusterWatch>, Error> Create(
      cluster::Coordinator* coordinator, Self self, std::function<void()> wake);
  // Takes as long as the call to the coordinator that is under way.
  ~ClusterWatch();

  struct News {
    std::optional<cluster::Values> values;  // the newest that were read
    // They were read after the coordinator had answered a write of this life: what former lives did is among them.
    bool are_recent = false;
    std::map<uint32_t, cluster::Held>
        emptied;  // by shard: nobody else begins these, nor this one again
  };
  // Since the last Take.
  News Take();

 private:
  ClusterWatch(cluster::Coordinator* coordinator, Self self, std::function<void()> wake,
               fabric::Fd event);
  void Run(const std::stop_token& stop);
  bool IsConnected() const;
  std::expected<void, Error> Look();
  std::expected<void, Error> CheckNotOlder(const cluster::Values& values) const;
  std::expected<void, Error> TakeEmptyStarts(const cluster::Values& values);
  std::expected<void, Error> Register();
  std::expected<void, Error> TellWhere();
  void Repair();

  cluster::Coordinator* coordinator_;
  const Self self_;
  cluster::ValuesFollower values_;  // of the thread
  cluster::Repairer repairer_;      // of the thread, as the next
  std::string repair_trouble_;      // that the log has heard of
  const std::function<void()> wake_;
  fabric::Fd event_;
  uint64_t session_ = 0;                  // in which it has said where it is; of the thread
  std::string trouble_;                   // that the log has heard of; of the thread
  std::optional<cluster::Values> known_;  // of the thread
  std::mutex mutex_;
  News news_;
  std::jthread thread_;  // the last, so that it ends first
};

}  // namespace plov::server
