// OneAtATime: a simulated ensemble's coordinator for servers that have threads, one call at a time.
#pragma once

#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cluster/coordinator.h"

namespace plov::test {

// Of one ensemble all have the same mutex, which outlives them.
class OneAtATime : public cluster::Coordinator {
 public:
  OneAtATime(std::unique_ptr<cluster::Coordinator> coordinator, std::mutex* mutex)
      : coordinator_(std::move(coordinator)), mutex_(mutex) {}

  std::expected<cluster::Value, Error> Get(const std::string& path) override {
    const std::lock_guard lock(*mutex_);
    return coordinator_->Get(path);
  }
  std::expected<cluster::Revision, Error> Set(const std::string& path, const std::string& data,
                                              cluster::Revision revision) override {
    const std::lock_guard lock(*mutex_);
    return coordinator_->Set(path, data, revision);
  }
  std::expected<cluster::Revision, Error> Create(const std::string& path, const std::string& data,
                                                 cluster::Lifetime lifetime) override {
    const std::lock_guard lock(*mutex_);
    return coordinator_->Create(path, data, lifetime);
  }
  std::expected<void, Error> Delete(const std::string& path, cluster::Revision revision) override {
    const std::lock_guard lock(*mutex_);
    return coordinator_->Delete(path, revision);
  }
  std::expected<std::vector<std::string>, Error> List(const std::string& path) override {
    const std::lock_guard lock(*mutex_);
    return coordinator_->List(path);
  }
  void Watch(const std::string& path) override {
    const std::lock_guard lock(*mutex_);
    coordinator_->Watch(path);
  }
  int hint_fd() const override { return coordinator_->hint_fd(); }
  std::vector<std::string> TakeHints() override {
    const std::lock_guard lock(*mutex_);
    return coordinator_->TakeHints();
  }
  cluster::State state() const override {
    const std::lock_guard lock(*mutex_);
    return coordinator_->state();
  }

 private:
  std::unique_ptr<cluster::Coordinator> coordinator_;
  std::mutex* mutex_;
};

}  // namespace plov::test
