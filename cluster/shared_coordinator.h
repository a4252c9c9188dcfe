// SharedCoordinator: one coordinator for several users in a process, each of which has its own hints. ZooKeeper's client
// library is for one handle in a process: two of them race for the text of a log line.
//
// Threads: as of Coordinator; each of the users by itself.
#pragma once

#include <expected>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cluster/coordinator.h"
#include "fabric/os.h"

namespace plov::cluster {

class SharedCoordinator {
 public:
  explicit SharedCoordinator(std::unique_ptr<Coordinator> coordinator)
      : coordinator_(std::move(coordinator)) {}

  // One more user, which this outlives; before any of them is used. kSystem.
  std::expected<std::unique_ptr<Coordinator>, Error> AddUser();

 private:
  class User;

  // Takes the hints that there are, for all users.
  void Distribute();

  std::unique_ptr<Coordinator> coordinator_;
  std::mutex mutex_;
  std::vector<User*> users_;
};

}  // namespace plov::cluster
